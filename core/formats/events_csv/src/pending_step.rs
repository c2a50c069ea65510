//! The step of one rank that is being filled.

use std::collections::BTreeMap;

use callgrove_model::{
    FuncEvent, FuncEventKind, FuncId, ProgramId, RankId, StepBatch, StepId, ThreadId, TimeNs,
    WarningKind, Warnings,
};

use crate::row::MessageRow;

/// Number of calls' events, or of messages, of a rank in one step. It is fixed, so that the labels of executions do not
/// change, and small enough that the steps of thousands of ranks fit in memory.
const STEP_EVENTS: u32 = 8192;

/// The events of one rank since its last complete step.
#[derive(Default)]
pub(crate) struct PendingStep {
    number: u32,
    num_calls: u32,
    calls: BTreeMap<ThreadId, Vec<FuncEvent>>,
    num_messages: u32,
    messages: Vec<(ThreadId, TimeNs, MessageRow)>,
}

impl PendingStep {
    pub(crate) fn push_call(
        &mut self,
        thread: ThreadId,
        kind: FuncEventKind,
        func: FuncId,
        time: TimeNs,
    ) {
        let event = FuncEvent::new(kind, func, time, self.num_calls);
        self.calls.entry(thread).or_default().push(event);
        self.num_calls += 1;
    }

    pub(crate) fn push_message(&mut self, thread: ThreadId, message: MessageRow, time: TimeNs) {
        self.messages.push((thread, time, message));
        self.num_messages += 1;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.num_calls >= STEP_EVENTS || self.num_messages >= STEP_EVENTS
    }

    /// Returns this step, and leaves the next one, which is empty.
    pub(crate) fn replace_by_next(&mut self) -> Self {
        let next = Self {
            number: self.number.saturating_add(1),
            ..Self::default()
        };
        std::mem::replace(self, next)
    }

    /// Returns the step as a batch, with the events of each thread in order of time; `None` if it has no events.
    pub(crate) fn into_batch(
        mut self,
        program: ProgramId,
        rank: RankId,
        warnings: &mut Warnings,
    ) -> Option<StepBatch> {
        if self.calls.is_empty() && self.messages.is_empty() {
            return None;
        }
        let mut batch = StepBatch::empty(program, rank, StepId(self.number));
        for (thread, mut events) in self.calls {
            let back = events.windows(2).find(|pair| pair[1].time < pair[0].time);
            if let Some(&[_, later]) = back {
                warnings.count(WarningKind::TimeWentBack, Some(rank), || {
                    format!("thread {}, at {} ns", thread.0, later.time.0)
                });
                events.sort_by_key(|event| event.time);
            }
            batch.funcs.extend(thread, events);
        }
        self.messages
            .sort_by_key(|&(thread, time, _)| (thread, time));
        for (thread, time, message) in self.messages {
            let MessageRow {
                kind,
                partner,
                tag,
                num_bytes,
            } = message;
            let comms = &mut batch.comms;
            comms.push(thread, kind, tag, partner, num_bytes, time);
        }
        Some(batch)
    }
}
