//! Cancelled work: the state afterwards, and the notice about it.

use std::sync::{Arc, Mutex};

use callgrove_model::{Label, TreeIdx};
use callgrove_session::{Command, Engine, LearnSettings, SessionHandle, SnapshotCell};

use crate::training_questions::{NUM_MISLED, mislead};
use callgrove_app_tests::small_session::*;

/// Cancels the work of a session as soon as a stage begins with a given text.
#[derive(Clone, Default)]
pub(crate) struct Stopper {
    at_stage: Arc<Mutex<Option<&'static str>>>,
}

impl Stopper {
    pub(crate) fn session(&self, disk: &Disk) -> SmallSession {
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
        SmallSession { engine, cell }
    }

    pub(crate) fn stop_at(&self, stage: &'static str) {
        *self.at_stage.lock().unwrap() = Some(stage);
    }

    fn resume(&self) {
        *self.at_stage.lock().unwrap() = None;
    }
}

#[test]
fn cancelling_the_opening_of_a_trace_keeps_the_open_one_with_its_journal() {
    let (disk, stopper) = (Disk::default(), Stopper::default());
    let mut session = stopper.session(&disk);
    session.run(open("run", "compute"));
    session.label(TreeIdx(3), Label::Abnormal);
    let before = session.seen();
    for stage in ["Reading the trace", "Embedding the trees", "Training"] {
        stopper.stop_at(stage);
        let seen = session.run(open("other run", "MPI_Wait"));
        stopper.resume();
        assert_eq!(
            last_notice(&seen),
            "Cancelled; nothing was changed.",
            "{stage}"
        );
        assert_eq!(seen.source.as_deref(), Some("run"), "{stage}");
        assert_eq!(seen.analysis().unwrap().root_name, "Pair::compute");
        assert_eq!(
            (scores(&seen), &seen.edits.labels),
            (scores(&before), &before.edits.labels)
        );
        assert_eq!(seen.edits.journal.as_deref(), Some("run.jsonl"));
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
        (seen.source.as_deref(), seen.edits.labels.len()),
        (Some("other run"), 0)
    );
    assert_eq!(seen.edits.journal.as_deref(), Some("other run.jsonl"));
}

#[test]
fn cancelling_the_training_of_another_root_keeps_the_forest() {
    let (disk, stopper) = (Disk::default(), Stopper::default());
    let mut session = stopper.session(&disk);
    let before = session.run(open("run", "compute"));
    let set_root = || Command::SetRoot {
        function: "MPI_Wait".into(),
    };
    stopper.stop_at("Training");
    let seen = session.run(set_root());
    stopper.resume();
    assert_eq!(last_notice(&seen), "Cancelled; nothing was changed.");
    assert_eq!(seen.analysis().unwrap().root_name, "Pair::compute");
    assert_eq!(scores(&seen), scores(&before));
    drop(session);
    // The next session does not begin with the cancelled root either.
    let mut session = SmallSession::on(&disk);
    let seen = session.run(Command::OpenTrace {
        source: "run".into(),
        function: None,
    });
    assert_eq!(seen.analysis().unwrap().root_name, "Pair::compute");
    let seen = session.run(set_root());
    assert_eq!(seen.analysis().unwrap().root_name, "MPI_Wait");
}

#[test]
fn a_label_whose_training_is_cancelled_is_kept_and_reported() {
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
    assert_eq!(
        (undone.edits.labels.len(), scores(&undone)),
        (0, scores(&before))
    );
    let redone = session.run(Command::Redo);
    assert!(last_notice(&redone).starts_with("The redo is kept;"));
    stopper.resume();
    let trained = session.run(Command::Train);
    let mut other = SmallSession::opened(&Disk::default());
    assert_eq!(
        scores(&trained),
        scores(&other.label(SLOW_TREE, Label::Normal))
    );
}

#[test]
fn a_cancelled_training_is_asked_about_when_it_is_requested_again() {
    let (disk, stopper) = (Disk::default(), Stopper::default());
    let mut session = stopper.session(&disk);
    let before = session.run(open("run", "compute"));
    stopper.stop_at("Training");
    let seen = mislead(&mut session);
    stopper.resume();
    assert!(last_notice(&seen).starts_with("The labels are kept;"));
    assert_eq!(
        (seen.edits.num_untrained, seen.edits.labels.len()),
        (NUM_MISLED, NUM_MISLED)
    );
    let asked = session.run(Command::Train);
    assert!(asked.model.question.is_some());
    assert_eq!(scores(&asked), scores(&before));
    let undone = session.run(Command::Undo);
    assert_eq!((undone.edits.labels.len(), &undone.edits.undo), (0, &None));
}

#[test]
fn labels_still_wait_for_an_answer_when_the_training_of_another_one_is_cancelled() {
    let (disk, stopper) = (Disk::default(), Stopper::default());
    let mut session = stopper.session(&disk);
    session.run(open("run", "compute"));
    let before = mislead(&mut session);
    stopper.stop_at("Training");
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    stopper.resume();
    assert!(last_notice(&seen).starts_with("The label is kept;"));
    assert!(seen.model.question.is_none(), "its numbers are unknown");
    assert_eq!(
        (seen.edits.num_untrained, scores(&seen)),
        (NUM_MISLED + 1, scores(&before))
    );
    let asked = session.run(Command::Train);
    let question = asked.model.question.as_ref().expect("it is asked again");
    assert_eq!(question.num_labels, NUM_MISLED + 1);
    assert_eq!(scores(&asked), scores(&before));
}

#[test]
fn a_cancel_request_before_the_work_begins_is_not_lost() {
    let mut session = SmallSession::on(&Disk::default());
    let (sender, commands) = std::sync::mpsc::sync_channel(4);
    let handle = SessionHandle::new(sender, session.cell.clone());
    handle.send(open("run", "compute")).unwrap();
    handle.cancel();
    let seen = session.run(commands.recv().unwrap());
    assert_eq!(last_notice(&seen), "Cancelled; nothing was changed.");
    assert!(seen.trace().is_none());
}
