//! Collectives that not all ranks of a group entered, and runs that only look alike: generated step by step, with
//! times in microseconds.

use callgrove_causes::{CauseKind, Causes, Incident, MissingState};
use callgrove_model::{
    CollectiveEvent, FuncEventKind, NameTable, ProgramId, Progress, RankBuilder, RankId, RankTrace,
    StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_segments::open_calls;

/// Length of one step of the program.
const STEP_US: i64 = 1_000;
/// Length of a hang.
const HANG_US: i64 = 1_000_000;
const GROUP: u64 = 7;
const OTHER_GROUP: u64 = 8;

/// How a format states the group of a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stated {
    /// Not at all, as in TAU's.
    Never,
    /// When the call begins, as in Kineto's.
    AtEntry,
    /// When the call ends, as in OTF2.
    AtExit,
}

/// One rank that is being generated.
struct Rank {
    number: RankId,
    names: NameTable,
    batch: StepBatch,
    stated: Stated,
    group: u64,
    num_collectives: u64,
    now_us: i64,
}

impl Rank {
    fn new(number: u32, group: u64, stated: Stated) -> Self {
        let rank = RankId(number);
        let mut new = Self {
            number: rank,
            names: NameTable::default(),
            batch: StepBatch::empty(ProgramId(0), rank, StepId(0)),
            stated,
            group,
            num_collectives: 0,
            now_us: 0,
        };
        new.enter("main");
        new
    }

    fn func(&mut self, kind: FuncEventKind, name: &str) {
        let row = self.batch.funcs.len() as u32;
        let func = self.names.intern(name);
        let time = TimeNs(self.now_us * 1_000);
        self.batch.funcs.push(ThreadId(0), kind, func, time, row);
    }

    fn enter(&mut self, name: &str) {
        self.func(FuncEventKind::Entry, name);
    }

    fn leave(&mut self, name: &str) {
        self.func(FuncEventKind::Exit, name);
    }

    fn state(&mut self, at: Stated) {
        if self.stated == at {
            self.batch.collectives.push(CollectiveEvent {
                thread: ThreadId(0),
                time: TimeNs(self.now_us * 1_000),
                communicator: self.group,
                sequence: self.num_collectives,
            });
        }
    }

    /// Works until a time, then enters the next collective.
    fn work_and_enter(&mut self, until_us: i64) {
        self.enter("work");
        self.now_us = until_us;
        self.leave("work");
        self.now_us += 1;
        self.enter("MPI_Allreduce");
        self.state(Stated::AtEntry);
    }

    /// Leaves the open collective.
    fn leave_at(&mut self, time_us: i64) {
        self.now_us = time_us - 1;
        self.state(Stated::AtExit);
        self.now_us = time_us;
        self.leave("MPI_Allreduce");
        self.num_collectives += 1;
    }

    /// Makes steps, with up to a tenth of a step of difference between ranks.
    fn steps(&mut self, num_steps: i64) {
        for _ in 0..num_steps {
            let step = self.now_us / STEP_US;
            let late_us = (step * 7 + i64::from(self.number.0) * 31) % (STEP_US / 10);
            self.work_and_enter(step * STEP_US + STEP_US / 2 + late_us);
            self.leave_at((step + 1) * STEP_US);
        }
    }

    fn finish(self) -> RankTrace {
        let mut builder = RankBuilder::new(ProgramId(0), self.number);
        builder.push(self.batch);
        builder.finish(self.names, NameTable::default())
    }
}

/// How the job ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// It is killed: calls stay open, and the rank that hangs records an event at the end.
    Killed,
    /// The collectives end at a time-out.
    TimedOut,
    /// The same, and the rank that hangs has no record of the call that it is in.
    TimedOutUnrecorded,
}

