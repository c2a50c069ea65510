//! Counts of a run for the operator.

use std::collections::BTreeMap;
use std::time::Duration;

use callgrove_model::ProgramId;

use super::exchange_counters::ExchangeTimes;
use super::global::GlobalState;
use super::{ServerState, lock};
use crate::functions::FunctionTable;

/// The counts of a run so far.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTally {
    /// By program, in order.
    pub programs: BTreeMap<ProgramId, ProgramTally>,
    /// Number of connected AD instances.
    pub num_instances: usize,
    /// Time since the last step was reported to this process; `None` before the first.
    pub report_age: Option<Duration>,
    /// Exchanges with instances.
    pub exchanges: ExchangeTimes,
    /// Incremented with every change of a tree model.
    pub tree_generation: u64,
}

/// The counts of one program. Anomalies and incidents can decrease when steps are judged again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProgramTally {
    /// Number of reported steps, of all ranks together.
    pub steps: u64,
    /// Number of executions in these.
    pub executions: u64,
    /// Number of these that are anomalies.
    pub anomalies: u64,
    /// Number of recorded incidents.
    pub incidents: u64,
    /// Number of ranks with a reported step.
    pub reported_ranks: usize,
    /// Number of these, of the other ranks that instances read, and of all up to the number that a recorded run
    /// announces.
    pub expected_ranks: usize,
}

impl ServerState {
    /// Returns the counts up to the last fold. `now_ms` is of the clock of [`ServerState::sync`].
    pub fn tally(&self, now_ms: u64) -> RunTally {
        let mut programs = BTreeMap::new();
        let claimed: Vec<_> = lock(&self.claims).keys().copied().collect();
        {
            let global = lock(&self.global);
            count_all(&mut programs, &global, &self.function_table());
            for rank in claimed {
                if !global.total.ranks.contains_key(&rank) {
                    let of_program = programs.entry(rank.0).or_default();
                    of_program.expected_ranks += 1;
                }
            }
        }
        for (&program, &num_ranks) in &*lock(&self.announced_ranks) {
            let of_program = programs.entry(program).or_default();
            let num_ranks = usize::try_from(num_ranks).unwrap_or(usize::MAX);
            of_program.expected_ranks = of_program.expected_ranks.max(num_ranks);
        }
        RunTally {
            programs,
            num_instances: self.num_live(now_ms),
            report_age: self.exchanges.report_age(now_ms),
            exchanges: self.exchanges.times(),
            tree_generation: lock(&self.tree_models.book).generation(),
        }
    }

    /// Counts one exchange by the time that it took here.
    pub fn count_exchange(&self, time: Duration) {
        self.exchanges.count(time);
    }
}

fn count_all(
    programs: &mut BTreeMap<ProgramId, ProgramTally>,
    global: &GlobalState,
    functions: &FunctionTable,
) {
    for (&(program, _), totals) in &global.total.ranks {
        let of_program: &mut ProgramTally = programs.entry(program).or_default();
        of_program.steps += totals.anomalies.count();
        of_program.reported_ranks += 1;
        of_program.expected_ranks += 1;
    }
    for (&fid, profile) in &global.total.functions {
        if let Some((program, _)) = functions.get(fid) {
            programs.entry(program).or_default().executions += profile.exclusive.count();
        }
    }
    for (&(program, _, _), metrics) in &global.total.metrics {
        programs.entry(program).or_default().anomalies += metrics.anomalies.count();
    }
    for (program, num_incidents) in global.incidents.counts() {
        programs.entry(program).or_default().incidents += num_incidents;
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::{RankId, RunIdentity};

    use super::*;
    use crate::model_exchange::Hello;
    use crate::state::StateOptions;

    #[test]
    fn ranks_are_expected_that_instances_read_or_that_the_run_states() {
        let state = ServerState::new(StateOptions::default());
        assert!(state.tally(0).programs.is_empty());
        let hello = Hello {
            instance: "an instance".to_owned(),
            program: ProgramId(3),
            ranks: vec![RankId(0), RankId(1)],
            run: RunIdentity::default(),
            recorded_ranks: None,
        };
        let registered = state.register(&hello, 0);
        assert!(registered.is_ok(), "{registered:?}");
        let counts = |state: &ServerState| {
            let of_program = state.tally(0).programs[&ProgramId(3)];
            (of_program.expected_ranks, of_program.reported_ranks)
        };
        assert_eq!(counts(&state), (2, 0));
        assert_eq!(state.tally(0).num_instances, 1);
        for recorded_ranks in [Some(16), Some(0), None] {
            let announced = Hello {
                recorded_ranks,
                ..hello.clone()
            };
            let registered = state.register(&announced, 0);
            assert!(registered.is_ok(), "{registered:?}");
        }
        assert_eq!(counts(&state), (16, 0));
        state.goodbye("an instance");
        assert_eq!(counts(&state), (16, 0));
        assert_eq!(state.tally(0).num_instances, 0);
    }
}
