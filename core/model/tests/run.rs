//! Views of one run are recognised as the same run, and different runs as different.

use callgrove_model::{
    DurationNs, FuncEventKind, Metadata, NameTable, ProgramId, RankBuilder, RankId, RunIdentity,
    RunMatch, StepBatch, StepId, ThreadId, TimeNs,
};

const START: TimeNs = TimeNs(1_793_787_072_034_000_000);
const SECOND: DurationNs = DurationNs(1_000_000_000);
const HOUR: DurationNs = DurationNs(3_600 * SECOND.0);
const COMMAND: &str = "/opt/lmp_tau -in in.plain";

/// A run whose processes have consecutive pids from `first_pid` on and start 10 ms apart.
#[derive(Clone, Copy)]
struct Job {
    program: u32,
    command: &'static str,
    first_pid: u32,
    start: TimeNs,
}

const JOB: Job = Job {
    program: 0,
    command: COMMAND,
    first_pid: 4900,
    start: START,
};

impl Job {
    fn rank(self, rank: u32) -> RunIdentity {
        let start = self.start + DurationNs(i64::from(rank) * 10_000_000);
        let host = if rank < 2 { "node1" } else { "node2" };
        RunIdentity::of_step(
            &self.step(
                rank,
                &[
                    ("Hostname", host),
                    ("pid", &(self.first_pid + rank).to_string()),
                    ("Starting Timestamp", &start.as_us().to_string()),
                    ("Command Line", self.command),
                    (
                        "Executable",
                        self.command.split(' ').next().unwrap_or_default(),
                    ),
                ],
                &[],
                0,
            ),
            &names(),
            true,
        )
    }

    fn ranks(self, ranks: impl IntoIterator<Item = u32>) -> RunIdentity {
        let mut all = RunIdentity::default();
        for rank in ranks {
            all.join(&self.rank(rank)).expect("ranks of one run");
        }
        all
    }

    /// Returns a rank without metadata, with events only.
    fn silent(self, rank: u32, step: u32, times: &[i64]) -> RunIdentity {
        let step = self.step(rank, &[], times, step);
        RunIdentity::of_step(&step, &names(), step.step == StepId(0))
    }

    fn step(self, rank: u32, metadata: &[(&str, &str)], times: &[i64], step: u32) -> StepBatch {
        let mut batch = StepBatch::empty(ProgramId(self.program), RankId(rank), StepId(step));
        batch.metadata = metadata
            .iter()
            .map(|(key, value)| Metadata {
                program: ProgramId(0),
                rank: RankId(rank),
                thread: ThreadId(0),
                key: (*key).to_owned(),
                value: (*value).to_owned(),
            })
            .collect();
        for (row, time) in times.iter().enumerate() {
            let func = names().get(["main", "work"][row % 2]).expect("a name");
            let time = self.start + DurationNs(*time);
            let (thread, row) = (ThreadId(0), row as u32);
            batch
                .funcs
                .push(thread, FuncEventKind::Entry, func, time, row);
        }
        batch
    }
}

fn names() -> NameTable {
    let mut names = NameTable::default();
    names.intern("work");
    names.intern("main");
    names
}

fn is_refused(known: &RunIdentity, other: &RunIdentity) -> String {
    let mut joined = known.clone();
    let mismatch = joined.join(other).expect_err("two runs");
    assert_eq!(&joined, known, "nothing is added");
    mismatch.to_string()
}

#[test]
fn any_ranks_of_a_run_are_the_same_run() {
    let whole = JOB.ranks(0..4);
    for view in [JOB.rank(0), JOB.rank(3), JOB.ranks([1, 2]), whole.clone()] {
        assert!(whole.is_same_run(&view) && view.is_same_run(&whole));
    }
    assert!(JOB.rank(0).is_same_run(&JOB.rank(3)), "no rank in common");
    assert!(!whole.is_weak());
}

#[test]
fn the_same_command_started_again_is_another_run() {
    let again = Job {
        first_pid: 5200,
        start: START + SECOND,
        ..JOB
    };
    assert!(!JOB.ranks(0..4).is_same_run(&again.ranks(0..4)));
    assert!(!JOB.ranks(0..4).is_same_run(&again.rank(2)));
    let reason = is_refused(&JOB.ranks(0..4), &again.rank(2));
    assert!(
        reason.ends_with(
            "rank 2 is process 4902 on node2 started 2026-11-04 10:11:12.054 UTC, \
             and process 5202 on node2 started 2026-11-04 10:11:13.054 UTC"
        ),
        "{reason}"
    );
    let later = Job {
        start: START + HOUR,
        ..again
    };
    assert!(
        !JOB.rank(0).is_same_run(&later.rank(1)),
        "no rank in common, but hours apart"
    );
}

