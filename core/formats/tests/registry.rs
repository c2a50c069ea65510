//! Inputs are recognized by their contents, and a run is the same in every format.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use callgrove_formats::{load, local_registry};
use callgrove_model::{ExecIdx, Progress, Trace, WarningKind};
use callgrove_packed::write_trace_file;
use callgrove_source::{PATH_SEPARATOR, SourceError, rank_in_name};
use tempfile::TempDir;

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/lammps-4r-small")
}

/// A run with ranks 0, 2 and 10 in `bp/`, as TAU writes it, next to other files.
fn run() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("results")).unwrap();
    fs::write(folder.path().join("log.lammps"), "").unwrap();
    for rank in [10, 0, 2] {
        let stream = folder
            .path()
            .join(format!("bp/tau-metrics-lmp_tau-{rank}.bp"));
        fs::create_dir_all(&stream).unwrap();
        fs::write(stream.join("md.idx"), "").unwrap();
    }
    folder
}

fn find(input: &Path) -> Result<Vec<PathBuf>, SourceError> {
    local_registry(None).find(input)
}

fn ranks(input: &Path) -> Vec<u32> {
    let found = find(input).unwrap();
    found.iter().map(|it| rank_in_name(it).unwrap()).collect()
}

#[test]
fn a_run_a_folder_of_streams_a_pattern_and_one_stream_are_found() {
    let run = run();
    let bp = run.path().join("bp");
    assert_eq!(ranks(run.path()), [0, 2, 10]);
    assert_eq!(ranks(&bp), [0, 2, 10]);
    assert_eq!(ranks(&bp.join("*.bp")), [0, 2, 10]);
    assert_eq!(ranks(&bp.join("*-[12]*.bp")), [2, 10]);
    assert_eq!(ranks(&bp.join("tau-metrics-lmp_tau-2.bp")), [2]);
}

#[test]
fn files_of_json_traces_are_a_run_and_other_json_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let event = r#"{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":2}"#;
    write("rank0.json", &format!("[{event}]"));
    write(
        "rank1.json",
        &format!(r#"{{"schemaVersion":1,"traceEvents":[{event}]}}"#),
    );
    write("profiling.json", r#"[{"rank": 0, "threads": 1}]"#);
    write("notes.json", r#"{"format": "notes"}"#);
    let trace = load(folder.path(), Progress::none()).unwrap();
    let ranks: Vec<u32> = trace.lanes.iter().map(|lane| lane.rank.0).collect();
    assert_eq!((ranks, trace.num_executions()), (vec![0, 1], 2));
}

#[test]
fn a_run_with_the_name_of_a_stream_is_a_run() {
    let run = run();
    for name in ["2026-11-21.bp", "bp/again-7.bp"] {
        let folder = run.path().join(name);
        fs::create_dir_all(folder.join("bp/tau-metrics-lmp_tau-4.bp")).unwrap();
        fs::write(folder.join("bp/tau-metrics-lmp_tau-4.bp/md.idx"), "").unwrap();
        assert_eq!(ranks(&folder), [4]);
    }
    assert_eq!(ranks(&run.path().join("bp")), [0, 2, 10]);
    fs::create_dir(run.path().join("tau-3.bp")).unwrap();
    assert_eq!(
        ranks(&run.path().join("tau-3.bp")),
        [3],
        "nothing is written yet"
    );
}

#[test]
fn paths_without_a_run_are_refused_by_name() {
    let run = run();
    let check = |input: PathBuf, expected: &str| {
        let error = find(&input).unwrap_err().to_string();
        assert!(
            error.contains(expected) && error.contains(input.to_str().unwrap()),
            "{error}"
        );
    };
    check(run.path().join("missing"), "no such file or folder");
    check(run.path().join("bp/*.otf2"), "nothing matches");
    check(run.path().join("bp/[*.bp"), "not a valid pattern");
    check(run.path().join("results"), "no trace is here");
    check(run.path().join("log.lammps"), "TAU (one BP4 or BP5");
    fs::create_dir_all(run.path().join("old/x-0.bp")).unwrap();
    check(run.path().to_owned(), "several traces are here (bp, old)");
}

/// Writes a trace as events, rank by rank.
fn to_csv(trace: &Trace) -> String {
    let mut text = "Timestamp (ns),Event Type,Name,Thread,Process,Attributes\n".to_owned();
    for lane in &trace.lanes {
        let calls = &lane.executions;
        let (rank, thread) = (lane.rank, lane.thread.0);
        let mut events = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        for row in 0..=calls.len() {
            while open
                .last()
                .is_some_and(|&last| calls.subtree_end[last].index() <= row)
            {
                let closed = open.pop().unwrap();
                events.push(("Leave", closed, calls.exit(ExecIdx::from_index(closed))));
            }
            if row < calls.len() {
                open.push(row);
                events.push(("Enter", row, calls.entry[row]));
            }
        }
        for (kind, row, time) in events {
            let name = trace.names.name(calls.func[row]).replace('"', "\"\"");
            writeln!(text, "{},{kind},\"{name}\",{thread},{rank},", time.0).unwrap();
        }
    }
    text
}

#[test]
fn a_run_has_the_same_calls_in_every_format_whatever_its_name() {
    let tau = load(&example(), Progress::none()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [csv, packed] = ["events", "packed"].map(|name| folder.path().join(name));
    fs::write(&csv, to_csv(&tau)).unwrap();
    write_trace_file(
        &tau,
        &mut fs::File::create(&packed).unwrap(),
        Progress::none(),
    )
    .unwrap();
    for file in [csv, packed] {
        let read = load(&file, Progress::none()).unwrap();
        assert_eq!(read.lanes.len(), tau.lanes.len());
        for (lane, expected) in read.lanes.iter().zip(&tau.lanes) {
            let names = |trace: &Trace, lane: &callgrove_model::Lane| -> Vec<String> {
                let funcs = lane.executions.func.iter();
                funcs
                    .map(|func| trace.names.name(*func).to_owned())
                    .collect()
            };
            assert_eq!((lane.rank, lane.thread), (expected.rank, expected.thread));
            assert!(names(&read, lane) == names(&tau, expected));
            assert!(lane.executions.entry == expected.executions.entry);
            assert!(lane.executions.inclusive == expected.executions.inclusive);
            assert!(lane.executions.exclusive == expected.executions.exclusive);
        }
    }
}

/// A complete run.
const CSV: &str = "Timestamp (ns),Event Type,Name\n0,Enter,a\n1,Leave,a\n";

#[test]
fn complete_runs_count_only_where_no_run_in_parts_is() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("first"), CSV).unwrap();
    assert_eq!(find(folder.path()).unwrap(), [folder.path().join("first")]);
    fs::write(folder.path().join("second"), CSV).unwrap();
    let several = find(folder.path()).unwrap_err().to_string();
    assert!(several.contains("(first, second)"), "{several}");
    fs::create_dir_all(folder.path().join("bp/tau-0.bp")).unwrap();
    let stream = folder.path().join("bp/tau-0.bp");
    assert_eq!(find(folder.path()).unwrap(), [stream]);
}

#[test]
fn a_complete_run_is_found_from_the_top_of_its_tree() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("about.json"), "{}").unwrap();
    let file = |name: &str| {
        let below = folder.path().join("trace").join(name);
        fs::create_dir_all(&below).unwrap();
        fs::write(below.join("run.csv"), CSV).unwrap();
        below.join("run.csv")
    };
    let first = file("app");
    assert_eq!(find(folder.path()).unwrap(), [first]);
    file("other");
    let several = find(folder.path()).unwrap_err().to_string();
    let names = "(trace/app/run.csv, trace/other/run.csv)";
    assert!(several.contains(names), "{several}");
}

