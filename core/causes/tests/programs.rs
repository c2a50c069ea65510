//! Causes in programs whose work is uneven, by design or by a fault.

use callgrove_causes::Causes;
use callgrove_model::{
    DurationNs, FuncEventKind, LaneIdx, NameTable, ProgramId, Progress, RankBuilder, RankId,
    StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};

/// A run of a program with the times of its iterations.
struct Run {
    trace: Trace,
    causes: Causes,
    /// The start of each iteration, by rank; microseconds.
    starts_us: Vec<Vec<i64>>,
}

/// Runs a program whose ranks call functions in each iteration, for as many microseconds as `work` says. Then they meet
/// in a collective, if `meets`.
fn program(
    num_ranks: u32,
    num_iterations: i64,
    meets: bool,
    work: impl Fn(u32, i64) -> Vec<(&'static str, i64)>,
) -> Run {
    profiled_program(num_ranks, num_iterations, [meets, false], work)
}

/// Does the same; if `is_profiled`, each rank has another thread with one call that lasts from its start to its end.
fn profiled_program(
    num_ranks: u32,
    num_iterations: i64,
    [meets, is_profiled]: [bool; 2],
    work: impl Fn(u32, i64) -> Vec<(&'static str, i64)>,
) -> Run {
    let mut names = NameTable::default();
    let ranks = 0..num_ranks;
    let mut batches: Vec<StepBatch> = ranks
        .map(|rank| StepBatch::empty(ProgramId(0), RankId(rank), StepId(0)))
        .collect();
    let mut add = |batch: &mut StepBatch, is_entry: bool, name: &str, time_us: i64| {
        let row = u32::try_from(batch.funcs.len()).expect("there are few events");
        let kind = if is_entry {
            FuncEventKind::Entry
        } else {
            FuncEventKind::Exit
        };
        let time = TimeNs(time_us * 1_000);
        batch
            .funcs
            .push(ThreadId(0), kind, names.intern(name), time, row);
    };
    let mut now_us = vec![0; batches.len()];
    let mut starts_us = vec![Vec::new(); batches.len()];
    for iteration in 0..num_iterations {
        let ranks = (0..).zip(&mut batches).zip(&mut now_us);
        for (((rank, batch), now_us), starts_us) in ranks.zip(&mut starts_us) {
            starts_us.push(*now_us);
            add(batch, true, "step", *now_us);
            *now_us += 2;
            for (name, duration_us) in work(rank, iteration) {
                add(batch, true, name, *now_us);
                // No two visits take the same time.
                *now_us += duration_us + (iteration * 7 + i64::from(rank) * 3) % 5;
                add(batch, false, name, *now_us);
                *now_us += 2;
            }
        }
        let last_us = now_us.iter().copied().max().unwrap_or(0);
        for (batch, now_us) in batches.iter_mut().zip(&mut now_us) {
            if meets {
                add(batch, true, "MPI_Allreduce", *now_us);
                *now_us = last_us + 10;
                add(batch, false, "MPI_Allreduce", *now_us);
            }
            add(batch, false, "step", *now_us + 1);
            *now_us += 3;
        }
    }
    for (batch, now_us) in batches.iter_mut().zip(&now_us).filter(|_| is_profiled) {
        let mut add = |kind, time_us: i64| {
            let row = u32::try_from(batch.funcs.len()).expect("there are few events");
            let (func, time) = (names.intern("profiler"), TimeNs(time_us * 1_000));
            batch.funcs.push(ThreadId(1), kind, func, time, row);
        };
        add(FuncEventKind::Entry, 0);
        add(FuncEventKind::Exit, now_us + 100);
    }
    let finish = |batch: StepBatch| {
        let mut builder = RankBuilder::new(ProgramId(0), batch.rank);
        builder.push(batch);
        builder.finish(names.clone(), NameTable::default())
    };
    let ranks: Vec<_> = batches.into_iter().map(finish).collect();
    let trace = Trace::assemble(ranks, Warnings::default());
    let causes = Causes::find(&trace, Progress::none()).expect("it is not cancelled");
    Run {
        trace,
        causes,
        starts_us,
    }
}

impl Run {
    /// Returns rank and own delay, in milliseconds, of each incident that is not by design, in order of time.
    fn delays(&self) -> Vec<(u32, i64)> {
        let incidents = self.causes.incidents().all().iter();
        let named = incidents.filter(|it| it.kind.names_a_fault());
        let mut delays: Vec<_> = named
            .map(|it| {
                (
                    it.start,
                    it.root.rank.0,
                    (it.root.own_delay.as_us() + 500) / 1_000,
                )
            })
            .collect();
        delays.sort_unstable();
        delays.into_iter().map(|it| (it.1, it.2)).collect()
    }

    /// Returns how much shorter the run would be without each incident that is not by design, in order of time, and
    /// without all; milliseconds.
    fn lost_ms(&self) -> (Vec<i64>, i64) {
        let in_ms = |it: DurationNs| (it.as_us() + 500) / 1_000;
        let known = |it: Option<DurationNs>| in_ms(it.expect("the run is short"));
        let incidents = self.causes.incidents().all().iter();
        let mut named: Vec<_> = incidents.filter(|it| it.kind.names_a_fault()).collect();
        named.sort_by_key(|it| it.start);
        let each = named.into_iter().map(|it| known(it.lost_run_time));
        (each.collect(), known(self.causes.lost_run_time()))
    }

    /// Returns by how many microseconds named delays lengthened an iteration of a rank.
    fn named_us(&self, rank: usize, iteration: usize) -> i64 {
        let time = |at: usize| TimeNs(self.starts_us[rank][at] * 1_000);
        let lane = LaneIdx::from_index(rank);
        assert!(lane.index() < self.trace.lanes.len());
        let causes = &self.causes;
        let time = time(iteration)..time(iteration + 1);
        let named = causes.delay_by(lane, time, |root| causes.is_named(root));
        named.as_us()
    }
}

#[test]
fn a_wait_is_not_charged_for_what_another_rank_would_have_waited_anyway() {
    // Rank 1 always has 3 ms of work, the others 1 ms. Rank 0 is late by 4 ms once: the run loses 2 ms.
    let run = program(4, 80, true, |rank, iteration| {
        let late_us = if (rank, iteration) == (0, 40) {
            4_000
        } else {
            0
        };
        vec![("work", if rank == 1 { 3_000 } else { 1_000 } + late_us)]
    });
    assert_eq!(run.delays(), [(0, 4)]);
    let waited_us = [1, 2, 3].map(|rank| run.named_us(rank, 40));
    assert!(
        waited_us.iter().all(|it| (1_950..=2_050).contains(it)),
        "{waited_us:?}"
    );
    let later =
        (41..79).flat_map(|iteration| [0, 1, 2, 3].map(|rank| run.named_us(rank, iteration)));
    assert_eq!(later.sum::<i64>(), 0, "all ranks are late alike");
}

#[test]
fn a_run_is_shorter_without_a_delay_only_if_nothing_else_would_take_as_long() {
    // Rank 3 has 2 ms less to do than the others. It is late by 5 ms once, as are ranks 1 and 2 together.
    let run = |meets| {
        program(4, 80, meets, |rank, iteration| {
            let late_us = match (rank, iteration) {
                (3, 20) => 5_000,
                (1, 60) => 6_000,
                (2, 60) => 4_000,
                _ => 0,
            };
            vec![("work", if rank == 3 { 1_000 } else { 3_000 } + late_us)]
        })
    };
    let together = run(true);
    let late = [(3, 5), (1, 6), (2, 4)];
    assert_eq!(together.delays(), late);
    // Without the delay of rank 1, rank 2 would have made all wait for 4 ms.
    assert_eq!(together.lost_ms(), (vec![3, 2, 0], 9));
    // Where no rank waits for another, the run is as long as its last rank.
    let apart = run(false);
    assert_eq!(apart.delays(), late);
    assert_eq!(apart.lost_ms(), (vec![0, 2, 0], 6));
}

#[test]
fn a_thread_that_only_lasts_as_long_as_the_run_does_not_hide_what_was_lost() {
    let run = profiled_program(4, 80, [true, true], |rank, iteration| {
        let late_us = if (rank, iteration) == (2, 40) {
            7_000
        } else {
            0
        };
        vec![("work", 2_000 + late_us)]
    });
    assert_eq!(run.delays(), [(2, 7)]);
    assert_eq!(run.lost_ms(), (vec![7], 7));
}

#[test]
fn stalls_of_separate_iterations_are_separate_whatever_else_they_call() {
    // Without communication. An iteration that stalls makes fewer calls.
    let is_late = |rank, iteration| rank == 3 && iteration % 12 == 5;
    let run = program(8, 240, false, |rank, iteration| {
        if is_late(rank, iteration) {
            return vec![("item", 200), ("item", 8_200)];
        }
        let num_calls = if (iteration + i64::from(rank)) % 3 == 0 {
            5
        } else {
            7
        };
        vec![("item", 200); num_calls]
    });
    assert_eq!(run.delays(), [(3, 8); 20]);
    let late = (0..239).filter(|&iteration| run.named_us(3, iteration) > 200);
    assert_eq!(late.map(|it| it % 12).collect::<Vec<_>>(), [5; 20]);
}

#[test]
fn one_rank_alone_has_no_delays_that_all_ranks_have() {
    let run = program(1, 300, false, |_, iteration| {
        let is_late = iteration % 25 == 7;
        vec![("work", 1_000 + if is_late { 8_000 } else { 0 })]
    });
    assert_eq!(run.delays(), [(0, 8); 12]);
}

#[test]
fn work_that_varies_by_much_on_all_ranks_is_by_design() {
    // Every fourth level of a search is large, by a share that differs from rank to rank.
    let run = program(8, 320, true, |rank, iteration| {
        let share = (iteration * 13 + i64::from(rank) * 29) % 17 + 1;
        let size_us = if iteration % 4 == 2 { 60 * share } else { 40 };
        let stall_us = if (rank, iteration) == (5, 201) {
            6_000
        } else {
            0
        };
        vec![("unpack", size_us), ("scan", 300 + stall_us)]
    });
    assert_eq!(run.delays(), [(5, 6)]);
}