/// Returns a job of four ranks in which one works for ever before the 41st collective.
fn hang(missing: u32, stated: Stated, end: End) -> Trace {
    let rank = |number| {
        let mut rank = Rank::new(number, GROUP, stated);
        rank.steps(40);
        let step_us = rank.now_us;
        if number != missing {
            rank.work_and_enter(step_us + STEP_US / 2);
            if end != End::Killed {
                rank.leave_at(step_us + HANG_US);
                rank.leave("main");
            }
            return rank.finish();
        }
        if end == End::TimedOutUnrecorded {
            rank.leave("main");
            return rank.finish();
        }
        rank.enter("load");
        if end == End::Killed {
            rank.now_us = step_us + HANG_US;
            rank.enter("poll");
            rank.now_us += 1;
            rank.leave("poll");
        } else {
            rank.now_us = step_us + HANG_US;
            rank.leave("load");
            rank.leave("main");
        }
        rank.finish()
    };
    Trace::assemble((0..4).map(rank).collect(), Warnings::default())
}

fn incidents(trace: &Trace) -> Vec<Incident> {
    let causes = Causes::find(trace, Progress::none()).expect("no cancellation");
    causes.incidents().all().to_vec()
}

/// Checks that one incident says which rank is missing, in which collective of which ranks, and how long the others
/// waited. Returns its confidence.
fn check(what: &str, trace: &Trace, missing: u32, group: &[u32], function: &str) -> u8 {
    let all = incidents(trace);
    let kinds: Vec<CauseKind> = all.iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [CauseKind::NotEntered], "{what}: {all:?}");
    let it = &all[0];
    let unentered = it.unentered.as_ref().expect("the collective");
    assert_eq!(unentered.missing, [RankId(missing)]);
    assert_eq!(unentered.number, 41);
    let ranks: Vec<u32> = unentered.group.iter().map(|it| it.0).collect();
    assert_eq!(ranks, group);
    assert_eq!(trace.names.name(unentered.func), "MPI_Allreduce");
    assert_eq!(it.root.rank, RankId(missing));
    assert_eq!(trace.names.name(it.root.func), function);
    let num_waiting = i64::try_from(group.len() - 1).expect("a small number");
    let expected_ns = num_waiting * HANG_US * 1_000;
    let off = (it.root.caused.0 - expected_ns).abs();
    assert!(off * 100 < expected_ns, "waited {}", it.root.caused);
    it.root.confidence_percent
}

#[test]
fn the_rank_that_never_enters_is_named_whichever_it_is() {
    for missing in 0..4 {
        for stated in [Stated::AtEntry, Stated::AtExit] {
            for end in [End::Killed, End::TimedOut] {
                let trace = hang(missing, stated, end);
                assert_eq!(
                    check(
                        &format!("{missing} {stated:?} {end:?}"),
                        &trace,
                        missing,
                        &[0, 1, 2, 3],
                        "load"
                    ),
                    95
                );
            }
        }
    }
}

#[test]
fn a_group_that_follows_from_numbers_of_calls_is_less_sure() {
    for missing in 0..4 {
        for end in [End::Killed, End::TimedOut] {
            let trace = hang(missing, Stated::Never, end);
            assert_eq!(
                check(
                    &format!("{missing} {end:?}"),
                    &trace,
                    missing,
                    &[0, 1, 2, 3],
                    "load"
                ),
                75
            );
        }
    }
}

#[test]
fn a_rank_whose_last_call_is_not_recorded_is_named() {
    let trace = hang(2, Stated::AtEntry, End::TimedOutUnrecorded);
    let all = incidents(&trace);
    let unentered = all[0].unentered.as_ref().expect("the collective");
    assert_eq!(all.len(), 1);
    assert_eq!(unentered.missing, [RankId(2)]);
    assert_eq!(unentered.state, MissingState::Silent);
    assert_eq!(all[0].root.confidence_percent, 80);
}

#[test]
fn a_hang_of_one_group_is_not_one_of_another() {
    let rank = |number: u32| {
        let group = if number < 2 { GROUP } else { OTHER_GROUP };
        let mut rank = Rank::new(number, group, Stated::AtEntry);
        match number {
            0 | 1 => rank.steps(1_000),
            2 => rank.steps(40),
            _ => {
                rank.steps(40);
                rank.work_and_enter(40 * STEP_US);
            }
        }
        if number == 2 {
            rank.enter("load");
            rank.now_us += HANG_US;
            rank.leave("load");
        }
        rank.finish()
    };
    let trace = Trace::assemble((0..4).map(rank).collect(), Warnings::default());
    assert_eq!(check("", &trace, 2, &[2, 3], "load"), 95);
}