#[test]
fn a_complete_run_is_not_joined_with_others() {
    let folder = tempfile::tempdir().unwrap();
    let forest = fs::read(example().join("pair-eam-compute.jsonl")).unwrap();
    for name in ["a.jsonl", "b.jsonl"] {
        fs::write(folder.path().join(name), &forest).unwrap();
    }
    let pattern = folder.path().join("*.jsonl");
    let error = load(&pattern, Progress::none()).unwrap_err();
    assert!(matches!(error, SourceError::NotAPart { .. }), "{error}");
    let alone = load(&folder.path().join("a.jsonl"), Progress::none()).unwrap();
    assert!(alone.is_forest);
}

/// Writes a file of one rank as Pipit has it, with one call from one second of the example on.
fn write_other(folder: &Path, start_ns: i64) -> PathBuf {
    let file = folder.join("other.csv");
    let text = format!(
        "Timestamp (ns),Event Type,Name,Thread,Process\n{start_ns},Enter,train,0,0\n{},Leave,train,0,0\n",
        start_ns + 1_000
    );
    fs::write(&file, text).unwrap();
    file
}

fn together(paths: &[&Path]) -> PathBuf {
    let paths: Vec<&str> = paths.iter().map(|it| it.to_str().unwrap()).collect();
    PathBuf::from(paths.join(PATH_SEPARATOR))
}

#[test]
fn traces_of_two_formats_are_programs_of_one_run_if_their_times_overlap() {
    let folder = tempfile::tempdir().unwrap();
    let example = example();
    let trace = load(&example, Progress::none()).unwrap();
    let start = trace.time_span().unwrap().0;
    let other = write_other(folder.path(), start.0 + 1_000_000);
    let ranks = |source: &Path| {
        let trace = load(source, Progress::none()).unwrap();
        let ranks = trace.ranks().into_iter();
        ranks
            .map(|(program, rank)| (program.0, rank.0))
            .collect::<Vec<_>>()
    };
    let expected = [(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)];
    assert_eq!(ranks(&together(&[&example, &other])), expected);
    assert_eq!(ranks(&together(&[&other, &example])), expected);

    let other = write_other(folder.path(), 0);
    let refused = load(&together(&[&example, &other]), Progress::none()).unwrap_err();
    assert!(
        matches!(refused, SourceError::ClocksApart { .. }),
        "{refused}"
    );
}

