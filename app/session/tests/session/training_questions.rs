//! Trainings that would reclassify many executions: the user is asked before they take effect.

use std::sync::Arc;

use callgrove_model::{Label, TimeNs, TreeIdx};
use callgrove_query::TimeRange;
use callgrove_session::{Command, Severity, Snapshot, TrainingAnswer};

use callgrove_app_tests::small_session::*;

/// Number of mislabelled trees, a quarter of all.
pub(crate) const NUM_MISLED: usize = 40;

/// Labels ordinary trees abnormal. Training with them would reclassify all similar ones.
pub(crate) fn mislead(session: &mut SmallSession) -> Arc<Snapshot> {
    session.run(Command::SetLabel {
        trees: misled().collect(),
        label: Some(Label::Abnormal),
    })
}

fn misled() -> impl Iterator<Item = TreeIdx> {
    (0..NUM_MISLED as u32).map(TreeIdx)
}

fn answer(session: &mut SmallSession, answer: TrainingAnswer) -> Arc<Snapshot> {
    session.run(Command::Answer(answer))
}

fn keep(session: &mut SmallSession) -> Arc<Snapshot> {
    answer(session, TrainingAnswer::Keep)
}

fn only_these(session: &mut SmallSession) -> Arc<Snapshot> {
    answer(session, TrainingAnswer::OnlyThese)
}

/// Returns which trees are called abnormal, without the mislabelled ones.
fn sides(snapshot: &Snapshot) -> Vec<bool> {
    let detection = snapshot.detection().unwrap();
    (NUM_MISLED as u32..NUM_RANKS * NUM_STEPS)
        .map(|tree| detection.is_abnormal(TreeIdx(tree)))
        .collect()
}

/// Returns the question: the number of labels, and of trees that they would reclassify.
fn asked(snapshot: &Snapshot) -> Option<(usize, usize)> {
    let question = snapshot.model.question.as_ref()?;
    Some((question.num_labels, question.num_moved()))
}

fn journal(disk: &Disk) -> String {
    disk.journal.lock().unwrap().join("\n")
}

#[test]
fn a_training_that_reclassifies_many_waits_for_an_answer_and_the_scores_stay() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    let before = session.seen();
    let seen = mislead(&mut session);
    let question = seen.model.question.as_ref().expect("it is asked about");
    assert_eq!(question.num_labels, NUM_MISLED);
    assert_eq!(question.num_trees, (NUM_RANKS * NUM_STEPS) as usize);
    assert!(question.would_be_abnormal.len() > 100, "{question:?}");
    let is_other = |tree: &TreeIdx| tree.index() >= NUM_MISLED;
    assert!(question.would_be_abnormal.iter().all(is_other));
    assert_eq!(scores(&seen), scores(&before));
    assert_eq!(
        (seen.edits.labels.len(), seen.edits.num_untrained),
        (NUM_MISLED, NUM_MISLED)
    );
    assert!(
        journal(&disk).ends_with("\"entry\":\"ask\"}"),
        "{}",
        journal(&disk)
    );
    assert_eq!(seen.notices.len(), 0, "{:?}", seen.notices);
}

#[test]
fn a_training_that_reclassifies_few_needs_no_answer() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    let before = session.seen();
    let seen = session.label(SLOW_TREE, Label::Normal);
    assert_eq!(asked(&seen), None);
    assert_ne!(scores(&seen), scores(&before));
    assert!(!journal(&disk).contains("\"ask\""));
}

#[test]
fn an_accepted_training_equals_a_direct_one_and_can_be_undone() {
    let mut session = SmallSession::opened(&Disk::default());
    let before = session.seen();
    let question = asked(&mislead(&mut session));
    let kept = keep(&mut session);
    assert_eq!((asked(&kept), kept.edits.num_untrained), (None, 0));
    assert!(
        sides(&kept)
            .iter()
            .filter(|is_abnormal| **is_abnormal)
            .count()
            > 100
    );

    let mut other = SmallSession::opened(&Disk::default());
    other.run(Command::SetAutoTrain(false));
    assert_eq!(asked(&mislead(&mut other)), None, "nothing is trained yet");
    assert_eq!(asked(&other.run(Command::Train)), question);
    assert_eq!(scores(&keep(&mut other)), scores(&kept));

    let undone = session.run(Command::Undo);
    assert_eq!(
        (asked(&undone), scores(&undone)),
        (question, scores(&before))
    );
    let undone = session.run(Command::Undo);
    assert_eq!((asked(&undone), undone.edits.labels.len()), (None, 0));
    assert_eq!(scores(&undone), scores(&before));
    assert_eq!(asked(&session.run(Command::Redo)), question);
    assert_eq!(scores(&session.run(Command::Redo)), scores(&kept));
}

