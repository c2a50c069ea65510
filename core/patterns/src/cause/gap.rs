//! Gaps: times in which nothing at all happened on a lane.

use callgrove_model::{ExecIdx, Executions, TimeNs};

/// Between two events of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    /// The innermost call that is open meanwhile.
    pub(super) call: ExecIdx,
    /// Gaps of that call before.
    pub(super) place: u32,
    /// From here.
    pub(super) start: TimeNs,
    /// To here.
    pub(super) end: TimeNs,
}

/// Hands `each` every gap of a lane within some function, in order of time. Cost: linear.
pub(super) fn for_each_gap(executions: &Executions, mut each: impl FnMut(Gap)) {
    let mut open: Vec<(ExecIdx, u32)> = Vec::new();
    let mut last = TimeNs(i64::MIN);
    for row in 0..executions.len() {
        let exec = ExecIdx::from_index(row);
        leave_until(executions, &mut open, &mut last, Some(exec), &mut each);
        let entry = executions.entry[row];
        if let Some((call, place)) = open.last_mut() {
            each(Gap {
                call: *call,
                place: *place,
                start: last,
                end: entry,
            });
            *place = place.saturating_add(1);
        }
        last = entry;
        open.push((exec, 0));
    }
    leave_until(executions, &mut open, &mut last, None, &mut each);
}

/// Leaves the calls that are over before `next` is entered.
fn leave_until(
    executions: &Executions,
    open: &mut Vec<(ExecIdx, u32)>,
    last: &mut TimeNs,
    next: Option<ExecIdx>,
    each: &mut impl FnMut(Gap),
) {
    while let Some(&(call, place)) = open.last() {
        if next.is_some_and(|next| next < executions.subtree_end[call.index()]) {
            return;
        }
        let exit = executions.exit(call);
        each(Gap {
            call,
            place,
            start: *last,
            end: exit,
        });
        *last = exit;
        open.pop();
    }
}
