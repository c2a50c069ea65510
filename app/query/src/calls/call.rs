//! Questions about single calls.

use callgrove_model::{
    ExecIdx, ExecLabel, ExecRef, Executions, FuncId, LaneIdx, ProgramId, RankId,
};
use serde::{Deserialize, Serialize};

use super::query::{AskCalls, CallsRefusal, CallsReply, LocalCalls, check_number};
use crate::timeline::{CallDetails, CallTimes, NamedCall, innermost_at, partners_of};

/// Largest number of calls in a question. Incidents have fewer.
const MAX_CALLS: usize = 1 << 18;

/// The details of a call.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallOf(pub ExecRef);

/// The times and functions of some calls.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TimesOf(pub Vec<ExecRef>);

/// The number of given calls that are neither calls of some functions nor inside one.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CallsOutside {
    /// The calls.
    pub calls: Vec<ExecRef>,
    /// The functions.
    pub functions: Vec<FuncId>,
}

/// The call one step away from a call.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepFrom {
    /// The call.
    pub call: ExecRef,
    /// Direction of the step.
    pub way: CallWay,
}

/// The direction of a step from one call to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum CallWay {
    /// To its caller.
    Caller,
    /// To the longest call that it makes.
    LongestCallee,
    /// To the preceding call of the same caller.
    Before,
    /// To the following call of the same caller.
    After,
    /// To the innermost call on another lane at its entry.
    #[serde(rename = "Beside")]
    SameTime(LaneIdx),
}

/// The ranks with which a call and its callees exchange messages, and the number of messages; in order of rank.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct PartnersOf(pub ExecRef);

/// The call with an event label.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Labelled {
    /// Its program.
    pub program: ProgramId,
    /// The label.
    pub label: ExecLabel,
}

/// A call that was found by its label.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FoundCall {
    /// The call.
    pub call: ExecRef,
    /// Its call stack, itself first.
    pub stack: Vec<NamedCall>,
}

impl AskCalls for CallOf {
    type Answer = CallDetails;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<CallDetails>, CallsRefusal> {
        calls.check_call(self.0)?;
        Ok(CallsReply::Done(CallDetails::new(&calls.trace, self.0)))
    }

    fn answer_bytes(details: &CallDetails) -> usize {
        size_of::<CallDetails>()
            + size_of_val(details.counters.as_slice())
            + size_of_val(details.messages.as_slice())
    }
}

impl AskCalls for TimesOf {
    type Answer = Vec<CallTimes>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<CallTimes>>, CallsRefusal> {
        check_number(self.0.len() <= MAX_CALLS, "calls")?;
        let times = self.0.iter().map(|&call| {
            calls.check_call(call)?;
            let executions = &calls.trace.lane(call.lane).executions;
            Ok(CallTimes {
                call,
                func: executions.func[call.exec.index()],
                from: executions.entry[call.exec.index()],
                to: executions.exit(call.exec),
            })
        });
        Ok(CallsReply::Done(times.collect::<Result<_, _>>()?))
    }

    fn answer_bytes(times: &Vec<CallTimes>) -> usize {
        size_of_val(times.as_slice())
    }
}

impl AskCalls for CallsOutside {
    type Answer = usize;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<usize>, CallsRefusal> {
        check_number(self.calls.len() <= MAX_CALLS, "calls")?;
        let num_functions = calls.trace.names.len();
        check_number(self.functions.len() <= num_functions, "functions")?;
        let mut num_outside = 0;
        for &call in &self.calls {
            calls.check_call(call)?;
            let executions = &calls.trace.lane(call.lane).executions;
            let mut funcs = stack(executions, call.exec).map(|at| executions.func[at.index()]);
            num_outside += usize::from(!funcs.any(|func| self.functions.contains(&func)));
        }
        Ok(CallsReply::Done(num_outside))
    }

    fn answer_bytes(_: &usize) -> usize {
        size_of::<usize>()
    }
}