#[test]
fn held_labels_reclassify_only_their_own_trees() {
    let mut session = SmallSession::opened(&Disk::default());
    let before = session.seen();
    let question = asked(&mislead(&mut session));
    let held = only_these(&mut session);
    assert_eq!((asked(&held), held.edits.num_untrained), (None, 0));
    assert_eq!(
        (held.edits.num_held, held.edits.held.len()),
        (NUM_MISLED, NUM_MISLED)
    );
    assert!(misled().all(|tree| held.is_held(tree)) && !held.is_held(SLOW_TREE));
    assert_eq!(scores(&held), scores(&before));
    assert_eq!(sides(&held), sides(&before));
    let detection = held.detection().unwrap();
    assert!(misled().all(|tree| detection.is_abnormal(tree)));
    assert_eq!(detection.num_abnormal, NUM_MISLED + 1);
    // The model is still trained with other labels.
    let labelled = session.label(SLOW_TREE, Label::Abnormal);
    assert_eq!(
        (asked(&labelled), labelled.edits.num_held),
        (None, NUM_MISLED)
    );
    session.run(Command::Undo);
    let undone = session.run(Command::Undo);
    assert_eq!((asked(&undone), undone.edits.num_held), (question, 0));
    assert!(!undone.detection().unwrap().is_abnormal(TreeIdx(0)));
}

#[test]
fn held_labels_can_be_learned_later() {
    let mut session = SmallSession::opened(&Disk::default());
    let question = asked(&mislead(&mut session));
    only_these(&mut session);
    let learned = session.run(Command::LearnHeld);
    assert_eq!((asked(&learned), learned.edits.num_held), (question, 0));
    let again = only_these(&mut session);
    assert_eq!((asked(&again), again.edits.num_held), (None, NUM_MISLED));
    session.run(Command::LearnHeld);
    let kept = keep(&mut session);
    assert_eq!((kept.edits.num_held, kept.edits.num_untrained), (0, 0));
    let mut other = SmallSession::opened(&Disk::default());
    mislead(&mut other);
    assert_eq!(scores(&keep(&mut other)), scores(&kept));
    let num_undo = kept.edits.undo.clone();
    assert_eq!(
        session.run(Command::LearnHeld).edits.undo,
        num_undo,
        "nothing is held"
    );
}

#[test]
fn a_relabelled_tree_is_no_longer_held() {
    let mut session = SmallSession::opened(&Disk::default());
    mislead(&mut session);
    only_these(&mut session);
    let seen = session.run(Command::SetLabel {
        trees: vec![TreeIdx(0)],
        label: None,
    });
    assert_eq!(
        (seen.edits.num_held, seen.edits.labels.len()),
        (NUM_MISLED - 1, NUM_MISLED - 1)
    );
    let seen = session.label(TreeIdx(1), Label::Normal);
    assert_eq!((seen.edits.num_held, asked(&seen)), (NUM_MISLED - 2, None));
}

#[test]
fn question_and_held_labels_survive_a_crash() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    let before = session.seen();
    let question = asked(&mislead(&mut session));
    // Nothing is saved at the end.
    drop(session);
    let mut session = SmallSession::opened(&disk);
    let seen = session.seen();
    assert_eq!(
        (asked(&seen), seen.edits.labels.len()),
        (question, NUM_MISLED)
    );
    assert_eq!(scores(&seen), scores(&before));
    let held = only_these(&mut session);
    drop(session);
    let mut session = SmallSession::opened(&disk);
    let seen = session.seen();
    assert_eq!(
        (&seen.edits.held, &seen.edits.labels),
        (&held.edits.held, &held.edits.labels)
    );
    assert_eq!(
        seen.detection().unwrap().order,
        held.detection().unwrap().order
    );
    session.run(Command::LearnHeld);
    let kept = keep(&mut session);
    drop(session);
    assert_eq!(scores(&SmallSession::opened(&disk).seen()), scores(&kept));
}

#[test]
fn a_crash_before_the_question_is_asked_does_not_answer_it() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    let before = session.seen();
    let question = asked(&mislead(&mut session));
    drop(session);
    let last = disk.journal.lock().unwrap().pop().unwrap();
    assert!(last.contains("\"ask\""), "{last}");
    let mut session = SmallSession::opened(&disk);
    let seen = session.seen();
    assert_eq!((asked(&seen), scores(&seen)), (question, scores(&before)));
    let kept = keep(&mut session);
    drop(session);
    let seen = SmallSession::opened(&disk).seen();
    assert_eq!((asked(&seen), scores(&seen)), (None, scores(&kept)));
}

