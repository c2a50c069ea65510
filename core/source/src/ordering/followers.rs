//! The position of a call of no duration that begins when other calls end: in one of them, or after them.
//!
//! A list with callers first has it after these calls in either case. The calls whose times leave no doubt show the
//! usual position of its function: the last call in a call of another function, or after such a call.

use std::collections::BTreeMap;

use callgrove_model::{FuncId, TimeNs};

use super::call_order::Call;

/// By pair of functions, the number of calls of the second that follow a call of the first in their caller, minus the
/// number that are the last call in it. Only calls whose times leave no doubt are counted.
#[derive(Default)]
pub(super) struct Followers(BTreeMap<(FuncId, FuncId), i64>);

/// A call that is open, and the call that began last in it.
struct OpenFrame {
    end: TimeNs,
    /// `None` for the frame around all calls.
    func: Option<FuncId>,
    last: Option<FuncId>,
}

impl Followers {
    /// Counts the followers in calls that are sorted by begin, callers first. Nothing is counted if the times of all
    /// calls leave no doubt, since the counts are not needed then.
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

    /// Returns the number of calls, counted from the outermost, that contain a call of no duration, among the calls
    /// that end when it begins. Without a count it is in none of them.
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
