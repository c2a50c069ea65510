//! The session as its carriers use it: commands in, snapshots out, a host that can fail.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use callgrove_model::{
    FuncEventKind, FuncId, Label, NameTable, ProgramId, Progress, RankBuilder, RankId, StepBatch,
    StepId, ThreadId, TimeNs, Trace, TreeIdx, Warnings,
};
use callgrove_session::{
    Command, Engine, EventKey, Host, HostError, JournalWriter, LearnSettings, MapMethod,
    ModelSettings, OpenJournal, QueryStrategy, Selection, SessionHandle, Severity, Snapshot,
    SnapshotCell, TimeRange,
};

const NUM_RANKS: u32 = 4;
const NUM_STEPS: u32 = 40;
/// The execution that takes twenty times as long as the others, and the place of its tree.
const SLOW: (u32, u32) = (2, 17);
const SLOW_TREE: TreeIdx = TreeIdx(2 * NUM_STEPS + 17);

/// A disk that outlives the session.
#[derive(Clone, Default)]
struct Disk {
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    /// Of the run `run`.
    journal: Lines,
    /// Of any other.
    other_journal: Lines,
    is_full: Arc<Mutex<bool>>,
}

type Lines = Arc<Mutex<Vec<String>>>;

struct DiskJournal {
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

struct DiskHost(Disk);

impl Host for DiskHost {
    fn load_trace(&mut self, source: &str, progress: Progress<'_>) -> Result<Trace, HostError> {
        progress.at(0.5)?;
        match source {
            "run" | "other run" => Ok(trace()),
            "empty" => Ok(Trace::default()),
            other => Err(HostError::Failed(format!("no trace in {other}"))),
        }
    }

