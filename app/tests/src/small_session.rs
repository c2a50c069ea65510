//! A session with a small trace, on a disk that outlives it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use callgrove_model::{
    Forest, FuncEventKind, FuncId, Label, NameTable, ProgramId, Progress, RankBuilder, RankId,
    RunIdentity, StepBatch, StepId, ThreadId, TimeNs, Trace, TreeIdx, Warnings,
};
use callgrove_provdb::{RecordedTree, TREE_VERSION, TreeRecord};
use callgrove_pserver::TreeModelBook;
use callgrove_session::{
    Command, Engine, EventKey, Host, HostError, JournalWriter, LearnSettings, ModelInForce,
    ModelPublication, OpenJournal, RunningJob, Severity, Snapshot, SnapshotCell, TreeModelList,
};
use callgrove_watch::recorded_forest;

/// Number of ranks of [`trace`].
pub const NUM_RANKS: u32 = 4;
/// Number of steps of each rank.
pub const NUM_STEPS: u32 = 40;
/// The execution that takes twenty times as long as the others, as rank and index.
pub const SLOW: (u32, u32) = (2, 17);
/// The tree of [`SLOW`].
pub const SLOW_TREE: TreeIdx = TreeIdx(2 * NUM_STEPS + 17);

/// Storage that outlives the session.
#[derive(Clone, Default)]
pub struct Disk {
    /// Content by name.
    pub files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    /// Journal of the run `run`.
    pub journal: Lines,
    /// Journal of any other run.
    pub other_journal: Lines,
    /// True if nothing can be written to the journals.
    pub is_full: Arc<Mutex<bool>>,
    /// Models of the job at [`JOB`].
    pub models: Arc<Mutex<TreeModelBook>>,
    /// Abnormal trees that the job has recorded.
    pub abnormal: Vec<EventKey>,
    /// Number of steps of each rank that the job has recorded; `recorded` has every second of them.
    pub num_recorded: Arc<Mutex<u32>>,
}

/// Address of the running job.
pub const JOB: &str = "http://127.0.0.1:5559";

/// A running job with the session as its only client.
struct Job(Arc<Mutex<TreeModelBook>>, Vec<EventKey>);

impl RunningJob for Job {
    fn tree_models(&mut self) -> Result<TreeModelList, HostError> {
        Ok(TreeModelList {
            models: self.0.lock().unwrap().list(),
            instances: Vec::new(),
        })
    }

    fn abnormal_trees(&mut self, function: &str) -> Result<Vec<EventKey>, HostError> {
        assert_eq!(function, "Pair::compute(int, int)");
        Ok(self.1.clone())
    }

    fn tree_model(&mut self, name: &str, version: u32) -> Result<String, HostError> {
        let book = self.0.lock().unwrap();
        Ok(book.model(name, Some(version)).unwrap().1.to_owned())
    }

    fn publish(&mut self, it: &ModelPublication) -> Result<u32, HostError> {
        let mut book = self.0.lock().unwrap();
        Ok(book.publish(it, &[], 0).unwrap())
    }

    fn put_in_force(&mut self, wanted: &ModelInForce) -> Result<(), HostError> {
        let mut book = self.0.lock().unwrap();
        book.put_in_force(&wanted.name, wanted.version).unwrap();
        Ok(())
    }
}

/// Lines of a journal.
pub type Lines = Arc<Mutex<Vec<String>>>;

/// A journal on a [`Disk`].
pub struct DiskJournal {
    lines: Lines,
    is_full: Arc<Mutex<bool>>,
}

impl JournalWriter for DiskJournal {
    fn append(&mut self, line: &str) -> Result<(), HostError> {
        if *self.is_full.lock().unwrap() {
            return Err(HostError::Failed("no space left on device".into()));
        }
        self.lines.lock().unwrap().push(line.to_owned());
        Ok(())
    }
}

/// The host of a session with its files on a [`Disk`].
pub struct DiskHost(pub Disk);

