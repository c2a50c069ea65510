//! The event sequence of a lane, to which the grammar expands.

use callgrove_model::{ExecIdx, Executions, FuncId};

/// One event of a lane: a function is entered or left.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallEvent {
    /// The function is entered.
    Enter(FuncId),
    /// The function is left. A call whose exit was not recorded has no such event.
    Leave(FuncId),
}

/// Returns the events of a lane in order, derived from its executions.
pub fn events(executions: &Executions) -> impl Iterator<Item = CallEvent> + '_ {
    let mut open: Vec<usize> = Vec::new();
    let mut row = 0;
    std::iter::from_fn(move || {
        loop {
            if let Some(&top) = open.last()
                && executions.subtree(ExecIdx::from_index(top)).end <= row
            {
                open.pop();
                if executions.closed[top] {
                    return Some(CallEvent::Leave(executions.func[top]));
                }
                continue;
            }
            let func = *executions.func.get(row)?;
            open.push(row);
            row += 1;
            return Some(CallEvent::Enter(func));
        }
    })
}