#[test]
fn a_rank_that_waits_in_another_group_is_not_blamed() {
    // Rank 0 waits for rank 1 in one group, and rank 1 waits for rank 2 in another one.
    let rank = |number: u32| {
        let mut rank = Rank::new(number, GROUP, Stated::AtEntry);
        if number < 2 {
            rank.steps(40);
        }
        rank.group = OTHER_GROUP;
        rank.num_collectives = 0;
        rank.now_us = rank.now_us.max(40 * STEP_US);
        if number > 0 {
            rank.steps(40);
        }
        match number {
            0 => {
                rank.group = GROUP;
                rank.num_collectives = 40;
                rank.work_and_enter(80 * STEP_US);
            }
            1 => rank.work_and_enter(80 * STEP_US),
            _ => {
                rank.enter("load");
                rank.now_us += HANG_US;
                rank.leave("load");
            }
        }
        rank.finish()
    };
    let trace = Trace::assemble((0..3).map(rank).collect(), Warnings::default());
    let mut all = incidents(&trace);
    // Rank 0 works while the others make the steps of their group.
    all.retain(|it| it.end.0 > 80 * STEP_US * 1_000);
    assert_eq!(all.len(), 1, "one disturbance: {all:?}");
    let unentered = all[0].unentered.as_ref().expect("the collective");
    assert_eq!(unentered.missing, [RankId(2)]);
    assert_eq!((unentered.group.len(), unentered.num_waiting), (2, 2));
}

#[test]
fn ranks_at_different_positions_at_the_end_are_not_blamed() {
    for stated in [Stated::Never, Stated::AtEntry, Stated::AtExit] {
        for cut in [1, 3, 17] {
            let rank = |number: u32| {
                let mut rank = Rank::new(number, GROUP, stated);
                // The last steps of rank 2 are not recorded.
                rank.steps(if number == 2 { 40 } else { 40 + cut });
                if number < 2 {
                    let now_us = rank.now_us;
                    rank.work_and_enter(now_us + 500 + i64::from(number));
                }
                rank.finish()
            };
            let trace = Trace::assemble((0..4).map(rank).collect(), Warnings::default());
            let is_hang = |it: &Incident| it.kind == CauseKind::NotEntered;
            assert!(!incidents(&trace).iter().any(is_hang));
        }
    }
}

#[test]
fn a_job_that_is_killed_while_ranks_wait_as_usual_is_no_hang() {
    for stated in [Stated::Never, Stated::AtEntry, Stated::AtExit] {
        for missing in 0..4 {
            let rank = |number| {
                let mut rank = Rank::new(number, GROUP, stated);
                rank.steps(40);
                let now_us = rank.now_us;
                if number == missing {
                    rank.enter("work");
                } else {
                    rank.work_and_enter(now_us + 500);
                }
                rank.finish()
            };
            let trace = Trace::assemble((0..4).map(rank).collect(), Warnings::default());
            let is_fault = |it: &Incident| !it.kind.is_by_design();
            assert!(
                !incidents(&trace).iter().any(is_fault),
                "{stated:?} {missing}"
            );
            let open = open_calls(&trace);
            let names = open
                .iter()
                .map(|it| (trace.names.name(it.func), it.number, it.ranks.len()));
            let expected = [("MPI_Allreduce", Some(41), 3), ("work", None, 1)];
            assert_eq!(names.collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn a_late_rank_that_enters_is_no_hang() {
    let rank = |number| {
        let mut rank = Rank::new(number, GROUP, Stated::AtEntry);
        rank.steps(40);
        let now_us = rank.now_us;
        rank.work_and_enter(now_us + if number == 2 { HANG_US } else { 500 });
        rank.leave_at(now_us + HANG_US + 10);
        rank.leave("main");
        rank.finish()
    };
    let trace = Trace::assemble((0..4).map(rank).collect(), Warnings::default());
    let kinds: Vec<CauseKind> = incidents(&trace).iter().map(|it| it.kind).collect();
    assert_eq!(kinds, [CauseKind::Stalled]);
}