    fn open_journal(&mut self, source: &str) -> Result<OpenJournal, HostError> {
        let lines = match source {
            "run" => &self.0.journal,
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

/// `compute` calls `MPI_Send` and `MPI_Wait` in every step of every rank; once the wait is long.
fn trace() -> Trace {
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
        let mut time_us = 0_u64;
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
            push(FuncEventKind::Entry, send, 500 + jitter_us);
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

/// A session on a disk.
struct Session {
    engine: Engine,
    cell: SnapshotCell,
}

impl Session {
    fn on(disk: &Disk) -> Self {
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

    fn opened(disk: &Disk) -> Self {
        let mut session = Self::on(disk);
        session.run(Command::OpenTrace {
            source: "run".into(),
            function: Some("compute".into()),
        });
        session
    }

    fn run(&mut self, command: Command) -> Arc<Snapshot> {
        self.engine.handle(command);
        self.cell.newest()
    }

    fn label(&mut self, tree: TreeIdx, label: Label) -> Arc<Snapshot> {
        self.run(Command::SetLabel {
            trees: vec![tree],
            label: Some(label),
        })
    }

    fn seen(&self) -> Arc<Snapshot> {
        self.cell.newest()
    }
}

fn scores(snapshot: &Snapshot) -> Vec<u64> {
    snapshot
        .detection
        .as_ref()
        .unwrap()
        .scores
        .iter()
        .map(|score| score.to_bits())
        .collect()
}

fn errors(snapshot: &Snapshot) -> Vec<String> {
    let is_error = |notice: &&callgrove_session::Notice| notice.severity == Severity::Error;
    snapshot
        .notices
        .iter()
        .filter(is_error)
        .map(|notice| notice.text.clone())
        .collect()
}

#[test]
fn opening_a_trace_puts_the_slow_execution_on_top_and_explains_it() {
    let session = Session::opened(&Disk::default());
    let seen = session.seen();
    assert_eq!(seen.notices.len(), 0, "{:?}", seen.notices);
    let analysis = seen.analysis.as_ref().unwrap();
    assert_eq!(analysis.forest.len(), (NUM_RANKS * NUM_STEPS) as usize);
    assert_eq!(analysis.root_name, "Pair::compute");
    let detection = seen.detection.as_ref().unwrap();
    assert_eq!(detection.order[0], SLOW_TREE);
    assert!(detection.is_abnormal(SLOW_TREE), "its score is negative");
    assert_eq!(seen.focus(), Some(SLOW_TREE));
    let explanation = seen.explanation.as_ref().unwrap();
    let wait = analysis.forest.trace().names.get("MPI_Wait()").unwrap();
    let finding = explanation
        .findings
        .iter()
        .find(|finding| finding.func == wait)
        .unwrap();
    assert!(finding.time.0 > 50 * finding.usual_time.0, "{finding:?}");
}

#[test]
fn without_a_function_the_promising_one_is_taken() {
    let mut session = Session::on(&Disk::default());
    let seen = session.run(Command::OpenTrace {
        source: "run".into(),
        function: None,
    });
    assert_eq!(seen.analysis.as_ref().unwrap().root_name, "Pair::compute");
}

#[test]
fn undoing_a_label_gives_back_the_scores_bit_for_bit() {
    let mut session = Session::opened(&Disk::default());
    let before = session.seen();
    let labelled = session.label(SLOW_TREE, Label::Normal);
    assert_ne!(
        scores(&before),
        scores(&labelled),
        "the label is learned at once"
    );
    assert!(
        labelled.detection.as_ref().unwrap().change.is_some(),
        "what changed is told"
    );
    let undone = session.run(Command::Undo);
    assert_eq!(scores(&before), scores(&undone));
    assert_eq!((undone.labels.len(), undone.undo.as_deref()), (0, None));
    let redone = session.run(Command::Redo);
    assert_eq!(scores(&labelled), scores(&redone));
}

#[test]
fn a_session_that_dies_comes_back_with_the_same_labels_and_model() {
    let disk = Disk::default();
    let mut session = Session::opened(&disk);
    session.label(TreeIdx(3), Label::Abnormal);
    session.label(SLOW_TREE, Label::Abnormal);
    session.label(TreeIdx(9), Label::Normal);
    let before = session.run(Command::Undo);
    // Nothing is saved on the way out.
    drop(session);
    let mut session = Session::on(&disk);
    let after = session.run(Command::OpenTrace {
        source: "run".into(),
        function: None,
    });
    assert_eq!(before.labels, after.labels);
    assert_eq!(scores(&before), scores(&after));
    assert_eq!(after.undo.as_deref(), Some("label #2-17 abnormal"));
    assert!(
        after.notices[0].text.starts_with("2 labels"),
        "{:?}",
        after.notices
    );
}

#[test]
fn a_label_that_cannot_be_journalled_is_not_applied() {
    let disk = Disk::default();
    let mut session = Session::opened(&disk);
    *disk.is_full.lock().unwrap() = true;
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    assert!(seen.labels.is_empty(), "the label is not shown as given");
    assert_eq!(errors(&seen), ["No space left on device."]);
}

#[test]
fn training_waits_when_it_is_told_to() {
    let mut session = Session::opened(&Disk::default());
    session.run(Command::SetAutoTrain(false));
    let before = session.seen();
    let labelled = session.label(SLOW_TREE, Label::Normal);
    assert_eq!(scores(&before), scores(&labelled));
    assert_eq!(labelled.num_untrained, 1);
    let trained = session.run(Command::Train);
    assert_ne!(scores(&before), scores(&trained));
    assert_eq!(trained.num_untrained, 0);
}

#[test]
fn settings_train_anew_and_come_back_after_undo_and_after_a_crash() {
    let disk = Disk::default();
    let mut session = Session::opened(&disk);
    let before = session.seen();
    assert_eq!(before.settings, before.default_settings);
    let wide = ModelSettings {
        nu: 0.3,
        ..before.settings
    };
    let tuned = session.run(Command::Tune(Some(wide)));
    assert_eq!(tuned.settings, wide);
    let num_abnormal = |seen: &Snapshot| seen.detection.as_ref().unwrap().num_abnormal;
    assert!(num_abnormal(&tuned) > num_abnormal(&before));
    drop(session);
    let mut session = Session::opened(&disk);
    assert_eq!(scores(&session.seen()), scores(&tuned));
    let undone = session.run(Command::Undo);
    assert_eq!(scores(&undone), scores(&before));
}

#[test]
fn settings_out_of_bounds_change_nothing() {
    let mut session = Session::opened(&Disk::default());
    let before = session.seen();
    for settings in [
        ModelSettings {
            nu: 0.0,
            ..before.settings
        },
        ModelSettings {
            gamma: f64::NAN,
            ..before.settings
        },
    ] {
        let seen = session.run(Command::Tune(Some(settings)));
        assert_eq!(scores(&seen), scores(&before));
        assert_eq!(seen.undo, None, "nothing was journalled");
    }
    assert_eq!(errors(&session.seen()).len(), 2);
}

#[test]
fn the_next_question_follows_the_strategy_and_the_labels() {
    let mut session = Session::opened(&Disk::default());
    assert_eq!(session.seen().queue[0], SLOW_TREE);
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    assert!(!seen.queue.contains(&SLOW_TREE), "it has its answer");
    let uncertain = session.run(Command::SetQuery(QueryStrategy::MostUncertain));
    let score = |tree: TreeIdx| uncertain.detection.as_ref().unwrap().scores[tree.index()].abs();
    let nearest = (0..NUM_RANKS * NUM_STEPS)
        .map(TreeIdx)
        .filter(|&tree| tree != SLOW_TREE)
        .map(score)
        .fold(f64::INFINITY, f64::min);
    assert!((score(uncertain.queue[0]) - nearest).abs() < 1e-9);
}

#[test]
fn labels_that_contradict_each_other_are_told() {
    let mut session = Session::opened(&Disk::default());
    for tree in [4, 44, 84, 124] {
        session.label(TreeIdx(tree), Label::Normal);
    }
    assert_eq!(session.seen().doubts.len(), 0);
    let seen = session.label(TreeIdx(45), Label::Abnormal);
    assert_eq!(seen.doubts.len(), 1, "{:?}", seen.doubts);
    assert_eq!(seen.doubts[0].tree, TreeIdx(45));
}

#[test]
fn a_map_forms_between_commands_can_wait_and_ends_with_its_quality() {
    let mut session = Session::opened(&Disk::default());
    let mds = session.seen().map.clone().unwrap();
    assert_eq!((mds.method, mds.fraction), (MapMethod::Mds, 1.0));
    assert!(!session.engine.is_forming());
    for method in [MapMethod::Tsne, MapMethod::Smacof] {
        session.run(Command::SetMap(method));
        session.engine.advance();
        let forming = session.seen().map.clone().unwrap();
        assert_eq!((forming.method, forming.trustworthiness), (method, None));
        assert!(forming.fraction > 0.0 && forming.fraction < 1.0);
        let waiting = session.run(Command::PauseMap(true));
        assert!(waiting.map.as_ref().unwrap().is_paused);
        assert!(!session.engine.is_forming());
        // A label is learned meanwhile, and the map keeps its shape.
        let labelled = session.label(SLOW_TREE, Label::Abnormal);
        assert_eq!(labelled.map, waiting.map);
        session.run(Command::PauseMap(false));
        while session.engine.is_forming() {
            session.engine.advance();
        }
        let done = session.seen().map.clone().unwrap();
        assert_eq!((done.method, done.fraction), (method, 1.0));
        assert!(done.trustworthiness.unwrap() > 0.8);
        assert_eq!(done.points.len(), (NUM_RANKS * NUM_STEPS) as usize);
        assert!(done.points.iter().flatten().all(|value| value.abs() <= 1.0));
        session.run(Command::Undo);
    }
    let other_root = session.run(Command::SetRoot {
        function: "MPI_Wait".into(),
    });
    assert_eq!(other_root.analysis.as_ref().unwrap().root_name, "MPI_Wait");
    assert!(session.engine.is_forming(), "in the way the person chose");
    let back = session.run(Command::SetMap(MapMethod::Mds));
    assert_eq!(back.map.as_ref().unwrap().method, MapMethod::Mds);
    assert!(!session.engine.is_forming());
}

#[test]
fn labels_model_and_session_survive_the_way_through_files() {
    let disk = Disk::default();
    let mut session = Session::opened(&disk);
    session.label(TreeIdx(5), Label::Normal);
    session.run(Command::ExportLabels {
        path: "labels.csv".into(),
    });
    session.run(Command::SaveModel {
        path: "model.json".into(),
    });
    let saved = session.run(Command::SaveSession {
        path: "session.json".into(),
        view: serde_json::Value::Null,
    });
    assert_eq!(errors(&saved), Vec::<String>::new());

    disk.journal.lock().unwrap().clear();
    let mut other = Session::on(&disk);
    let loaded = other.run(Command::LoadSession {
        path: "session.json".into(),
    });
    assert_eq!(
        (scores(&loaded), &loaded.labels),
        (scores(&saved), &saved.labels)
    );

    disk.journal.lock().unwrap().clear();
    let mut other = Session::opened(&disk);
    let imported = other.run(Command::ImportLabels {
        path: "labels.csv".into(),
    });
    assert_eq!(scores(&imported), scores(&saved));

    disk.journal.lock().unwrap().clear();
    let mut other = Session::opened(&disk);
    let scored = other.run(Command::LoadModel {
        path: "model.json".into(),
    });
    let order = |snapshot: &Snapshot| snapshot.detection.as_ref().unwrap().order[0];
    assert_eq!(order(&scored), order(&saved));
    assert_eq!(scored.labels.len(), 0);
}

#[test]
fn a_bad_model_or_label_file_changes_nothing() {
    let disk = Disk::default();
    disk.files
        .lock()
        .unwrap()
        .insert("bad".into(), b"rank\n1\n".to_vec());
    let mut session = Session::opened(&disk);
    let before = session.seen();
    for command in [
        Command::LoadModel { path: "bad".into() },
        Command::ImportLabels { path: "bad".into() },
        Command::LoadSession { path: "bad".into() },
        Command::LoadModel {
            path: "missing".into(),
        },
    ] {
        let seen = session.run(command.clone());
        assert_eq!(scores(&seen), scores(&before), "{command:?}");
        assert!(seen.undo.is_none(), "{command:?}");
    }
    assert_eq!(errors(&session.seen()).len(), 4);
}

#[test]
fn a_group_is_shown_by_its_centre_and_labelled_together() {
    let mut session = Session::opened(&Disk::default());
    let group: Vec<TreeIdx> = (0..9).map(TreeIdx).collect();
    let seen = session.run(Command::Select(Selection::Group(group.clone())));
    assert!(
        group.contains(&seen.focus().unwrap()),
        "the centre is one of them"
    );
    let seen = session.run(Command::SetLabel {
        trees: group,
        label: Some(Label::Normal),
    });
    assert_eq!(seen.labels.count(Label::Normal), 9);
    assert_eq!(session.run(Command::Undo).labels.len(), 0);
}

#[test]
fn what_cannot_be_done_is_said_with_a_remedy() {
    let mut session = Session::on(&Disk::default());
    let seen = session.run(Command::Train);
    assert_eq!(errors(&seen), ["Open a trace first."]);
    let seen = session.run(Command::OpenTrace {
        source: "nowhere".into(),
        function: None,
    });
    assert_eq!(errors(&seen)[1], "No trace in nowhere.");
    let seen = session.run(Command::OpenTrace {
        source: "empty".into(),
        function: None,
    });
    assert!(
        errors(&seen)[2].contains("no function events"),
        "{:?}",
        errors(&seen)
    );
    let seen = session.run(Command::OpenTrace {
        source: "run".into(),
        function: Some("comput".into()),
    });
    assert_eq!(
        errors(&seen)[3],
        "No function matches `comput`; did you mean Pair::compute?"
    );
    let seen = session.run(Command::Dismiss {
        notice: seen.notices[0].id,
    });
    assert_eq!(errors(&seen).len(), 3);
}

/// Stops the work of a session as soon as its stage begins with some words.
#[derive(Clone, Default)]
struct Stopper {
    at_stage: Arc<Mutex<Option<&'static str>>>,
}

impl Stopper {
    fn session(&self, disk: &Disk) -> Session {
        let cell = SnapshotCell::default();
        let (watched, at_stage) = (cell.clone(), Arc::clone(&self.at_stage));
        let wake = move || {
            let stage = watched
                .newest()
                .work
                .as_ref()
                .map(|work| work.stage.clone());
            let wanted = *at_stage.lock().unwrap();
            if stage
                .zip(wanted)
                .is_some_and(|(stage, wanted)| stage.starts_with(wanted))
            {
                watched.cancel();
            }
        };
        let host = Box::new(DiskHost(disk.clone()));
        let settings = LearnSettings::with_seed(1);
        let engine = Engine::new(host, settings, cell.clone(), Arc::new(wake));
        Session { engine, cell }
    }

    fn stop_at(&self, stage: &'static str) {
        *self.at_stage.lock().unwrap() = Some(stage);
    }

    fn let_go(&self) {
        *self.at_stage.lock().unwrap() = None;
    }
}

fn open(source: &str, function: &str) -> Command {
    Command::OpenTrace {
        source: source.into(),
        function: Some(function.into()),
    }
}

fn last_notice(snapshot: &Snapshot) -> &str {
    snapshot.notices.last().map_or("", |notice| &notice.text)
}

#[test]
fn cancelling_while_a_trace_is_opened_keeps_what_was_open_with_its_journal() {
    let (disk, stopper) = (Disk::default(), Stopper::default());
    let mut session = stopper.session(&disk);
    session.run(open("run", "compute"));
    session.label(TreeIdx(3), Label::Abnormal);
    let before = session.seen();
    for stage in ["Reading the trace", "Learning the trees", "Training"] {
        stopper.stop_at(stage);
        let seen = session.run(open("other run", "MPI_Wait"));
        stopper.let_go();
        assert_eq!(
            last_notice(&seen),
            "Cancelled; nothing was changed.",
            "{stage}"
        );
        assert_eq!(seen.source.as_deref(), Some("run"), "{stage}");
        assert_eq!(seen.analysis.as_ref().unwrap().root_name, "Pair::compute");
        assert_eq!(
            (scores(&seen), &seen.labels),
            (scores(&before), &before.labels)
        );
        assert_eq!(seen.journal.as_deref(), Some("run.jsonl"));
        assert_eq!(
            *disk.other_journal.lock().unwrap(),
            Vec::<String>::new(),
            "{stage}"
        );
    }
    let num_lines = disk.journal.lock().unwrap().len();
    session.label(TreeIdx(9), Label::Normal);
    assert_eq!(disk.journal.lock().unwrap().len(), num_lines + 1);
    let seen = session.run(open("other run", "MPI_Wait"));
    assert_eq!(
        (seen.source.as_deref(), seen.labels.len()),
        (Some("other run"), 0)
    );
    assert_eq!(seen.journal.as_deref(), Some("other run.jsonl"));
}

#[test]
fn cancelling_while_another_root_is_learned_keeps_the_forest() {
    let (disk, stopper) = (Disk::default(), Stopper::default());
    let mut session = stopper.session(&disk);
    let before = session.run(open("run", "compute"));
    let set_root = || Command::SetRoot {
        function: "MPI_Wait".into(),
    };
    stopper.stop_at("Training");
    let seen = session.run(set_root());
    stopper.let_go();
    assert_eq!(last_notice(&seen), "Cancelled; nothing was changed.");
    assert_eq!(seen.analysis.as_ref().unwrap().root_name, "Pair::compute");
    assert_eq!(scores(&seen), scores(&before));
    drop(session);
    // Nor does the next session begin with the root that was not reached.
    let mut session = Session::on(&disk);
    let seen = session.run(Command::OpenTrace {
        source: "run".into(),
        function: None,
    });
    assert_eq!(seen.analysis.as_ref().unwrap().root_name, "Pair::compute");
    let seen = session.run(set_root());
    assert_eq!(seen.analysis.as_ref().unwrap().root_name, "MPI_Wait");
}

#[test]
fn a_label_whose_training_is_cancelled_is_kept_and_that_is_said() {
    let (disk, stopper) = (Disk::default(), Stopper::default());
    let mut session = stopper.session(&disk);
    let before = session.run(open("run", "compute"));
    stopper.stop_at("Training");
    let seen = session.label(SLOW_TREE, Label::Normal);
    assert_eq!(
        last_notice(&seen),
        "The label is kept; training was cancelled, so the scores are those before it. Train to bring them up to date."
    );
    assert_eq!(seen.label(SLOW_TREE), Some(Label::Normal));
    assert_eq!(scores(&seen), scores(&before));
    let undone = session.run(Command::Undo);
    assert_eq!((undone.labels.len(), scores(&undone)), (0, scores(&before)));
    let redone = session.run(Command::Redo);
    assert!(last_notice(&redone).starts_with("The step forward is kept;"));
    stopper.let_go();
    let trained = session.run(Command::Train);
    let mut other = Session::opened(&Disk::default());
    assert_eq!(
        scores(&trained),
        scores(&other.label(SLOW_TREE, Label::Normal))
    );
}

#[test]
fn a_wish_to_stop_that_comes_before_the_work_begins_is_not_lost() {
    let mut session = Session::on(&Disk::default());
    let (sender, commands) = std::sync::mpsc::sync_channel(4);
    let handle = SessionHandle::new(sender, session.cell.clone());
    handle.send(open("run", "compute")).unwrap();
    handle.cancel();
    let seen = session.run(commands.recv().unwrap());
    assert_eq!(last_notice(&seen), "Cancelled; nothing was changed.");
    assert!(seen.trace.is_none());
}

#[test]
fn a_trace_opens_though_its_journal_cannot_be_written_and_labels_are_then_refused() {
    let disk = Disk::default();
    *disk.is_full.lock().unwrap() = true;
    let mut session = Session::opened(&disk);
    assert_eq!(
        last_notice(&session.seen()),
        "Labels cannot be journalled now: no space left on device."
    );
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    assert_eq!(
        (seen.labels.len(), errors(&seen)),
        (0, vec!["No space left on device.".to_owned()])
    );
    *disk.is_full.lock().unwrap() = false;
    session.label(SLOW_TREE, Label::Abnormal);
    drop(session);
    let seen = Session::opened(&disk).seen();
    assert_eq!(seen.label(SLOW_TREE), Some(Label::Abnormal));
}

#[test]
fn a_journal_of_a_newer_version_is_not_touched() {
    let disk = Disk::default();
    let newer = r#"{"journal":{"version":99,"source":"run"}}"#.to_owned();
    disk.journal.lock().unwrap().push(newer.clone());
    let mut session = Session::opened(&disk);
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    assert!(
        seen.notices[0]
            .text
            .contains("a newer Callgrove (version 99)")
    );
    assert_eq!((seen.journal.clone(), seen.labels.len()), (None, 1));
    assert_eq!(*disk.journal.lock().unwrap(), [newer]);
}

#[test]
fn lines_of_the_journal_say_when_who_and_with_which_model() {
    let disk = Disk::default();
    let mut session = Session::opened(&disk);
    let line = |at: usize| -> serde_json::Value {
        serde_json::from_str(&disk.journal.lock().unwrap()[at]).unwrap()
    };
    session.label(SLOW_TREE, Label::Normal);
    session.run(Command::Undo);
    session.run(Command::Redo);
    let (labelled, undone, redone) = (line(2), line(3), line(4));
    for line in [&labelled, &undone, &redone] {
        assert_eq!(line["at_ns"], 1_700_000_000_000_000_000_i64);
        assert_eq!(line["who"], "ana");
    }
    assert_eq!(
        labelled["model"], redone["model"],
        "both times the first model was seen"
    );
    assert_ne!(labelled["model"], undone["model"]);
}

fn range(from: i64, to: i64) -> TimeRange {
    TimeRange::between(TimeNs(from), TimeNs(to))
}

#[test]
fn marks_are_kept_with_the_run_and_can_be_undone() {
    let disk = Disk::default();
    let mut session = Session::opened(&disk);
    let set = |id, text: &str| Command::SetMark {
        id,
        range: range(5, 9),
        text: text.into(),
    };
    session.run(set(None, "stop"));
    session.run(set(None, "start"));
    session.run(set(Some(1), "stop of rank 2"));
    let seen = session.run(Command::DeleteMark { id: 2 });
    let texts = |seen: &Snapshot| -> Vec<String> {
        seen.marks.iter().map(|mark| mark.text.clone()).collect()
    };
    assert_eq!(texts(&seen), ["stop of rank 2"]);
    assert_eq!(seen.undo.as_deref(), Some("delete a mark"));
    session.run(Command::Undo);
    let seen = session.run(Command::Undo);
    assert_eq!(texts(&seen), ["stop", "start"]);
    drop(session);
    let mut session = Session::on(&disk);
    let seen = session.run(open("run", "MPI_Wait"));
    assert_eq!(
        texts(&seen),
        ["stop", "start"],
        "whatever the root function is"
    );
    assert_eq!(
        texts(&session.run(Command::Redo)),
        ["stop of rank 2", "start"]
    );
}

/// The record of a tree as the provenance database names it.
fn record_of(seen: &Snapshot, tree: TreeIdx, label: Option<Label>) -> Command {
    let forest = &seen.analysis.as_ref().unwrap().forest;
    let EventKey { program, event } = EventKey::of(forest, tree);
    let func = "Pair::compute(int, int)".to_owned();
    Command::SetRecordLabel {
        program,
        event,
        func,
        label,
    }
}

#[test]
fn a_label_of_a_record_is_the_label_of_its_tree() {
    let disk = Disk::default();
    let mut session = Session::opened(&disk);
    let first = session.seen();
    let labelled = session.label(SLOW_TREE, Label::Normal);
    session.run(Command::Undo);
    let by_record = session.run(record_of(&first, SLOW_TREE, Some(Label::Normal)));
    assert_eq!(scores(&by_record), scores(&labelled));
    assert_eq!(
        by_record.labels, labelled.labels,
        "the tree is known: it is labelled"
    );
    let key = EventKey::of(&first.analysis.as_ref().unwrap().forest, SLOW_TREE);
    assert_eq!(by_record.record_labels.get(key), Some(Label::Normal));
    session.run(Command::Undo);

    // While another forest is shown, the record alone has the label.
    session.run(Command::SetRoot {
        function: "MPI_Wait".into(),
    });
    let elsewhere = session.run(record_of(&first, SLOW_TREE, Some(Label::Normal)));
    assert_eq!(elsewhere.record_labels.get(key), Some(Label::Normal));
    assert!(
        elsewhere
            .undo
            .as_ref()
            .unwrap()
            .ends_with("(Pair::compute)")
    );
    let back = session.run(Command::SetRoot {
        function: "compute".into(),
    });
    assert_eq!(back.label(SLOW_TREE), Some(Label::Normal));
    assert_eq!(scores(&back), scores(&labelled));
    // Whoever labels the tree afterwards has the last word.
    let last = session.label(SLOW_TREE, Label::Abnormal);
    assert_eq!(last.label(SLOW_TREE), Some(Label::Abnormal));
    assert_eq!(last.undo.as_deref(), Some("label #2-17 abnormal"));
    let removed = session.run(Command::SetLabel {
        trees: vec![SLOW_TREE],
        label: None,
    });
    assert_eq!((removed.labels.len(), removed.record_labels.len()), (0, 0));
}

#[test]
fn a_saved_session_keeps_marks_selection_and_view() {
    let disk = Disk::default();
    let mut session = Session::opened(&disk);
    session.run(Command::SetMark {
        id: None,
        range: range(5, 9),
        text: "stop".into(),
    });
    let group = Selection::Group(vec![TreeIdx(3), TreeIdx(7)]);
    session.run(Command::Select(group.clone()));
    let view = serde_json::json!({ "layout": "Analyse", "zoom": [0.5, 2.5] });
    let saved = session.run(Command::SaveSession {
        path: "session.json".into(),
        view: view.clone(),
    });
    session.run(Command::DeleteMark { id: 1 });
    let loaded = session.run(Command::LoadSession {
        path: "session.json".into(),
    });
    assert_eq!((&loaded.selection, &loaded.marks), (&group, &saved.marks));
    assert_eq!(loaded.restored_view.as_deref(), Some(&view));
    let undone = session.run(Command::Undo);
    assert_eq!(undone.marks.len(), 0, "as before the session was opened");
}

#[test]
fn a_journal_of_version_1_goes_on_as_it_was() {
    let disk = Disk::default();
    let lines = include_str!("data/journal-1.jsonl").lines();
    disk.journal
        .lock()
        .unwrap()
        .extend(lines.map(str::to_owned));
    let mut session = Session::on(&disk);
    let seen = session.run(Command::OpenTrace {
        source: "run".into(),
        function: None,
    });
    assert_eq!(
        seen.labels.to_csv(),
        "rank,index,label\n0,3,abnormal\n2,17,normal\n"
    );
    assert_eq!((seen.num_untrained, seen.auto_train), (0, false));
    assert_eq!(seen.settings.nu, 0.2);
    let seen = session.run(Command::Undo);
    assert_eq!(seen.settings, seen.default_settings);
    drop(session);
    let seen = Session::opened(&disk).seen();
    assert_eq!(
        (seen.labels.len(), seen.settings),
        (2, seen.default_settings)
    );
}