impl Host for DiskHost {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        progress.at(0.5)?;
        match source {
            "run" | "copy" | "trees:job" => Ok(trace(0)),
            "recorded" => Ok(recorded(*self.0.num_recorded.lock().unwrap())),
            "changed run" => Ok(trace_with(0, 250)),
            "other run" => Ok(trace(1_000_000)),
            "empty" => Ok(Trace::default()),
            other => Err(HostError::Failed(format!("no trace in {other}"))),
        }
    }

    fn open_journal(&mut self, source: &str, _: &RunIdentity) -> Result<OpenJournal, HostError> {
        let lines = match source {
            "run" | "recorded" => &self.0.journal,
            _ => &self.0.other_journal,
        };
        let writer = DiskJournal {
            lines: Arc::clone(lines),
            is_full: Arc::clone(&self.0.is_full),
        };
        Ok(OpenJournal {
            lines: lines.lock().unwrap().clone(),
            place: format!("{source}.jsonl"),
            writer: Box::new(writer),
        })
    }

    fn now(&self) -> TimeNs {
        TimeNs(1_700_000_000_000_000_000)
    }

    fn user(&self) -> Option<String> {
        Some("ana".to_owned())
    }

    fn running_job(&mut self, server: &str) -> Result<Box<dyn RunningJob>, HostError> {
        match server {
            JOB => Ok(Box::new(Job(
                Arc::clone(&self.0.models),
                self.0.abnormal.clone(),
            ))),
            other => Err(HostError::Failed(format!("no job at {other}"))),
        }
    }

    fn read_file(&mut self, path: &str) -> Result<Vec<u8>, HostError> {
        let missing = || HostError::Failed(format!("cannot read {path}"));
        self.0
            .files
            .lock()
            .unwrap()
            .get(path)
            .cloned()
            .ok_or_else(missing)
    }

    fn write_file(&mut self, path: &str, content: &[u8]) -> Result<(), HostError> {
        self.0
            .files
            .lock()
            .unwrap()
            .insert(path.to_owned(), content.to_vec());
        Ok(())
    }
}

/// Returns a trace in which `compute` calls `MPI_Send` and `MPI_Wait` in every step of every rank; one wait is long.
pub fn trace(start_us: u64) -> Trace {
    trace_with(start_us, 500)
}

/// Returns such a trace in which the own time of `compute` before `MPI_Send` is `own_us`.
fn trace_with(start_us: u64, own_us: u64) -> Trace {
    let ranks = (0..NUM_RANKS).map(|rank| {
        let mut names = NameTable::default();
        let [main, compute, send, wait]: [FuncId; 4] = [
            "main()",
            "Pair::compute(int, int)",
            "MPI_Send()",
            "MPI_Wait()",
        ]
        .map(|name| names.intern(name));
        let mut batch = StepBatch::empty(ProgramId(0), RankId(rank), StepId(0));
        let mut time_us = start_us;
        let mut push = |kind, func, after_us| {
            time_us += after_us;
            let row = batch.funcs.len() as u32;
            batch.funcs.push(
                ThreadId(0),
                kind,
                func,
                TimeNs::from_us(time_us).unwrap(),
                row,
            );
        };
        push(FuncEventKind::Entry, main, 0);
        for step in 0..NUM_STEPS {
            let jitter_us = u64::from((step * 7 + rank * 3) % 11);
            let wait_us = if (rank, step) == SLOW {
                20_000
            } else {
                300 + jitter_us
            };
            push(FuncEventKind::Entry, compute, 5);
            push(FuncEventKind::Entry, send, own_us + jitter_us);
            push(FuncEventKind::Exit, send, 40);
            push(FuncEventKind::Entry, wait, 100);
            push(FuncEventKind::Exit, wait, wait_us);
            push(FuncEventKind::Exit, compute, 60);
        }
        push(FuncEventKind::Exit, main, 5);
        let mut builder = RankBuilder::new(ProgramId(0), RankId(rank));
        builder.push(batch);
        builder.finish(names, NameTable::default())
    });
    Trace::assemble(ranks.collect(), Warnings::default())
}

/// Returns every second execution of the first steps of [`trace`], like a job that records some of its trees.
fn recorded(num_steps: u32) -> Trace {
    let whole = Arc::new(trace(0));
    let compute = whole.names.get("Pair::compute(int, int)").unwrap();
    let forest = Forest::grow(Arc::clone(&whole), &[compute]);
    let records: Vec<TreeRecord> = (0..forest.len())
        .map(TreeIdx::from_index)
        .filter(|&tree| forest.code(tree).index < num_steps && forest.code(tree).index % 2 == 1)
        .map(|tree| record(&forest, tree))
        .collect();
    let (forest, _) = recorded_forest(&records, whole.identity.clone());
    Trace::clone(forest.trace())
}