#[test]
fn files_of_one_format_given_together_are_ranks_of_one_run() {
    let run = run();
    let stream = |rank| run.path().join(format!("bp/tau-metrics-lmp_tau-{rank}.bp"));
    assert_eq!(ranks(&together(&[&stream(10), &stream(2)])), [2, 10]);
    let missing = together(&[&stream(2), &run.path().join("missing")]);
    let refused = find(&missing).unwrap_err();
    assert!(matches!(refused, SourceError::NotFound { .. }), "{refused}");
}

/// Writes a file of Chrome JSON with one call, and makes its folder.
fn write_json(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let event = r#"{"ph":"X","name":"f","pid":1,"tid":1,"ts":1,"dur":2}"#;
    fs::write(path, format!("[{event}]")).unwrap();
}

/// Writes an XPlane file with one call, and makes its folder.
fn write_xplane(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let line = b"\x08\x01\x12\x01t\x22\x06\x08\x01\x10\x00\x18\x64";
    let mut plane = b"\x12\x09/host:CPU\x1A".to_vec();
    plane.push(u8::try_from(line.len()).unwrap());
    plane.extend(line);
    plane.extend(b"\x22\x09\x08\x01\x12\x05\x08\x01\x12\x01f");
    let mut file = vec![0x0A, u8::try_from(plane.len()).unwrap()];
    file.extend(plane);
    fs::write(path, file).unwrap();
}

/// Returns the files that are found, relative to the folder.
fn names_below(folder: &Path) -> Vec<String> {
    let files = find(folder).unwrap().into_iter();
    let names = files.map(|it| it.strip_prefix(folder).unwrap().display().to_string());
    names.collect()
}

fn ranks_of(trace: &Trace) -> Vec<u32> {
    trace.lanes.iter().map(|lane| lane.rank.0).collect()
}

#[test]
fn the_profile_of_each_process_is_found_from_the_top_and_nothing_is_read_twice() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path();
    for rank in [0, 1, 10] {
        let profile = log.join(format!(
            "p{rank}/plugins/profile/2026_11_28_09_51_2{}",
            rank % 9
        ));
        write_xplane(&profile.join("vm.xplane.pb"));
        write_json(&profile.join("vm.trace.json.gz"));
        write_json(&profile.join("perfetto_trace.json.gz"));
    }
    let expected = [
        "p0/plugins/profile/2026_11_28_09_51_20/vm.xplane.pb",
        "p1/plugins/profile/2026_11_28_09_51_21/vm.xplane.pb",
        "p10/plugins/profile/2026_11_28_09_51_21/vm.xplane.pb",
    ];
    assert_eq!(names_below(log), expected);
    assert_eq!(ranks_of(&load(log, Progress::none()).unwrap()), [0, 1, 2]);
    assert_eq!(names_below(&log.join("p1/plugins")).len(), 1);
}

#[test]
fn without_planes_the_json_of_a_process_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let profile = folder.path().join("plugins/profile/2026_11_28_09_51_20");
    write_json(&profile.join("vm.trace.json.gz"));
    write_json(&profile.join("perfetto_trace.json.gz"));
    assert_eq!(
        ranks_of(&load(folder.path(), Progress::none()).unwrap()),
        [0]
    );
}

#[test]
fn hosts_that_write_seconds_apart_are_one_profile_and_earlier_ones_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let profiles = folder.path().join("plugins/profile");
    for (date, host) in [
        ("2026_11_27_23_00_00", "w-0"),
        ("2026_11_28_09_51_58", "w-1"),
        ("2026_11_28_09_58_59", "w-0"),
        ("2026_11_28_09_59_01", "w-1"),
    ] {
        write_xplane(&profiles.join(date).join(format!("{host}.xplane.pb")));
    }
    let expected = [
        "plugins/profile/2026_11_28_09_58_59/w-0.xplane.pb",
        "plugins/profile/2026_11_28_09_59_01/w-1.xplane.pb",
    ];
    assert_eq!(names_below(folder.path()), expected);
    let trace = load(folder.path(), Progress::none()).unwrap();
    assert_eq!(ranks_of(&trace), [0, 1]);
    let note = trace.warnings.iter();
    let note = note
        .into_iter()
        .find(|it| it.kind == WarningKind::EarlierProfiles);
    let note = note.unwrap();
    assert_eq!(note.count, 2);
    assert_eq!(note.first.place, "plugins/profile/2026_11_28_09_51_58");
}

#[test]
fn folders_of_ranks_are_one_run_and_folders_of_runs_are_several() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "run/rank1/a.json",
        "run/rank0/a.json",
        "runs/a1/t.json",
        "runs/a2/t.json",
    ] {
        write_json(&folder.path().join(name));
    }
    let run = folder.path().join("run");
    assert_eq!(names_below(&run), ["rank0/a.json", "rank1/a.json"]);
    assert_eq!(ranks_of(&load(&run, Progress::none()).unwrap()), [0, 1]);
    let error = find(&folder.path().join("runs")).unwrap_err().to_string();
    assert!(
        error.contains("several traces are here (a1, a2)"),
        "{error}"
    );
}
