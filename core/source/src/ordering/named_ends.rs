//! Ends that name the function of the call that they end.
//!
//! Chrome's format allows names on ends. A recording that begins in the middle of a run has ends of calls that it does
//! not have; those must not end other calls.

use std::collections::{HashMap, HashSet};

use callgrove_model::{FuncId, RankId, TimeNs, WarningKind, Warnings};

use super::listed_calls::CallEnd;

/// The functions of the open calls of a lane, outermost first.
#[derive(Default)]
pub(super) struct OpenFunctions {
    open: Vec<FuncId>,
    /// Number of open calls by function, so that an end without a call is recognized at once.
    counts: HashMap<FuncId, usize>,
}

impl OpenFunctions {
    pub(super) fn begin(&mut self, func: FuncId) {
        self.open.push(func);
        *self.counts.entry(func).or_default() += 1;
    }

    /// Ends a call of a function, or the innermost one for [`CallEnd::UNNAMED`], and the calls in it. Returns their
    /// number, which is 0 if there is no such call. The cost is proportional to that number.
    pub(super) fn end(&mut self, func: FuncId) -> usize {
        let has_call = self.counts.get(&func).is_some_and(|it| *it > 0);
        if func != CallEnd::UNNAMED && !has_call {
            return 0;
        }
        let mut num_ended = 0;
        while let Some(ended) = self.open.pop() {
            num_ended += 1;
            if let Some(count) = self.counts.get_mut(&ended) {
                *count -= 1;
            }
            if ended == func || func == CallEnd::UNNAMED {
                break;
            }
        }
        num_ended
    }
}

/// Returns whether an end names a function that began before it.
pub(super) fn ends_name_functions(events: impl Iterator<Item = CallEnd>) -> bool {
    let mut begun = HashSet::new();
    let mut last = None;
    for event in events {
        if !event.is_begin {
            if event.func != CallEnd::UNNAMED && begun.contains(&event.func) {
                return true;
            }
        } else if last.replace(event.func) != Some(event.func) {
            begun.insert(event.func);
        }
    }
    false
}

/// Returns the events, in order of time, such that each end ends the innermost call.
pub(super) fn ends_of_innermost(
    events: Vec<CallEnd>,
    rank: RankId,
    warnings: &mut Warnings,
) -> Vec<CallEnd> {
    let mut open = OpenFunctions::default();
    let mut innermost = Vec::with_capacity(events.len());
    for event in events {
        if event.is_begin {
            open.begin(event.func);
            innermost.push(event);
            continue;
        }
        let num_ended = open.end(event.func);
        count_ended(num_ended, (rank, event.time), warnings);
        let end = CallEnd {
            func: CallEnd::UNNAMED,
            ..event
        };
        innermost.extend(std::iter::repeat_n(end, num_ended));
    }
    innermost
}

/// Counts an end that ended no call, or more than one.
pub(super) fn count_ended(
    num_ended: usize,
    (rank, time): (RankId, TimeNs),
    warnings: &mut Warnings,
) {
    let place = || format!("at {} ns", time.0);
    match u64::try_from(num_ended).unwrap_or(u64::MAX) {
        0 => warnings.count(WarningKind::ExitWithoutEntry, Some(rank), place),
        num => warnings.count_many(WarningKind::MissingExit, Some(rank), num - 1, place),
    }
}