impl AskCalls for StepFrom {
    type Answer = Option<ExecRef>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Option<ExecRef>>, CallsRefusal> {
        calls.check_call(self.call)?;
        let ExecRef { lane, exec } = self.call;
        let executions = &calls.trace.lane(lane).executions;
        let step = |exec: Option<ExecIdx>| exec.map(|exec| ExecRef { lane, exec });
        Ok(CallsReply::Done(match self.way {
            CallWay::Caller => step(executions.parent(exec)),
            CallWay::LongestCallee => step(longest_callee(executions, exec)),
            CallWay::Before => step(sibling_before(executions, exec)),
            CallWay::After => step(sibling_after(executions, exec)),
            CallWay::SameTime(lane) => {
                calls.check_lane(lane)?;
                let there = &calls.trace.lane(lane).executions;
                let exec = innermost_at(there, executions.entry[exec.index()]);
                exec.map(|exec| ExecRef { lane, exec })
            }
        }))
    }

    fn answer_bytes(_: &Option<ExecRef>) -> usize {
        size_of::<ExecRef>()
    }
}

impl AskCalls for PartnersOf {
    type Answer = Vec<(ProgramId, RankId, usize)>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Self::Answer>, CallsRefusal> {
        calls.check_call(self.0)?;
        Ok(CallsReply::Done(partners_of(&calls.trace, self.0)))
    }

    fn answer_bytes(partners: &Self::Answer) -> usize {
        size_of_val(partners.as_slice())
    }
}

impl AskCalls for Labelled {
    type Answer = Option<FoundCall>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Option<FoundCall>>, CallsRefusal> {
        let found = calls.trace.find(self.program, self.label).map(|call| {
            let executions = &calls.trace.lane(call.lane).executions;
            let stack = stack(executions, call.exec)
                .map(|exec| NamedCall::new(&calls.trace, ExecRef { exec, ..call }));
            FoundCall {
                call,
                stack: stack.collect(),
            }
        });
        Ok(CallsReply::Done(found))
    }

    fn answer_bytes(found: &Option<FoundCall>) -> usize {
        let stack = found.as_ref().map_or(0, |found| found.stack.len());
        size_of::<FoundCall>() + stack * size_of::<NamedCall>()
    }
}

/// Returns a call and its callers, innermost first.
fn stack(executions: &Executions, call: ExecIdx) -> impl Iterator<Item = ExecIdx> {
    std::iter::successors(Some(call), |&at| executions.parent(at))
}

fn longest_callee(executions: &Executions, call: ExecIdx) -> Option<ExecIdx> {
    let rows = executions.subtree(call);
    let first = Some(rows.start + 1).filter(|row| rows.contains(row));
    let callees = std::iter::successors(first, |&row| {
        Some(executions.subtree_end[row].index()).filter(|next| rows.contains(next) && *next > row)
    });
    callees
        .max_by_key(|&row| (executions.inclusive[row], std::cmp::Reverse(row)))
        .map(ExecIdx::from_index)
}

fn sibling_after(executions: &Executions, call: ExecIdx) -> Option<ExecIdx> {
    let next = executions.subtree_end[call.index()];
    let is_sibling = next > call
        && next.index() < executions.len()
        && executions.parent(next) == executions.parent(call);
    is_sibling.then_some(next)
}

fn sibling_before(executions: &Executions, call: ExecIdx) -> Option<ExecIdx> {
    let parent = executions.parent(call);
    let last = call.index().checked_sub(1).map(ExecIdx::from_index);
    std::iter::successors(last, |&exec| executions.parent(exec))
        .take_while(|&exec| Some(exec) != parent)
        .find(|&exec| executions.parent(exec) == parent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::fixture::{executions, forest, rank};

    #[test]
    fn steps_walk_the_stack() {
        // r { a { b } c { b b } } d
        let calls = "+r@0 +a@1 +b@2 -b@3 -a@4 +c@5 +b@6 -b@7 +b@8 -b@9 -c@10 -r@11 +d@12 -d@13";
        let forest = forest(vec![rank(0, calls, &[])], "r");
        let executions = executions(&forest);
        let exec = |row| ExecIdx(row);
        assert_eq!(sibling_after(executions, exec(1)), Some(exec(3)));
        assert_eq!(sibling_after(executions, exec(3)), None);
        assert_eq!(sibling_after(executions, exec(0)), Some(exec(6)));
        assert_eq!(sibling_before(executions, exec(3)), Some(exec(1)));
        assert_eq!(sibling_before(executions, exec(6)), Some(exec(0)));
        assert_eq!(sibling_before(executions, exec(1)), None);
        assert_eq!(longest_callee(executions, exec(0)), Some(exec(3)));
        assert_eq!(longest_callee(executions, exec(2)), None);
    }
}
