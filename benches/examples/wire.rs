//! Measures the data sent to a page: size and time of each kind of frame, on both sides, and of the data that its
//! timeline requests while panning.
//!
//! `cargo run --release --package callgrove-benches --example wire -- RUN FUNCTION`

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_model::{Label, LaneIdx, Progress, RunIdentity, TimeNs, Trace, TreeIdx};
use callgrove_query::{
    BarsOf, CallQuestion, Calls, LaneView, MessageQuery, MessagesOf, RowKind, Tile, TreeOf,
};
use callgrove_session::{
    Command, Engine, Host, HostError, JournalWriter, LearnSettings, OpenJournal, Snapshot,
    SnapshotCell, ViewerId,
};
use callgrove_source::SourceError;
use callgrove_wire::{SnapshotMirror, SnapshotSender, answer_frame};

/// Reads traces from this machine, and discards journals.
struct ReadOnly;

impl JournalWriter for ReadOnly {
    fn append(&mut self, _: &str) -> Result<(), HostError> {
        Ok(())
    }
}

impl Host for ReadOnly {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        let failed = |error: SourceError| HostError::Failed(error.with_causes());
        callgrove_formats::load(Path::new(source), progress).map_err(failed)
    }

    fn open_journal(&mut self, _: &str, _: &RunIdentity) -> Result<OpenJournal, HostError> {
        Ok(OpenJournal {
            lines: Vec::new(),
            place: "nowhere".to_owned(),
            writer: Box::new(Self),
        })
    }

    fn now(&self) -> TimeNs {
        TimeNs(0)
    }

    fn user(&self) -> Option<String> {
        None
    }

    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError> {
        Err(HostError::Failed(format!("{path} is not read here")))
    }

    fn write_file(&mut self, path: &str, _: &[u8]) -> Result<(), HostError> {
        Err(HostError::Failed(format!("{path} is not written here")))
    }
}

/// Statistics of the frames of one kind.
#[derive(Default)]
struct Kind {
    num_frames: usize,
    num_bytes: usize,
    written: Duration,
    read: Duration,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, function] = arguments.as_slice() else {
        return Err("usage: wire RUN FUNCTION".into());
    };
    let cell = SnapshotCell::default();
    let settings = LearnSettings::with_seed(1);
    let mut engine = Engine::new(Box::new(ReadOnly), settings, cell.clone(), Arc::new(|| ()));
    engine.handle(Command::OpenTrace {
        source: run.clone(),
        function: Some(function.clone()),
    });
    let (mut sender, mut mirror) = (SnapshotSender::new(ViewerId(0)), SnapshotMirror::default());
    println!("opening the run:");
    report_frames(&cell.newest(), &mut sender, &mut mirror)?;
    engine.handle(Command::SetLabel {
        trees: vec![TreeIdx(0)],
        label: Some(Label::Abnormal),
    });
    println!("a label, with a new training:");
    let newest = cell.newest();
    report_frames(&newest, &mut sender, &mut mirror)?;
    let calls = newest.calls().ok_or("no run is open")?;
    for parts in [1, 16, 256, 4_096] {
        report_pan(calls, parts)?;
    }
    let analysis = newest.analysis().ok_or("there are no trees")?;
    let root = analysis
        .forest
        .trees()
        .first()
        .ok_or("there are no trees")?
        .root;
    let tree = answer(calls, &[TreeOf(root).into()])?;
    println!("a tree: {tree} bytes");
    Ok(())
}

/// Prints what the timeline requests while the window moves by its length: bars of all lanes, and messages twice.
fn report_pan(calls: &Calls, parts: i64) -> Result<(), Box<dyn Error>> {
    const WIDTH_PX: i64 = 1_200;
    let (from, to) = calls.time_span().ok_or("nothing was called")?;
    let length_ns = to.since(from).0 / parts;
    let middle = from.0.midpoint(to.0);
    let tile = Tile {
        from: TimeNs(middle),
        to: TimeNs(middle + length_ns),
        min_bar_ns: (length_ns / WIDTH_PX).max(1),
    };
    let num_lanes = calls.trace().lanes.len();
    let kind = RowKind::Strip;
    let bars: Vec<CallQuestion> = (0..num_lanes)
        .map(LaneIdx::from_index)
        .map(|lane| BarsOf { lane, kind, tile }.into())
        .collect();
    let query = MessageQuery {
        from: TimeNs(middle - length_ns / 2),
        to: TimeNs(middle + length_ns / 2),
        num_columns: 300,
        max_arrows: 1_000,
        call: None,
        tree: None,
    };
    let views = vec![LaneView::InView; num_lanes];
    let messages = [MessagesOf { query, views }.into()];
    let (begin, bars) = (Instant::now(), answer(calls, &bars)?);
    let messages = answer(calls, &messages)?;
    println!(
        "a pan where 1/{parts} of the run is in view: {num_lanes} lanes in {bars} bytes, messages in twice {messages}, all in {:?}",
        begin.elapsed()
    );
    Ok(())
}

/// Returns the number of bytes of the answers.
fn answer(calls: &Calls, questions: &[CallQuestion]) -> Result<usize, Box<dyn Error>> {
    let mut num_bytes = 0;
    for question in questions {
        let frame = answer_frame(calls, (1, question), || false)?;
        num_bytes += frame.map_or(0, |frame| frame.len());
    }
    Ok(num_bytes)
}

fn report_frames(
    newest: &Snapshot,
    sender: &mut SnapshotSender,
    mirror: &mut SnapshotMirror,
) -> Result<(), Box<dyn Error>> {
    let mut kinds: BTreeMap<u8, Kind> = BTreeMap::new();
    loop {
        let start = Instant::now();
        let Some(frame) = sender.next_frame(newest)? else {
            break;
        };
        let written = start.elapsed();
        let start = Instant::now();
        mirror.take(&frame)?;
        let kind = kinds.entry(frame[0]).or_default();
        kind.num_frames += 1;
        kind.num_bytes += frame.len();
        kind.written += written;
        kind.read += start.elapsed();
    }
    for (kind, frames) in kinds {
        println!(
            "  kind {kind}: {} frames, {} kB, written in {:?}, read in {:?}",
            frames.num_frames,
            frames.num_bytes / 1_000,
            frames.written,
            frames.read
        );
    }
    Ok(())
}
