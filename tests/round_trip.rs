//! Runs that are written as traces for other programs and read again.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use callgrove_export::{
    FindingValue, FoundIncident, TraceExportError, TraceFinding, TraceFindings, write_chrome,
    write_perfetto,
};
use callgrove_model::{
    CollectiveEvent, CommKind, CounterId, DeviceWaitEvent, ExecIdx, FuncEventKind, FuncId, LaneIdx,
    LaunchEvent, Metadata, NameTable, ProgramId, Progress, RankBuilder, RankId, RankTrace,
    SizeEvent, StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_source::{MemoryFiles, OneByOne};
use proptest::prelude::*;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/lammps-4r-small/bp");

/// Names that formats of text must escape, or that other readers interpret.
const NAMES: [&str; 7] = [
    "",
    "say \"no\" \\ / ",
    "line\nbreak\u{1}\u{7f}",
    "LAMMPS_NS::PairEAM::compute(int, int) [{/src/pair \"eam\".cpp} {71,1}-{99,1}]",
    "ProfilerStep#12",
    "Kreuzung 叉 🦀",
    "rank 7",
];

/// Something that happens on a thread.
#[derive(Clone, Debug)]
enum Happening {
    Enter(usize),
    Exit,
    Message(CommKind, u32, u64, u64),
    Counter(usize, u64),
    Collective(u64, u64),
    /// A launch by another thread, this time before.
    Launched(usize, i64),
    Size(u64),
    /// A wait for another thread, or for all.
    Wait(Option<usize>),
    Write(i64),
}

/// A thread: its number, and what happens after which time.
type Happenings = (u32, Vec<(i64, Happening)>);

#[derive(Clone, Debug)]
struct Run {
    start_ns: i64,
    names: Vec<String>,
    counter_names: Vec<String>,
    metadata: Vec<(usize, String, String)>,
    /// Threads by rank.
    ranks: Vec<(u32, Vec<Happenings>)>,
}

fn name() -> impl Strategy<Value = String> {
    let special = prop::sample::select(&NAMES[..]).prop_map(str::to_owned);
    let character = any::<char>().prop_filter("no NUL", |it| *it != '\0');
    let any_text = prop::collection::vec(character, 0..9);
    prop_oneof![special, any_text.prop_map(|it| it.into_iter().collect())]
}

fn happening() -> impl Strategy<Value = Happening> {
    let kind = prop::sample::select(vec![CommKind::Send, CommKind::Recv]);
    prop_oneof![
        6 => (0..4_usize).prop_map(Happening::Enter),
        6 => Just(Happening::Exit),
        2 => (kind, 0..3_u32, any::<u64>(), 0..u64::MAX / 2)
            .prop_map(|(kind, to, tag, size)| Happening::Message(kind, to, (tag % 3) << 31, size)),
        1 => (0..2_usize, 0..u64::MAX / 2).prop_map(|(it, value)| Happening::Counter(it, value)),
        1 => (any::<u64>(), 0..9_u64).prop_map(|(it, number)| Happening::Collective(it, number)),
        1 => (0..3_usize, 0..5_i64).prop_map(|(by, before)| Happening::Launched(by, before)),
        1 => any::<u64>().prop_map(Happening::Size),
        1 => prop::option::of(0..3_usize).prop_map(Happening::Wait),
        1 => (1..4_i64).prop_map(Happening::Write),
    ]
}

fn run() -> impl Strategy<Value = Run> {
    let happenings = prop::collection::vec((0..4_i64, happening()), 0..24);
    let thread_numbers = prop::sample::subsequence(vec![0_u32, 1, 5, 700], 1..4);
    let threads = (thread_numbers, prop::collection::vec(happenings, 3));
    let threads = threads.prop_map(|(numbers, happenings)| {
        numbers
            .into_iter()
            .zip(happenings)
            .collect::<Vec<Happenings>>()
    });
    let ranks = prop::sample::subsequence(vec![0_u32, 1, 2, 40], 1..4);
    let ranks = (ranks, prop::collection::vec(threads, 4));
    (
        prop::sample::select(vec![5_i64, 1_777_777_777_123_456_789]),
        prop::collection::vec(name(), 4),
        prop::collection::vec(name(), 2),
        prop::collection::vec((0..3_usize, name(), name()), 0..4),
        ranks.prop_map(|(ranks, threads)| ranks.into_iter().zip(threads).collect()),
    )
        .prop_map(|(start_ns, names, counter_names, metadata, ranks)| Run {
            start_ns,
            names,
            counter_names,
            metadata,
            ranks,
        })
}

impl Run {
    fn trace(&self) -> Trace {
        let ranks = self.ranks.iter();
        let ranks = ranks.map(|(rank, threads)| self.rank(RankId(*rank), threads));
        Trace::assemble(ranks.collect(), Warnings::default())
    }

    fn rank(&self, rank: RankId, threads: &[Happenings]) -> RankTrace {
        let (mut names, mut counter_names) = (NameTable::default(), NameTable::default());
        let functions: Vec<FuncId> = self.names.iter().map(|it| names.intern(it)).collect();
        let counters = self.counter_names.iter();
        let counters: Vec<CounterId> = counters.map(|it| counter_names.intern(it)).collect();
        let mut builder = RankBuilder::new(ProgramId(0), rank);
        let numbers: Vec<ThreadId> = threads.iter().map(|it| ThreadId(it.0)).collect();
        let mut batch = StepBatch::empty(ProgramId(0), rank, StepId(0));
        for (at, key, value) in &self.metadata {
            // What a thread without events reports is stated at another one.
            let is_call = |it: &(i64, Happening)| matches!(it.1, Happening::Enter(_));
            let thread = threads.get(*at).filter(|it| it.1.iter().any(is_call));
            batch.metadata.extend(thread.map(|thread| Metadata {
                program: ProgramId(0),
                rank,
                thread: ThreadId(thread.0),
                key: key.clone(),
                value: value.clone(),
            }));
        }
        for (thread, happenings) in threads {
            let thread = ThreadId(*thread);
            self.fill(
                &mut batch,
                thread,
                happenings,
                (&functions, &counters, &numbers),
            );
        }
        builder.push(batch);
        builder.finish(names, counter_names)
    }

    fn fill(
        &self,
        batch: &mut StepBatch,
        thread: ThreadId,
        happenings: &[(i64, Happening)],
        (functions, counters, numbers): (&[FuncId], &[CounterId], &[ThreadId]),
    ) {
        let mut time = TimeNs(self.start_ns);
        let mut open = Vec::new();
        for (after, happening) in happenings {
            time = TimeNs(time.0 + after);
            let row = u32::try_from(batch.funcs.len()).unwrap_or_default();
            match *happening {
                Happening::Enter(func) => {
                    open.push(functions[func]);
                    let kind = FuncEventKind::Entry;
                    batch.funcs.push(thread, kind, functions[func], time, row);
                }
                Happening::Exit => {
                    if let Some(func) = open.pop() {
                        let kind = FuncEventKind::Exit;
                        batch.funcs.push(thread, kind, func, time, row);
                    }
                }
                Happening::Message(kind, partner, tag, size) => {
                    let comms = &mut batch.comms;
                    comms.push(thread, kind, tag, RankId(partner), size, time);
                }
                Happening::Counter(counter, value) => {
                    batch.counters.push(thread, counters[counter], value, time);
                }
                Happening::Collective(communicator, sequence) => {
                    batch.collectives.push(CollectiveEvent {
                        thread,
                        time,
                        communicator,
                        sequence,
                    });
                }
                Happening::Launched(by, before) => batch.launches.push(LaunchEvent {
                    thread,
                    time,
                    by: numbers[by % numbers.len()],
                    launched: TimeNs(time.0 - before),
                }),
                Happening::Size(bytes) => batch.sizes.push(SizeEvent {
                    thread,
                    time,
                    bytes,
                }),
                Happening::Wait(stream) => batch.device_waits.push(DeviceWaitEvent {
                    thread,
                    time,
                    stream: stream.map(|it| numbers[it % numbers.len()]),
                }),
                Happening::Write(length) => {
                    let end = TimeNs(time.0 + length);
                    batch.writes.push((thread, time, end));
                    time = end;
                }
            }
        }
    }
}

/// Returns all of a run that its file must state, as lines.
fn lines(trace: &Trace) -> Vec<String> {
    let mut lines = Vec::new();
    for lane in &trace.lanes {
        let place = format!("{}.{}.{}", lane.program, lane.rank, lane.thread);
        lines.push(format!("{place} lane"));
        let calls = &lane.executions;
        for row in 0..calls.len() {
            let exec = ExecIdx::from_index(row);
            let (entry, exit) = (calls.entry[row].0, calls.exit(exec).0);
            let name = trace.names.name(calls.func[row]);
            let depth = calls.depth[row];
            lines.push(format!("{place} {depth} {entry}-{exit} {name:?}"));
        }
        let comms = &lane.comms;
        for row in 0..comms.len() {
            let it = (comms.kind[row], comms.partner[row].0, comms.tag[row]);
            let of = (comms.size_bytes[row], comms.exec[row], comms.mate[row]);
            lines.push(format!("{place} {} {it:?} {of:?}", comms.time[row].0));
        }
        let counters = &lane.counters;
        for row in 0..counters.len() {
            let name = trace.counter_names.name(counters.counter[row]);
            let it = (counters.value[row], counters.exec[row]);
            lines.push(format!("{place} {} {name:?} {it:?}", counters.time[row].0));
        }
    }
    lines.extend(trace.messages.iter().map(|it| format!("{it:?}")));
    lines.extend(trace.collectives.iter().map(|it| format!("{it:?}")));
    lines.extend(trace.launches.iter().map(|it| format!("{it:?}")));
    lines.extend(trace.sizes.iter().map(|it| format!("{it:?}")));
    lines.extend(trace.device_waits.iter().map(|it| format!("{it:?}")));
    lines.extend(trace.writes.iter().map(|it| format!("{it:?}")));
    lines.extend(trace.metadata.iter().map(|it| format!("{it:?}")));
    lines
}

/// Returns findings on all lanes that overlap each other, with flows between them.
fn findings(trace: &Trace) -> TraceFindings {
    let (start, end) = trace.time_span().unwrap_or_default();
    let finding = |title: &str| TraceFinding {
        start,
        end,
        title: title.to_owned(),
        values: vec![
            ("sentence", FindingValue::Text("\"x\"\n".to_owned())),
            ("score", FindingValue::Number(-0.5)),
            ("cost_us", FindingValue::Integer(-3)),
            ("by_design", FindingValue::Flag(true)),
        ],
    };
    let lanes: Vec<LaneIdx> = trace.lanes().map(|it| it.0).collect();
    let victims = lanes.iter().map(|lane| (*lane, finding("victim")));
    let incident = FoundIncident {
        summary: finding("incident"),
        root: lanes.first().map(|lane| (*lane, finding("root"))),
        victims: victims.collect(),
    };
    let executions = lanes.iter().map(|lane| (*lane, finding(NAMES[1])));
    TraceFindings {
        incidents: vec![incident.clone(), incident],
        executions: executions.collect(),
    }
}

/// Writes a run.
type Writer =
    fn(&Trace, Option<&TraceFindings>, &mut Vec<u8>, Progress<'_>) -> Result<(), TraceExportError>;

/// The formats, with the name of a file of each.
const WRITERS: [(&str, Writer); 2] = [("run.pftrace", write_perfetto), ("run.json", write_chrome)];

/// Checks that a run is the same after it was written and read, with findings and without.
fn check(trace: &Trace) -> Result<()> {
    let expected = lines(trace);
    let found = findings(trace);
    for (name, write) in WRITERS {
        for findings in [None, Some(&found)] {
            let mut bytes = Vec::new();
            write(trace, findings, &mut bytes, Progress::none())?;
            let mut files = MemoryFiles::default();
            files.put(name, &bytes);
            let registry = callgrove_formats::page_registry(Arc::new(files));
            let read = registry.load(Path::new(name), &OneByOne, Progress::none());
            let read = read.with_context(|| name.to_owned())?;
            let actual = lines(&read);
            let first = expected.iter().zip(&actual).find(|(a, b)| a != b);
            ensure!(
                actual == expected,
                "{name}: {} lines of {}, first difference {first:?}",
                actual.len(),
                expected.len()
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_run_is_the_same_after_it_was_written_and_read(run in run()) {
        let trace = run.trace();
        prop_assume!(trace.num_executions() > 0);
        if let Err(error) = check(&trace) {
            return Err(TestCaseError::fail(format!("{error:#}")));
        }
    }
}

#[test]
fn the_example_is_the_same_after_it_was_written_and_read() -> Result<()> {
    let trace = callgrove_formats::load(Path::new(EXAMPLE), Progress::none())?;
    ensure!(!trace.writes.is_empty() && !trace.metadata.is_empty());
    check(&trace)
}

#[test]
fn a_cancelled_export_ends_with_an_error() -> Result<()> {
    let trace = callgrove_formats::load(Path::new(EXAMPLE), Progress::none())?;
    let stop = |_| std::ops::ControlFlow::Break(());
    for (name, write) in WRITERS {
        let ended = write(&trace, None, &mut Vec::new(), Progress::new(&stop));
        ensure!(matches!(ended, Err(TraceExportError::Cancelled)), "{name}");
    }
    Ok(())
}