#[test]
fn labels_trained_before_version_3_stay_trained() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    mislead(&mut session);
    let kept = keep(&mut session);
    drop(session);
    // In version 2 the label is the last line, and trained.
    let mut lines = disk.journal.lock().unwrap();
    lines.truncate(3);
    lines[0] = lines[0].replace("\"version\":3", "\"version\":2");
    drop(lines);
    let seen = SmallSession::opened(&disk).seen();
    assert_eq!((asked(&seen), scores(&seen)), (None, scores(&kept)));
}

#[test]
fn further_labels_join_the_question_and_each_can_be_undone() {
    let mut session = SmallSession::opened(&Disk::default());
    let before = session.seen();
    let question = asked(&mislead(&mut session));
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    assert_eq!(
        asked(&seen).map(|(num_labels, _)| num_labels),
        Some(NUM_MISLED + 1)
    );
    assert_eq!(scores(&seen), scores(&before));
    let marked = session.run(Command::SetMark {
        id: None,
        range: TimeRange::between(TimeNs(1), TimeNs(2)),
        text: "here".to_owned(),
    });
    assert_eq!(asked(&marked), asked(&seen));
    session.run(Command::Undo);
    let undone = session.run(Command::Undo);
    assert_eq!(
        (asked(&undone), undone.edits.labels.len()),
        (question, NUM_MISLED)
    );
    let taken_away = session.run(Command::SetLabel {
        trees: misled().collect(),
        label: None,
    });
    assert_eq!(
        (asked(&taken_away), scores(&taken_away)),
        (None, scores(&before))
    );
}

#[test]
fn no_training_begins_while_another_waits() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    let before = mislead(&mut session);
    let num_lines = disk.journal.lock().unwrap().len();
    let seen = session.run(Command::Train);
    assert_eq!(
        (asked(&seen), scores(&seen)),
        (asked(&before), scores(&before))
    );
    let notice = seen.notices.last().unwrap();
    assert_eq!(notice.severity, Severity::Info);
    assert!(notice.text.starts_with("The training waits for an answer"));
    assert_eq!(disk.journal.lock().unwrap().len(), num_lines);
}

#[test]
fn an_answer_without_a_question_does_nothing() {
    let mut session = SmallSession::opened(&Disk::default());
    let before = session.label(SLOW_TREE, Label::Abnormal);
    for choice in [TrainingAnswer::Keep, TrainingAnswer::OnlyThese] {
        let seen = answer(&mut session, choice);
        assert_eq!(
            (scores(&seen), &seen.edits.undo),
            (scores(&before), &before.edits.undo)
        );
    }
}

#[test]
fn a_question_stays_open_while_another_root_is_shown() {
    let mut session = SmallSession::opened(&Disk::default());
    let question = asked(&mislead(&mut session));
    let set_root = |function: &str| Command::SetRoot {
        function: function.to_owned(),
    };
    let seen = session.run(set_root("MPI_Wait"));
    assert_eq!((asked(&seen), seen.edits.num_held), (None, 0));
    let seen = session.run(set_root("Pair::compute"));
    assert_eq!(asked(&seen), question);
}

#[test]
fn question_and_held_labels_survive_a_session_file() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    let through_file = |session: &mut SmallSession| {
        session.run(Command::SaveSession {
            path: "session.json".into(),
            view: serde_json::Value::Null,
        });
        let lines = std::mem::take(&mut *disk.journal.lock().unwrap());
        let mut other = SmallSession::on(&disk);
        let loaded = other.run(Command::LoadSession {
            path: "session.json".into(),
        });
        *disk.journal.lock().unwrap() = lines;
        loaded
    };
    let question = mislead(&mut session);
    let loaded = through_file(&mut session);
    assert_eq!(asked(&loaded), asked(&question));
    assert_eq!(scores(&loaded), scores(&question));
    let held = only_these(&mut session);
    let loaded = through_file(&mut session);
    assert_eq!(
        (&loaded.edits.held, asked(&loaded)),
        (&held.edits.held, None)
    );
    assert_eq!(
        loaded.detection().unwrap().order,
        held.detection().unwrap().order
    );
}

#[test]
fn a_model_file_is_replaced_only_when_the_training_is_accepted() {
    let mut session = SmallSession::opened(&Disk::default());
    session.run(Command::SaveModel {
        path: "model.json".into(),
    });
    let loaded = session.run(Command::LoadModel {
        path: "model.json".into(),
    });
    assert!(loaded.model.queue.is_empty(), "a model file has no queue");
    let seen = mislead(&mut session);
    assert!(seen.model.question.is_some() && seen.model.queue.is_empty());
    assert_eq!(scores(&seen), scores(&loaded));
    assert!(!keep(&mut session).model.queue.is_empty());
}
