//! The order of calls that begin together, and which of two with the same times is in the other.
//!
//! A file of complete calls states this only by the order in which it lists them. Tracers write a call when it has
//! ended, so a caller follows its callees; tools that sort by begin list it before them. The calls whose times differ
//! show which of the two it is.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use callgrove_model::{FuncId, TimeNs};

/// A complete call, or one without an end.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) start: TimeNs,
    /// The maximum time without an end.
    pub(super) end: TimeNs,
    pub(super) func: FuncId,
    /// The place in the list of the lane's calls.
    pub(super) order: u32,
}

impl Call {
    pub(super) const NO_END: TimeNs = TimeNs(i64::MAX);

    fn has_no_duration(&self) -> bool {
        self.start == self.end
    }

    /// Returns whether another call lies within this one and is shorter.
    fn encloses(&self, other: &Self) -> bool {
        self.start <= other.start
            && other.end <= self.end
            && (self.start, self.end) != (other.start, other.end)
    }
}

/// The order in which a file lists calls that nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListOrder {
    CallerFirst,
    CalleeFirst,
}

impl ListOrder {
    /// Returns the order that most neighbours in a list of calls show. Those that begin together decide alone, if there
    /// are any: a list may be sorted by begin and keep the order of its source among equal ones.
    pub(super) fn of(calls: &[Call]) -> Self {
        let (mut together, mut apart) = (0_i64, 0_i64);
        for (first, second) in calls.iter().zip(calls.iter().skip(1)) {
            let votes = if first.start == second.start {
                &mut together
            } else {
                &mut apart
            };
            *votes += i64::from(first.encloses(second)) - i64::from(second.encloses(first));
        }
        let votes = if together == 0 { apart } else { together };
        if votes < 0 {
            Self::CalleeFirst
        } else {
            Self::CallerFirst
        }
    }

    /// Sorts calls by begin, callers before their callees. A call of no duration precedes those that begin at its time
    /// if the list says that it is in none of them, or if its function would call itself and does so nowhere else.
    pub(super) fn sort(self, calls: &mut [Call]) {
        let place = |it: &Call| match self {
            Self::CalleeFirst if !it.has_no_duration() => u32::MAX - it.order,
            _ => it.order,
        };
        calls.sort_unstable_by_key(|it| (it.start, Reverse(it.end), place(it)));
        let mut ends = Vec::new();
        if self == Self::CalleeFirst && calls.iter().any(Call::has_no_duration) {
            let longer = calls.iter().filter(|it| !it.has_no_duration());
            ends.extend(longer.map(|it| (it.end, it.order)));
            ends.sort_unstable();
        }
        // Callees are listed before the caller that ends with them.
        let is_last_callee = |it: &Call| {
            let next = ends.partition_point(|end| *end < (it.start, it.order));
            it.has_no_duration() && ends.get(next).is_some_and(|end| end.0 == it.start)
        };
        let recursive = if self == Self::CalleeFirst {
            recursive_functions(calls)
        } else {
            BTreeSet::new()
        };
        for together in calls.chunk_by_mut(|a, b| a.start == b.start) {
            let is_mixed = together.first().is_some_and(|it| !it.has_no_duration())
                && together.last().is_some_and(Call::has_no_duration);
            if !is_mixed {
                continue;
            }
            if self == Self::CalleeFirst {
                together.sort_by_key(|it| !is_last_callee(it));
                separate(together, &recursive);
                continue;
            }
            let mut listed = together.to_vec();
            listed.sort_unstable_by_key(|it| it.order);
            let longer = listed.iter().filter(|it| !it.has_no_duration());
            if longer.is_sorted_by_key(|it| Reverse(it.end)) {
                together.copy_from_slice(&listed);
            }
        }
    }
}

/// Returns the functions that call themselves directly, as calls show that begin after and end before another of the same
/// function. The calls are sorted by begin, callers first.
fn recursive_functions(calls: &[Call]) -> BTreeSet<FuncId> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&Call> = Vec::new();
    for call in calls {
        while open.last().is_some_and(|it| it.end <= call.start) {
            open.pop();
        }
        let is_inside = |it: &&Call| it.start < call.start && call.end < it.end;
        let caller = open.last().filter(|it| it.func == call.func);
        if caller.is_some_and(is_inside) {
            found.insert(call.func);
        }
        open.push(call);
    }
    found
}

/// Moves calls of no duration before the longer call of their function that begins at their time, unless the function is
/// recursive. The calls begin together, the longest first.
fn separate(together: &mut [Call], recursive: &BTreeSet<FuncId>) {
    for at in 0..together.len() {
        let call = together[at];
        if !call.has_no_duration() || recursive.contains(&call.func) {
            continue;
        }
        let of_function = |it: &Call| it.func == call.func && !it.has_no_duration();
        if let Some(first) = together[..at].iter().position(of_function) {
            together[first..=at].rotate_right(1);
        }
    }
}
