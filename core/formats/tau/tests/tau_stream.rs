//! Streams generated here, in the format of TAU, with contents that the stored traces lack.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::mem;
use std::path::{Path, PathBuf};

use callgrove_adios2_sys::{Library, LibraryOnDemand, default_candidates};
use callgrove_model::{ExecIdx, Lane, RankId, Trace, WarningKind};
use callgrove_source::Part as _;
use callgrove_tau::{TauFormat, TauStep, TauWriter, WriterEngine};
use support::{read, warnings};
use tempfile::TempDir;

const T0: u64 = 1_795_231_715_233_145;
const ENTRY: u64 = 0;
const EXIT: u64 = 1;

/// A step of rank 7 under construction.
#[derive(Default)]
struct Step(TauStep);

impl Step {
    fn new(num_timers: i32, num_threads: i32) -> Self {
        Self(TauStep {
            num_ranks: 8,
            num_timers,
            num_threads,
            num_counters: 1,
            ..TauStep::default()
        })
    }

    fn timer(self, index: u32, name: &str) -> Self {
        self.attribute(&format!("timer {index}"), name)
    }

    fn attribute(mut self, name: &str, text: &str) -> Self {
        self.0.attributes.push((name.to_owned(), text.to_owned()));
        self
    }

    fn func(mut self, thread: u64, event_type: u64, timer: u64, time_us: u64) -> Self {
        let row = [0, 7, thread, event_type, timer, T0 + time_us];
        self.0.funcs.push(row);
        self
    }
}

/// Writes a stream with one engine. Its name does not state the rank.
fn write(engine: WriterEngine, steps: &[Step]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stream.bp");
    let library = Library::load(&default_candidates()).unwrap();
    let mut writer = TauWriter::open(&path, engine, &library).unwrap();
    for step in steps {
        writer.write(&step.0).unwrap();
    }
    writer.close().unwrap();
    (folder, path)
}

/// Writes the steps with each engine, and returns the trace, which must be the same for all.
fn round_trip(steps: &[Step]) -> Trace {
    let read = |engine| read_back(&write(engine, steps).1);
    let (bp4, bp5) = (read(WriterEngine::Bp4), read(WriterEngine::Bp5));
    assert_eq!(format!("{:?}", bp4.lanes), format!("{:?}", bp5.lanes));
    assert_eq!(bp4.metadata, bp5.metadata);
    assert_eq!(bp4.warnings, bp5.warnings);
    bp5
}

fn read_back(path: &Path) -> Trace {
    read(path).unwrap()
}

/// Returns the executions of a lane: name, step:row of the entry, entry and exit time.
fn calls(trace: &Trace, lane: &Lane) -> Vec<String> {
    let execs = &lane.executions;
    let line = |row: usize| {
        let name = trace.names.name(execs.func[row]);
        let (entry, exit) = (
            execs.entry[row].as_us(),
            execs.exit(ExecIdx::from_index(row)).as_us(),
        );
        let (entry, exit) = (entry - T0 as i64, exit - T0 as i64);
        format!(
            "{}{name} {}:{} {entry}..{exit}",
            " ".repeat(execs.depth[row].into()),
            execs.step[row],
            execs.row[row]
        )
    };
    (0..execs.len()).map(line).collect()
}

#[test]
fn names_grow_and_calls_last_over_steps() {
    let trace = round_trip(&[
        Step::new(2, 1)
            .timer(0, "main")
            .timer(1, "solve")
            .func(0, ENTRY, 0, 0)
            .func(0, ENTRY, 1, 2),
        Step::new(3, 1)
            .timer(2, "MPI_Send()")
            .func(0, ENTRY, 2, 5)
            .func(0, EXIT, 2, 6),
        Step::new(3, 1),
        Step::new(3, 1).func(0, EXIT, 1, 9).func(0, EXIT, 0, 9),
    ]);
    assert_eq!(
        calls(&trace, &trace.lanes[0]),
        ["main 0:0 0..9", " solve 0:1 2..9", "  MPI_Send() 1:0 5..6"]
    );
    assert_eq!(trace.num_steps, 4);
    assert_eq!(warnings(&trace), ["MissingRank - x7"]);
}

