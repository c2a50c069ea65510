//! Where a call of no duration is that begins when other calls end: in one of them, or after them.
//!
//! A list of callers first has it after these calls, whichever it is. The calls whose times leave no doubt show where
//! its function mostly is: whether it is the last in a call of a function, or follows such a call.

use std::collections::BTreeMap;

use callgrove_model::{FuncId, TimeNs};

use super::call_order::Call;

/// How often a call of the second function follows one of the first in their caller, minus how often it is the last in
/// it. Counted where the times leave no doubt.
#[derive(Default)]
pub(super) struct Followers(BTreeMap<(FuncId, FuncId), i64>);

/// A call that is open, and the call that began last in it.
struct OpenFrame {
    end: TimeNs,
    /// `None` for what is around all calls.
    func: Option<FuncId>,
    last: Option<FuncId>,
}

impl Followers {
    /// Counts what follows in calls that are sorted by begin, callers first. Nothing is counted if the times leave no
    /// doubt.
    pub(super) fn of(calls: &[Call]) -> Self {
        let mut followers = Self::default();
        if !has_doubt(calls) {
            return followers;
        }
        let frame = |end, func| OpenFrame {
            end,
            func,
            last: None,
        };
        let mut open = vec![frame(Call::NO_END, None)];
        let mut doubt = None;
        for call in calls {
            while let Some(ended) = open.pop_if(|it| it.end <= call.start) {
                if call.has_no_duration() && ended.end == call.start {
                    doubt = Some(call.start);
                } else {
                    followers.count_last(&ended);
                }
            }
            let Some(frame_of_call) = open.last_mut() else {
                continue;
            };
            if call.has_no_duration() && doubt == Some(call.start) {
                frame_of_call.last = None;
                continue;
            }
            if let Some(last) = frame_of_call.last.replace(call.func) {
                *followers.0.entry((last, call.func)).or_default() += 1;
            }
            if !call.has_no_duration() {
                open.push(frame(call.end, Some(call.func)));
            }
        }
        for ended in open {
            followers.count_last(&ended);
        }
        followers
    }

    fn count_last(&mut self, ended: &OpenFrame) {
        if let (Some(func), Some(last)) = (ended.func, ended.last) {
            *self.0.entry((func, last)).or_default() -= 1;
        }
    }

    /// Returns in how many of the calls that end when a call of no duration begins it is, of the outermost ones. Without a
    /// count it is in none.
    pub(super) fn num_callers(&self, call: FuncId, ending: impl Iterator<Item = FuncId>) -> usize {
        let balance = |func| self.0.get(&(func, call)).copied().unwrap_or_default();
        let (mut best, mut is_last_in_caller) = ((0, 0), None);
        for (depth, func) in ending.enumerate() {
            // It follows this call as the last one in the caller.
            let follows = balance(func);
            let votes = follows + is_last_in_caller.unwrap_or_default();
            if depth == 0 || votes > best.0 {
                best = (votes, depth);
            }
            is_last_in_caller = Some(-follows);
        }
        match is_last_in_caller {
            // It is in the innermost call.
            Some(votes) if votes > best.0 => usize::MAX,
            _ => best.1,
        }
    }
}

/// Returns whether a call of no duration begins when another ends.
fn has_doubt(calls: &[Call]) -> bool {
    let mut ends = Vec::new();
    calls.iter().any(|call| {
        let mut is_at_end = false;
        while let Some(end) = ends.pop_if(|it| *it <= call.start) {
            is_at_end |= end == call.start;
        }
        if call.has_no_duration() {
            return is_at_end;
        }
        ends.push(call.end);
        false
    })
}
