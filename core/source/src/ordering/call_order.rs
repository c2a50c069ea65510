//! The order of calls that begin together, and the nesting of two calls with the same times.
//!
//! A file of complete calls states this only by the order in which it lists them. Tracers write a call when it has
//! ended, so a caller follows its callees; tools that sort by begin list it before them. The calls whose times differ
//! show which of the two it is.

use std::cmp::Reverse;
use std::collections::BTreeMap;

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

    pub(super) fn has_no_duration(&self) -> bool {
        self.start == self.end
    }

    /// Returns whether another call lies within this one and is shorter.
    fn encloses(&self, other: &Self) -> bool {
        self.start <= other.start
            && other.end <= self.end
            && (self.start, self.end) != (other.start, other.end)
    }
}

fn begin_together(a: &Call, b: &Call) -> bool {
    a.start == b.start
}

/// Returns whether calls that begin together, the longest first, are of both kinds: with a duration and without.
fn is_mixed(together: &[Call]) -> bool {
    together.first().is_some_and(|it| !it.has_no_duration())
        && together.last().is_some_and(Call::has_no_duration)
}

/// The order in which a file lists calls that nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListOrder {
    CallerFirst,
    CalleeFirst,
}

impl ListOrder {
    /// Returns the order of most neighbours in a list of calls. If there are calls that begin together, only these
    /// decide, since a list may be sorted by begin and keep the order of its source among equal ones.
    pub(super) fn of(calls: &[Call]) -> Self {
        let (mut together, mut apart) = (0_i64, 0_i64);
        for (first, second) in calls.iter().zip(calls.iter().skip(1)) {
            let votes = if first.start == second.start {
                &mut together
            } else {
                &mut apart
            };
            *votes += Self::vote(first, second);
        }
        let votes = if together == 0 { apart } else { together };
        if votes < 0 {
            Self::CalleeFirst
        } else {
            Self::CallerFirst
        }
    }

    /// Returns 1 if two neighbours in a list show that callers come first, -1 if callees do, and 0 otherwise. A call of
    /// no duration that precedes or follows another one shows nothing: it may be in it, or next to it.
    fn vote(first: &Call, second: &Call) -> i64 {
        let is_at = |call: &Call, time| call.has_no_duration() && call.start == time;
        if first.encloses(second) && !is_at(second, first.end) {
            1
        } else if second.encloses(first) && !is_at(first, second.start) {
            -1
        } else {
            0
        }
    }

    /// Sorts calls by begin, callers before their callees. A call of no duration precedes those that begin at its time
    /// if the list says that it is in none of them, or if [`Neighbours`] do.
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
        let is_doubtful = self == Self::CalleeFirst && calls.chunk_by(begin_together).any(is_mixed);
        let neighbours = if is_doubtful {
            Neighbours::of(calls)
        } else {
            Neighbours::default()
        };
        for together in calls.chunk_by_mut(begin_together) {
            if !is_mixed(together) {
                continue;
            }
            if self == Self::CalleeFirst {
                together.sort_by_key(|it| !is_last_callee(it));
                let num_last = together.iter().filter(|it| is_last_callee(it)).count();
                neighbours.arrange(&mut together[num_last..]);
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

/// By pair of functions, the number of calls of the first that directly precede a call of the second, minus the number
/// that are the first call in it. Only calls whose times leave no doubt are counted.
///
/// The counts decide where the times leave a doubt: a list with callees first has a call of no duration before the
/// longer call that begins at its time, both if it is in that call and if it precedes it. Without a count it is in that
/// call, unless the function would call itself.
#[derive(Default)]
struct Neighbours(BTreeMap<(FuncId, FuncId), i64>);

/// A call that is open, and the call that ended last in it.
struct OpenFrame {
    start: TimeNs,
    end: TimeNs,
    func: FuncId,
    last: LastCallee,
}

#[derive(Clone, Copy)]
enum LastCallee {
    /// No call in it has begun.
    Missing,
    Known(FuncId),
    /// The times leave a doubt.
    Doubtful,
}

impl Neighbours {
    /// Counts the neighbours in calls that are sorted by begin, callers first.
    fn of(calls: &[Call]) -> Self {
        let mut neighbours = Self::default();
        let mut open: Vec<OpenFrame> = Vec::new();
        for together in calls.chunk_by(begin_together) {
            let is_mixed = is_mixed(together);
            for call in together {
                let ended = open.iter().position(|it| it.end <= call.start);
                open.truncate(ended.unwrap_or(open.len()));
                if call.has_no_duration() && (is_mixed || ended.is_some()) {
                    let doubtful = open
                        .iter_mut()
                        .rev()
                        .take_while(|it| it.start == call.start);
                    doubtful.for_each(|it| it.last = LastCallee::Doubtful);
                    if let Some(frame) = open.last_mut() {
                        frame.last = LastCallee::Doubtful;
                    }
                    continue;
                }
                if let Some(frame) = open.last_mut() {
                    match frame.last {
                        LastCallee::Missing => neighbours.count(call.func, frame.func, -1),
                        LastCallee::Known(last) if !is_mixed => {
                            neighbours.count(last, call.func, 1);
                        }
                        LastCallee::Known(_) | LastCallee::Doubtful => {}
                    }
                    frame.last = LastCallee::Known(call.func);
                }
                if !call.has_no_duration() {
                    open.push(OpenFrame {
                        start: call.start,
                        end: call.end,
                        func: call.func,
                        last: LastCallee::Missing,
                    });
                }
            }
        }
        neighbours
    }

    fn count(&mut self, first: FuncId, second: FuncId, by: i64) {
        *self.0.entry((first, second)).or_default() += by;
    }

    /// Returns whether a call of no duration precedes a longer call that begins at its time.
    fn is_before(&self, call: FuncId, longer: FuncId) -> bool {
        match self.0.get(&(call, longer)) {
            Some(&balance) if balance != 0 => balance > 0,
            _ => call == longer,
        }
    }

    /// Arranges calls that begin together: longer ones, callers first, and then those of no duration as they are
    /// listed. These keep their order.
    fn arrange(&self, together: &mut [Call]) {
        let (longer, short): (Vec<Call>, Vec<Call>) =
            together.iter().partition(|it| !it.has_no_duration());
        // The number of longer calls before each call of no duration, the last one first.
        let mut depth = longer.len();
        let depths = short.iter().rev().map(|call| {
            let is_before = |at: &usize| self.is_before(call.func, longer[*at].func);
            depth = (0..depth).find(is_before).unwrap_or(depth);
            depth
        });
        let depths: Vec<usize> = depths.collect();
        let mut short = short.into_iter().zip(depths.into_iter().rev()).peekable();
        let mut places = together.iter_mut();
        for depth in 0..=longer.len() {
            while let Some((call, _)) = short.next_if(|(_, it)| *it == depth) {
                places.next().into_iter().for_each(|place| *place = call);
            }
            if let Some(call) = longer.get(depth) {
                places.next().into_iter().for_each(|place| *place = *call);
            }
        }
    }
}
