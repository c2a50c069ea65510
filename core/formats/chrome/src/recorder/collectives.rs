//! Collectives: the kernels of NCCL, RCCL and oneCCL, and the calls of gloo.
//!
//! Ranks must come to the same communicator and number without knowing each other. The communicator follows from the
//! name and ranks of the process group, which all its members state alike. The number is the one that PyTorch counts
//! (`Seq`). Without it, it is the iteration (`ProfilerStep#N`) and the place among the collectives of the group that
//! were launched in it: so a rank whose recording began later has the same numbers. Without iterations it is the place
//! in the file, which assumes that the recordings of all ranks begin with the same collective.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{CommKind, communication_kernel};

use super::launches::LaunchPair;
use super::rows::RowNumber;
use crate::events::{CollectiveFacts, PartnerMessage, UNSTATED_COMMUNICATOR, UNSTATED_EXCHANGE};

/// A part of the name of each kernel that sends and receives, alone or as part of an all-to-all exchange.
const SEND_RECV: &str = "SendRecv";
/// Prefix of the names of collectives on the CPU.
const GLOO: &str = "gloo:";

/// A call that takes part, or may take part, in a collective.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CollectiveCall {
    pub(crate) row: RowNumber,
    /// Nanoseconds since the time that the file states.
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Joins it with the operation that states its process group.
    pub(crate) external_id: Option<i64>,
    pub(crate) facts: CollectiveFacts,
    pub(crate) class: CollectiveClass,
    /// True if it runs on a GPU, so that it was launched.
    pub(crate) is_kernel: bool,
}

/// The class of a communication call by its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum CollectiveClass {
    /// A collective.
    Collective,
    /// A kernel of a message between two, or of an exchange of all with all.
    SendRecv,
}

impl CollectiveClass {
    /// Returns the class of a kernel, or `None` if it is not a collective.
    pub(crate) fn of_kernel(name: &str) -> Option<Self> {
        let operation = communication_kernel(name)?;
        Some(if operation.contains(SEND_RECV) {
            Self::SendRecv
        } else {
            Self::Collective
        })
    }

    /// Returns the class of a call on the CPU, or `None` if it is not a collective.
    pub(crate) fn of_call(name: &str) -> Option<Self> {
        let operation = name.strip_prefix(GLOO)?;
        let is_message = operation.starts_with("send") || operation.starts_with("recv");
        (!is_message).then_some(Self::Collective)
    }
}

/// Returns whether a call on the CPU is a message between two ranks.
pub(crate) fn is_message_call(name: &str) -> bool {
    ["nccl:send", "nccl:recv", "c10d::send", "c10d::recv"]
        .iter()
        .any(|it| name.starts_with(it))
}

/// An iteration of a training.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct TrainingStep {
    /// Nanoseconds since the time that the file states.
    pub(crate) start_ns: i64,
    pub(crate) number: u64,
}

/// The collectives of a file, and the facts about them.
#[derive(Debug, Default)]
pub(crate) struct CollectiveCalls {
    pub(crate) calls: Vec<CollectiveCall>,
    /// The facts that operations state, by their external ids.
    pub(crate) operations: BTreeMap<i64, CollectiveFacts>,
    pub(crate) steps: Vec<TrainingStep>,
    /// True if calls on the CPU are messages between two ranks. Then a kernel without other facts may be one, too.
    pub(crate) has_messages: bool,
}

/// A call with its place in a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NumberedCollective {
    pub(crate) row: RowNumber,
    pub(crate) start_ns: i64,
    pub(crate) communicator: u64,
    pub(crate) sequence: u64,
}

/// A kernel that sends or receives a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct MessageKernel {
    pub(crate) row: RowNumber,
    /// Time at which it begins to send, or has received, in nanoseconds since the time that the file states.
    pub(crate) time_ns: i64,
    pub(crate) message: PartnerMessage,
}

/// A call before it has a number.
struct Unnumbered {
    call: CollectiveCall,
    facts: CollectiveFacts,
    /// Time of its launch, if that is known; else of its beginning.
    order_ns: i64,
    is_launch_known: bool,
}

impl CollectiveCalls {
    /// Returns the messages of kernels that state the other rank.
    pub(crate) fn messages(&self) -> Vec<MessageKernel> {
        let messages = self.calls.iter().filter_map(|call| {
            let message = self.facts(call).message?;
            Some(MessageKernel {
                row: call.row,
                time_ns: match message.kind {
                    CommKind::Send => call.start_ns,
                    CommKind::Recv => call.end_ns,
                },
                message,
            })
        });
        messages.collect()
    }