#[test]
fn another_program_or_command_line_is_another_run() {
    for command in ["/opt/lmp_tau -in in.other", "/opt/lulesh -in in.plain"] {
        let other = Job { command, ..JOB };
        assert!(!JOB.rank(0).is_same_run(&other.rank(1)));
        assert!(is_refused(&JOB.rank(0), &other.rank(1)).contains(command));
    }
}

#[test]
fn ranks_without_metadata_are_identified_by_their_first_events() {
    let rank = JOB.silent(0, 0, &[5, 9, 12]);
    assert!(rank.is_weak());
    assert!(rank.is_same_run(&JOB.silent(0, 0, &[5, 9, 12])));
    assert!(!rank.is_same_run(&JOB.silent(0, 0, &[5, 9, 13])));
    assert_eq!(
        rank.compare(&JOB.silent(1, 0, &[5, 9, 12])),
        RunMatch::Unknown,
        "another rank"
    );
    assert_eq!(
        rank.to_string(),
        "program, first event 2026-11-04 10:11:12 UTC (without metadata)"
    );
}

#[test]
fn times_of_a_clock_that_counts_from_a_start_are_no_dates() {
    let job = Job {
        start: TimeNs(2_000_000_000),
        ..JOB
    };
    assert_eq!(
        job.silent(0, 0, &[0, 9]).to_string(),
        "program, first event at 2 s of a clock without a date"
    );
}

#[test]
fn a_trace_and_its_first_step_match_even_without_metadata() {
    let step = JOB.step(0, &[], &[5, 9, 7, 12], 0);
    let mut builder = RankBuilder::new(step.program, step.rank);
    builder.push(step.clone());
    builder.push(JOB.step(0, &[], &[30, 31], 1));
    let trace = builder.finish(names(), NameTable::default());
    let of_trace = RunIdentity::of_rank(&trace);
    assert!(of_trace.is_same_run(&RunIdentity::of_step(&step, &names(), true)));
}

#[test]
fn a_stream_joined_late_may_belong_to_a_run_that_was_in_progress() {
    let run = JOB.ranks(0..4);
    let late = JOB.silent(0, 7, &[HOUR.0]);
    assert_eq!(run.compare(&late), RunMatch::Unknown);
    assert!(run.clone().join(&late).is_ok());
    let earlier = JOB.silent(0, 7, &[-HOUR.0]);
    assert!(is_refused(&run, &earlier).contains("different times"));
}

#[test]
fn programs_of_a_workflow_are_one_run() {
    let simulation = JOB.ranks(0..4);
    let analysis = Job {
        program: 1,
        command: "/opt/analyse",
        first_pid: 6000,
        start: START + HOUR,
    };
    let mut both = simulation.clone();
    both.join(&analysis.ranks(0..2))
        .expect("another program of the run");
    assert!(both.is_same_run(&simulation));
    assert_eq!(
        both.to_string(),
        "lmp_tau and 1 other program on 2 hosts, started 2026-11-04 10:11:12 UTC"
    );
    // A trace that is read alone does not know that it is program 1.
    let alone = Job {
        program: 0,
        ..analysis
    };
    assert!(both.is_same_run(&alone.rank(1)));

    let twice = Job { program: 1, ..JOB };
    assert!(is_refused(&simulation, &twice.rank(0)).contains("program 1"));
    let next_week = Job {
        start: START + DurationNs(7 * 24 * HOUR.0),
        ..analysis
    };
    assert!(is_refused(&simulation, &next_week.rank(0)).contains("48 h"));
}

#[test]
fn the_order_in_which_views_are_joined_does_not_matter() {
    let forward = JOB.ranks([0, 1, 2, 3]);
    assert_eq!(forward, JOB.ranks([3, 1, 0, 2, 1]));
    let text = serde_json::to_string(&forward).expect("JSON");
    let back: RunIdentity = serde_json::from_str(&text).expect("an identity");
    assert_eq!(back, forward);
}

#[test]
fn ids_are_file_names_and_equal_for_all_views_with_the_first_rank() {
    let id = JOB.rank(0).id();
    assert_eq!(id, JOB.ranks(0..4).id());
    assert!(id.starts_with("lmp_tau-20261104T101112-"), "{id}");
    let again = Job {
        first_pid: 5200,
        ..JOB
    };
    assert_ne!(id, again.rank(0).id());
    let odd = Job {
        command: "/opt/a:b*c ",
        ..JOB
    };
    assert!(odd.rank(0).id().starts_with("a-b-c-2026"));
    assert_eq!(RunIdentity::default().id(), "unknown");
    assert_eq!(
        JOB.ranks(0..4).to_string(),
        "lmp_tau on 2 hosts, started 2026-11-04 10:11:12 UTC"
    );
}

#[test]
fn an_empty_identity_matches_no_run() {
    let nothing = RunIdentity::default();
    assert_eq!(nothing.compare(&nothing), RunMatch::Unknown);
    assert_eq!(JOB.rank(0).compare(&nothing), RunMatch::Unknown);
    assert!(!nothing.is_same_run(&nothing));
}
