//! Learning from steps without judging them: the times of calls, without keeping the calls.

use std::collections::BTreeMap;

use callgrove_model::{
    EndedCall, FuncEventKind, FuncEvents, OpenCalls, RankId, ThreadId, Warnings, move_exits,
};

/// The open calls of one rank, across steps.
#[derive(Debug, Default)]
pub(super) struct StepLearner {
    lanes: BTreeMap<ThreadId, OpenCalls<()>>,
    pub(super) warnings: Warnings,
}

impl StepLearner {
    /// Processes the next step of `rank`, and passes each call that ended in it to `ended`.
    pub(super) fn take_in(
        &mut self,
        rank: RankId,
        funcs: &mut FuncEvents,
        mut ended: impl FnMut(&EndedCall<()>),
    ) {
        let warnings = &mut self.warnings;
        let open = self.lanes.iter().map(|(&thread, open)| (thread, open));
        move_exits(funcs, open, rank, warnings);
        for (thread, events) in funcs.segments() {
            let lane = self.lanes.entry(thread);
            let open = lane.or_insert_with(|| OpenCalls::new(rank));
            for event in events {
                match event.kind() {
                    FuncEventKind::Entry => {
                        open.enter(event.func, event.time, (), warnings);
                    }
                    FuncEventKind::Exit => {
                        open.exit(event.func, event.time, warnings, |call| ended(&call));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgrove_detect::{FuncModel, Params};
    use callgrove_model::{FuncId, ProgramId, RunIdentity, StepBatch, StepId, TimeNs};
    use callgrove_records::NamedFunction;
    use proptest::prelude::*;

    use super::super::RankDetector;
    use super::*;
    use crate::announcements::StreamAnnouncements;
    use crate::functions::InstanceFunctions;
    use crate::options::{AdOptions, Pacing};
    use crate::rules::FunctionRules;
    use crate::stream_reader::StepInput;

    const RANK: RankId = RankId(3);
    /// The number of functions of the rank; the last one is not judged.
    const NUM_FUNCTIONS: u32 = 4;

    /// Events as (thread, function, whether it is an entry, µs since the previous event), some of them damaged.
    fn events() -> impl Strategy<Value = Vec<(u32, u32, bool, i64)>> {
        let event = (0..2_u32, 0..NUM_FUNCTIONS, any::<bool>(), -1..9_i64);
        prop::collection::vec(event, 0..80)
    }

    fn input(step: u32, events: &[(u32, u32, bool, i64)], now_us: &mut i64) -> StepInput {
        let mut batch = StepBatch::empty(ProgramId(0), RANK, StepId(step));
        for (row, &(thread, func, is_entry, after)) in (0..).zip(events) {
            *now_us += after;
            let kind = if is_entry {
                FuncEventKind::Entry
            } else {
                FuncEventKind::Exit
            };
            let time = TimeNs(*now_us * 1000);
            batch
                .funcs
                .push(ThreadId(thread), kind, FuncId(func), time, row);
        }
        StepInput {
            batch: Box::new(batch),
            functions: Vec::new(),
            counters: Vec::new(),
            warnings: Warnings::default(),
            run: RunIdentity::default(),
            announced: StreamAnnouncements::default(),
            num_ranks: 1,
        }
    }

    fn detector() -> RankDetector {
        let mut detector = RankDetector::new(ProgramId(0), RANK);
        for func in 0..NUM_FUNCTIONS {
            let name = Arc::from(format!("f{func}"));
            let number = (func + 1 < NUM_FUNCTIONS).then_some(func);
            detector.name_function(NamedFunction { name, fid: func }, number);
        }
        detector
    }

    fn functions() -> InstanceFunctions {
        let mut functions = InstanceFunctions::default();
        for func in 0..NUM_FUNCTIONS {
            functions.intern(&format!("f{func}"));
        }
        let fids = (0..NUM_FUNCTIONS).map(FuncId).collect();
        functions.extend(fids, &FunctionRules::default());
        functions
    }

    proptest! {
        #[test]
        fn models_learn_the_same_whether_calls_are_kept_or_not(
            events in events(),
            step_length in 1..30_usize,
            turn_length in 1..40_usize,
        ) {
            let options = AdOptions::new(Params::default(), Pacing::Lockstep).unwrap();
            let functions = functions();
            let (mut learner, mut keeper) = (detector(), detector());
            let mut now_us = [1_000_000; 2];
            let steps: Vec<_> = (0..).zip(events.chunks(step_length)).collect();
            for turn in steps.chunks(turn_length) {
                let inputs = turn.iter().map(|(step, events)| input(*step, events, &mut now_us[0]));
                let learnt = learner.learn_steps(inputs, &options, &functions);
                let new_steps = turn.iter().map(|(step, _)| (RANK, StepId(*step)));
                prop_assert_eq!(learnt.steps, new_steps.collect::<Vec<_>>());
                let mut kept = Vec::new();
                for (step, events) in turn {
                    keeper.take_in(input(*step, events, &mut now_us[1]), &options, functions.len(), false);
                    kept.extend(keeper.learn(&options, &functions));
                    keeper.retire(2);
                }
                prop_assert_eq!(by_number(learnt.models), by_number(kept));
            }
        }
    }

    fn by_number(parts: Vec<(u32, FuncModel)>) -> BTreeMap<u32, FuncModel> {
        let mut models: BTreeMap<u32, FuncModel> = BTreeMap::new();
        for (number, part) in parts {
            models
                .entry(number)
                .and_modify(|model| model.merge(&part).unwrap())
                .or_insert(part);
        }
        models
    }
}