fn record(forest: &Forest, tree: TreeIdx) -> TreeRecord {
    let label = forest.trace().label(forest.trees()[tree.index()].root);
    let calls = forest.tree(tree);
    let us = |time: TimeNs| u64::try_from(time.as_us()).unwrap();
    let (entry, exit) = (us(calls.entry()[0]), us(calls.exit()));
    let names = &forest.trace().names;
    let functions = calls.funcs().iter().map(|&func| names.name(func).into());
    TreeRecord {
        version: TREE_VERSION,
        event_id: label.to_string(),
        pid: 0,
        rid: label.rank.0,
        tid: 0,
        fid: 0,
        func: names.name(calls.funcs()[0]).into(),
        hostname: "".into(),
        entry,
        exit,
        runtime_total: exit - entry,
        io_step: 0,
        is_sample: true,
        judged: None,
        outlier_score: 0.0,
        outlier_severity: 0,
        num_calls: calls.len() as u64,
        tree: Some(RecordedTree {
            functions: functions.collect(),
            func: (0..calls.len() as u32).collect(),
            depth: (0..calls.len())
                .map(|vertex| calls.depth(vertex) as u32)
                .collect(),
            entry: calls.entry().iter().map(|&time| us(time) - entry).collect(),
            inclusive: calls
                .inclusive()
                .iter()
                .map(|time| u64::try_from(time.as_us()).unwrap())
                .collect(),
        }),
    }
}

/// A session without a thread: each command is carried out at once.
pub struct SmallSession {
    /// The engine, which the caller drives.
    pub engine: Engine,
    /// Its newest snapshot.
    pub cell: SnapshotCell,
}

impl SmallSession {
    /// Returns a session with nothing open.
    pub fn on(disk: &Disk) -> Self {
        let cell = SnapshotCell::default();
        let host = Box::new(DiskHost(disk.clone()));
        let engine = Engine::new(
            host,
            LearnSettings::with_seed(1),
            cell.clone(),
            Arc::new(|| ()),
        );
        Self { engine, cell }
    }

    /// Returns a session in which the run is open with its slow function.
    pub fn opened(disk: &Disk) -> Self {
        let mut session = Self::on(disk);
        session.run(Command::OpenTrace {
            source: "run".into(),
            function: Some("compute".into()),
        });
        session
    }

    /// Carries out a command, and returns the snapshot after it.
    pub fn run(&mut self, command: Command) -> Arc<Snapshot> {
        self.engine.handle(command);
        self.cell.newest()
    }

    /// Labels a tree, and returns the snapshot after it.
    pub fn label(&mut self, tree: TreeIdx, label: Label) -> Arc<Snapshot> {
        self.run(Command::SetLabel {
            trees: vec![tree],
            label: Some(label),
        })
    }

    /// Returns the newest snapshot.
    pub fn seen(&self) -> Arc<Snapshot> {
        self.cell.newest()
    }
}

/// Returns the bits of all scores.
pub fn scores(snapshot: &Snapshot) -> Vec<u64> {
    snapshot
        .detection()
        .unwrap()
        .scores
        .iter()
        .map(|score| score.to_bits())
        .collect()
}

/// Returns the texts of all errors that are shown.
pub fn errors(snapshot: &Snapshot) -> Vec<String> {
    let is_error = |notice: &&callgrove_session::Notice| notice.severity == Severity::Error;
    snapshot
        .notices
        .iter()
        .filter(is_error)
        .map(|notice| notice.text.clone())
        .collect()
}

/// Returns the command that opens a source with a root function.
pub fn open(source: &str, function: &str) -> Command {
    Command::OpenTrace {
        source: source.into(),
        function: Some(function.into()),
    }
}

/// Returns the text of the newest notice; empty without one.
pub fn last_notice(snapshot: &Snapshot) -> &str {
    snapshot.notices.last().map_or("", |notice| &notice.text)
}