#[test]
fn empty_steps_anywhere_lose_nothing() {
    let mut steps = vec![Step::new(0, 1), Step::new(1, 1).timer(0, "main")];
    for time in 0..100 {
        steps[1] = mem::take(&mut steps[1]).func(0, ENTRY, 0, 2 * time);
        steps[1] = mem::take(&mut steps[1]).func(0, EXIT, 0, 2 * time + 1);
    }
    steps.extend([Step::new(1, 1), Step::new(1, 1).func(0, ENTRY, 0, 300)]);
    steps.extend([Step::new(1, 1), Step::new(1, 1)]);
    let trace = round_trip(&steps);
    assert_eq!((trace.num_steps, trace.num_executions()), (6, 101));
    assert_eq!(warnings(&trace), ["MissingRank - x7", "Unclosed 7 x1"]);
}

#[test]
fn the_stream_states_its_rank_and_metadata() {
    let trace = round_trip(&[
        Step::new(1, 1)
            .timer(0, "main")
            .attribute("MetaData:7:0:timer 3", "a")
            .attribute("MetaData:7:0:Hostname", "vm")
            .func(0, ENTRY, 0, 0),
        Step::new(1, 2)
            .attribute("MetaData:7:1:tid", "42")
            .func(0, EXIT, 0, 1),
    ]);
    assert_eq!(trace.lanes[0].rank.0, 7);
    let metadata: Vec<_> = trace
        .metadata
        .iter()
        .map(|m| format!("{} {} {}={}", m.rank, m.thread, m.key, m.value))
        .collect();
    assert_eq!(metadata, ["7 0 Hostname=vm", "7 0 timer 3=a", "7 1 tid=42"]);
    assert_eq!(trace.names.len(), 1, "a metadata key is not a timer");
}

#[test]
fn threads_are_lanes_and_equal_times_keep_the_stored_order() {
    let trace = round_trip(&[Step::new(3, 2)
        .timer(0, "main")
        .timer(1, "a")
        .timer(2, "b")
        .func(0, ENTRY, 0, 4)
        .func(0, ENTRY, 2, 4)
        .func(0, EXIT, 2, 4)
        .func(0, ENTRY, 1, 4)
        .func(0, EXIT, 1, 4)
        .func(0, EXIT, 0, 8)
        .func(1, ENTRY, 0, 1)
        .func(1, EXIT, 0, 3)]);
    assert_eq!(
        calls(&trace, &trace.lanes[0]),
        ["main 0:0 4..8", " b 0:1 4..4", " a 0:3 4..4"]
    );
    assert_eq!(calls(&trace, &trace.lanes[1]), ["main 0:6 1..3"]);
    assert_eq!(trace.lanes[1].thread.0, 1);
}

#[test]
fn messages_and_counters_belong_to_the_innermost_call() {
    let mut step = Step::new(2, 1)
        .timer(0, "main")
        .timer(1, "MPI_Send()")
        .attribute("counter 0", "Message size sent to all nodes")
        .func(0, ENTRY, 0, 0)
        .func(0, ENTRY, 1, 5)
        .func(0, EXIT, 1, 6)
        .func(0, EXIT, 0, 9);
    step.0.comms = vec![
        [0, 7, 0, 2, 11, 3, 64, T0 + 5],
        [0, 7, 0, 3, 12, 4, 16, T0 + 8],
    ];
    step.0.counters = vec![[0, 7, 0, 0, 64, T0 + 6]];
    let trace = round_trip(&[step]);
    let lane = &trace.lanes[0];
    let owner = |exec: &Option<_>| exec.map(|exec| ExecIdx::from(exec).0);
    assert_eq!(
        lane.comms.exec.iter().map(owner).collect::<Vec<_>>(),
        [Some(1), Some(0)]
    );
    assert_eq!(
        lane.comms
            .partner
            .iter()
            .map(|rank| rank.0)
            .collect::<Vec<_>>(),
        [3, 4]
    );
    assert_eq!((lane.comms.tag[1], lane.comms.size_bytes[1]), (12, 16));
    assert_eq!(
        lane.counters.exec.iter().map(owner).collect::<Vec<_>>(),
        [Some(1)]
    );
    assert_eq!(
        trace.counter_names.name(lane.counters.counter[0]),
        "Message size sent to all nodes"
    );
}

#[test]
fn impossible_rows_are_skipped_and_unnamed_timers_get_a_name() {
    let mut step = Step::new(2, 1)
        .timer(0, "main")
        .attribute("counter 0", "TIME")
        .func(0, ENTRY, 0, 0)
        .func(0, ENTRY, 1, 1)
        .func(0, 9, 0, 1)
        .func(0, ENTRY, 400, 1)
        .func(5, ENTRY, 0, 1)
        .func(0, EXIT, 1, 2)
        .func(0, EXIT, 0, 3);
    step.0.comms = vec![[0, 7, 0, 2, 11, 8, 64, T0 + 2]];
    step.0.counters = vec![[0, 6, 0, 0, 64, T0 + 2]];
    let trace = round_trip(&[step]);
    assert_eq!(
        calls(&trace, &trace.lanes[0]),
        ["main 0:0 0..3", " timer 1 0:1 1..2"]
    );
    assert_eq!(
        warnings(&trace),
        ["MissingRank - x7", "BadRow 7 x5", "UnknownName 7 x1"]
    );
}