    /// Returns the sizes of the calls that state them: row, start in nanoseconds, bytes.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = (RowNumber, i64, u64)> + '_ {
        let calls = self.calls.iter();
        calls.filter_map(|call| Some((call.row, call.start_ns, self.facts(call).num_bytes?)))
    }

    /// Numbers the calls. Cost: O(n log n).
    pub(crate) fn numbered(mut self, launches: &[LaunchPair]) -> Vec<NumberedCollective> {
        self.steps.sort_unstable();
        let keys = self.calls.iter().map(|it| (it.row, it.start_ns));
        let keys: BTreeSet<(RowNumber, i64)> = keys.collect();
        let launched = launches.iter().map(|it| {
            let key = (it.work.row, it.work.start_ns);
            (key, it.by.start_ns)
        });
        let launched: BTreeMap<_, _> = launched.filter(|it| keys.contains(&it.0)).collect();
        let mut calls: Vec<Unnumbered> = Vec::new();
        for call in &self.calls {
            let facts = self.facts(call);
            let is_message = facts.is_point_to_point
                || (call.class == CollectiveClass::SendRecv
                    && !facts.is_stated
                    && self.has_messages);
            if is_message {
                continue;
            }
            let launch_ns = launched.get(&(call.row, call.start_ns)).copied();
            calls.push(Unnumbered {
                call: *call,
                facts,
                order_ns: launch_ns.unwrap_or(call.start_ns),
                is_launch_known: launch_ns.is_some(),
            });
        }
        calls.sort_by_key(|it| (it.order_ns, it.call.start_ns, it.call.row));
        let mut counts: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        let mut numbered = Vec::with_capacity(calls.len());
        for it in calls {
            // Ranks may send and receive more often than others, which must not move the numbers of their collectives.
            let communicator = match (it.call.class, it.facts.communicator) {
                (CollectiveClass::SendRecv, UNSTATED_COMMUNICATOR) => UNSTATED_EXCHANGE,
                (_, stated) => stated,
            };
            let Some(first) = self.first_sequence(&it, !launched.is_empty()) else {
                continue;
            };
            let count = counts.entry((communicator, first)).or_default();
            let sequence = match it.facts.sequence {
                // A number that repeats is that of an operation of several kernels.
                Some(stated) => stated.wrapping_add(*count << 48),
                None => first.wrapping_add(*count),
            };
            *count += 1;
            numbered.push(NumberedCollective {
                row: it.call.row,
                start_ns: it.call.start_ns,
                communicator,
                sequence,
            });
        }
        numbered
    }

    /// Returns the facts that the call states, or else those of the operation that it belongs to.
    fn facts(&self, call: &CollectiveCall) -> CollectiveFacts {
        let operation = call.external_id.and_then(|id| self.operations.get(&id));
        let Some(operation) = operation else {
            return call.facts;
        };
        let own = call.facts;
        CollectiveFacts {
            communicator: if own.communicator == UNSTATED_COMMUNICATOR {
                operation.communicator
            } else {
                own.communicator
            },
            sequence: own.sequence.or(operation.sequence),
            is_point_to_point: own.is_point_to_point || operation.is_point_to_point,
            message: own.message.or(operation.message),
            num_bytes: own.num_bytes.or(operation.num_bytes),
            is_stated: own.is_stated || operation.is_stated,
        }
    }

    /// Returns the number that the counting begins with: the stated one, or that of the iteration. `None` if a kernel
    /// was launched before the recording or before the first iteration, so that other ranks may not have it.
    fn first_sequence(&self, call: &Unnumbered, are_launches_known: bool) -> Option<u64> {
        if let Some(stated) = call.facts.sequence {
            return Some(stated);
        }
        if self.steps.is_empty() {
            return Some(0);
        }
        if are_launches_known && call.call.is_kernel && !call.is_launch_known {
            return None;
        }
        let after = self
            .steps
            .partition_point(|it| it.start_ns <= call.order_ns);
        let step = self.steps.get(after.checked_sub(1)?)?;
        Some(step.number.wrapping_add(1) << 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_follow_from_names() {
        let check =
            |name, expected| assert_eq!(CollectiveClass::of_kernel(name), expected, "{name}");
        let collective = Some(CollectiveClass::Collective);
        check("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", collective);
        check(
            "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(x)",
            Some(CollectiveClass::SendRecv),
        );
        check("void at::native::elementwise_kernel", None);
        assert_eq!(CollectiveClass::of_call("gloo:all_reduce"), collective);
        assert_eq!(CollectiveClass::of_call("gloo:recvAnySource"), None);
        assert_eq!(CollectiveClass::of_call("nccl:all_reduce"), None);
    }
}