/// Returns rows of function events of `main`, one call for each rank and time.
fn calls_of(ranks: &[(u64, u64)]) -> Vec<[u64; 6]> {
    let rows = ranks.iter().flat_map(|&(rank, time)| {
        [(ENTRY, 0), (EXIT, 1)].map(|(kind, more)| [0, rank, 0, kind, 0, T0 + time + more])
    });
    rows.collect()
}

/// Returns the number of calls of each rank that was read.
fn calls_by_rank(trace: &Trace) -> Vec<(u32, usize)> {
    let lanes = trace.lanes.iter();
    lanes
        .map(|lane| (lane.rank.0, lane.executions.len()))
        .collect()
}

#[test]
fn all_ranks_of_one_stream_are_read() {
    let mut first = Step::new(1, 1).timer(0, "main");
    first.0.funcs = calls_of(&[(2, 0), (2, 5), (5, 0), (5, 6), (0, 1)]);
    first.0.comms = vec![[0, 5, 0, 2, 11, 2, 64, T0], [0, 2, 0, 3, 11, 5, 64, T0 + 1]];
    let mut second = Step::new(1, 1);
    second.0.funcs = calls_of(&[(0, 20), (5, 20)]);
    let trace = round_trip(&[first, second]);
    assert_eq!(calls_by_rank(&trace), [(0, 2), (2, 2), (5, 3)]);
    assert_eq!(trace.messages.len(), 1);
    assert_eq!(warnings(&trace), ["MissingRank - x5"]);
}

#[test]
fn the_rank_is_that_of_the_rows_or_else_of_the_name() {
    let format = TauFormat::new(LibraryOnDemand::new([]), None);
    let rank_of = |path: &Path| {
        let ranks = format.part(path).ranks().unwrap();
        ranks.first().map(|&(_, rank)| rank)
    };
    let empty = || Step::new(0, 1);
    let with_rows = || Step::new(1, 1).timer(0, "main").func(0, ENTRY, 0, 0);
    for (name, steps, expected) in [
        ("app-v2.bp", vec![empty(), with_rows()], Some(7)),
        ("app-7.bp", vec![with_rows()], Some(7)),
        ("app-v2.bp", vec![empty()], Some(2)),
        ("app.bp", vec![empty()], None),
    ] {
        let (folder, path) = write(WriterEngine::Bp4, &steps);
        let renamed = folder.path().join(name);
        std::fs::rename(path, &renamed).unwrap();
        assert_eq!(rank_of(&renamed), expected.map(RankId), "{name}");
        let trace = read_back(&renamed);
        let ranks: Vec<_> = trace.lanes.iter().map(|lane| lane.rank.0).collect();
        assert!(ranks.is_empty() || ranks == [7], "{name}: {ranks:?}");
        assert_eq!(trace.warnings.total(WarningKind::BadRow), 0, "{name}");
    }
}

#[test]
fn a_single_row_of_another_rank_is_damaged() {
    let mut step = Step::new(1, 1).timer(0, "main");
    step.0.funcs = calls_of(&[(7, 0), (7, 5)]);
    step.0.funcs.insert(2, [0, 3, 0, ENTRY, 0, T0 + 3]);
    let trace = round_trip(&[step]);
    assert_eq!(calls_by_rank(&trace), [(7, 2)]);
    assert_eq!(warnings(&trace), ["MissingRank - x7", "BadRow 7 x1"]);
}

#[test]
fn times_before_the_clock_was_set_do_not_extend_the_run() {
    let mut step = Step::new(1, 1).timer(0, "main");
    step.0.funcs = calls_of(&[(7, 0), (7, 5), (7, 9)]);
    step.0.funcs[0][5] = 140_059_208_043_584;
    step.0.funcs[5][5] = 0;
    let trace = round_trip(&[step]);
    let expected = ["main 0:0 1..1", "main 0:2 5..6", "main 0:4 9..9"];
    assert_eq!(calls(&trace, &trace.lanes[0]), expected);
    assert_eq!(
        warnings(&trace),
        ["MissingRank - x7", "ImpossibleTime 7 x2"]
    );
}
