//! Model files that do not fit the run: asked about, used anyway, or used with p-values of the run itself.

use callgrove_model::{DurationNs, Label, Progress, TreeIdx};
use callgrove_session::{Command, Explainer, Misfit, ModelAnswer, SavedModel, Severity, Snapshot};

use callgrove_app_tests::small_session::*;

/// Returns a session with a model file of another root function.
fn with_foreign_model(disk: &Disk) -> SmallSession {
    let mut session = SmallSession::opened(disk);
    session.run(Command::SetRoot {
        function: "MPI_Wait".into(),
    });
    session.run(Command::SaveModel {
        path: "foreign.json".into(),
    });
    session.run(Command::SetRoot {
        function: "Pair::compute".into(),
    });
    session
}

fn load(path: &str) -> Command {
    Command::LoadModel { path: path.into() }
}

fn is_warned(snapshot: &Snapshot) -> bool {
    let is_warning = |notice: &callgrove_session::Notice| {
        notice.severity == Severity::Warning && notice.text.starts_with("The model does not fit: ")
    };
    snapshot.notices.iter().any(is_warning)
}

#[test]
fn a_model_that_does_not_fit_is_asked_about_with_numbers_and_changes_nothing_yet() {
    let disk = Disk::default();
    let mut session = with_foreign_model(&disk);
    let before = session.seen();
    let num_lines = disk.journal.lock().unwrap().len();
    let seen = session.run(load("foreign.json"));
    let question = seen.model.misfit.as_ref().expect("it is asked about");
    assert_eq!(question.path, "foreign.json");
    assert!(
        matches!(&question.misfit, Misfit::Function { model, .. } if model.contains("MPI_Wait")),
        "{:?}",
        question.misfit
    );
    let num_trees = (NUM_RANKS * NUM_STEPS) as usize;
    let origin = &question.origin;
    assert_eq!(
        (question.num_trees, origin.num_trees),
        (num_trees, num_trees)
    );
    assert_eq!(origin.num_ranks, NUM_RANKS as usize);
    assert!(origin.median_duration > DurationNs(300_000));
    assert_eq!(scores(&seen), scores(&before));
    assert_eq!((seen.edits.undo.clone(), errors(&seen)), (None, Vec::new()));
    assert_eq!(disk.journal.lock().unwrap().len(), num_lines);
    // The session stays usable.
    let labelled = session.label(SLOW_TREE, Label::Abnormal);
    assert_eq!(
        (labelled.edits.labels.len(), labelled.model.misfit.is_some()),
        (1, true)
    );
    let cancelled = session.run(Command::AnswerModel(ModelAnswer::Cancel));
    assert!(cancelled.model.misfit.is_none());
    assert_eq!(scores(&cancelled), scores(&labelled));
}

#[test]
fn a_model_is_used_anyway_or_refitted_and_both_survive_a_crash_and_undo() {
    let disk = Disk::default();
    let mut session = with_foreign_model(&disk);
    let before = session.seen();
    let mut shown = Vec::new();
    for answer in [ModelAnswer::UseAnyway, ModelAnswer::Refit] {
        let asked = session.run(load("foreign.json"));
        let question = asked.model.misfit.clone().unwrap();
        let used = session.run(Command::AnswerModel(answer));
        assert!(
            used.model.misfit.is_none() && is_warned(&used),
            "{answer:?}"
        );
        assert_ne!(scores(&used), scores(&before), "{answer:?}");
        let expected = match answer {
            ModelAnswer::UseAnyway => question.num_abnormal,
            _ => question.num_abnormal_refitted,
        };
        assert_eq!(used.detection().unwrap().num_abnormal, expected);
        drop(session);
        session = SmallSession::opened(&disk);
        assert_eq!(scores(&session.seen()), scores(&used), "{answer:?}");
        let undone = session.run(Command::Undo);
        assert_eq!(scores(&undone), scores(&before), "{answer:?}");
        let redone = session.run(Command::Redo);
        assert_eq!(scores(&redone), scores(&used), "{answer:?}");
        session.run(Command::Undo);
        shown.push(used.detection().unwrap().clone());
    }
    assert_eq!(shown[0].scores, shown[1].scores, "both have the same order");
    assert_ne!(shown[0].p_values, shown[1].p_values);
}

#[test]
fn a_session_file_has_the_use_of_a_model() {
    let disk = Disk::default();
    let mut session = with_foreign_model(&disk);
    session.run(load("foreign.json"));
    let used = session.run(Command::AnswerModel(ModelAnswer::Refit));
    session.run(Command::SaveSession {
        path: "session.json".into(),
        view: serde_json::Value::Null,
    });
    disk.journal.lock().unwrap().clear();
    let mut other = SmallSession::on(&disk);
    let loaded = other.run(Command::LoadSession {
        path: "session.json".into(),
    });
    assert_eq!(scores(&loaded), scores(&used));
}

#[test]
fn an_answer_about_a_deleted_file_changes_nothing() {
    let disk = Disk::default();
    let mut session = with_foreign_model(&disk);
    let before = session.run(load("foreign.json"));
    disk.files.lock().unwrap().clear();
    let seen = session.run(Command::AnswerModel(ModelAnswer::UseAnyway));
    assert_eq!(errors(&seen), ["Cannot read foreign.json."]);
    assert_eq!(
        (scores(&seen), seen.edits.undo.clone()),
        (scores(&before), None)
    );
}

/// The file that [`Command::SaveModel`] wrote for the trace of these tests, with the slow execution labelled.
const VERSION_7: &[u8] = include_bytes!("model-7.json");

#[test]
fn the_results_of_a_model_file_of_this_version_never_change() {
    let model = SavedModel::read(VERSION_7).unwrap();
    let session = SmallSession::opened(&Disk::default());
    let forest = &session.seen().analysis().cloned().unwrap().forest;
    let verdicts = model.verdicts(forest).unwrap();
    let abnormal: Vec<TreeIdx> = (0..forest.len())
        .map(TreeIdx::from_index)
        .filter(|tree| verdicts[tree.index()].is_abnormal)
        .collect();
    assert_eq!(abnormal, [SLOW_TREE]);
    let why = Explainer::of_model(&model, forest, Progress::none()).unwrap();
    let reasons = why.reasons(SLOW_TREE);
    assert_eq!(
        reasons[0].words(),
        "longer: MPI_Wait, +19.7 ms (usually 305 µs)"
    );
    let artifact = model.tree_model().artifact();
    let labels = &artifact.labels;
    assert_eq!((labels.num_normal, labels.num_abnormal), (0, 1));
    assert_eq!(labels.hash.len(), 32);
    // No field of the file is lost.
    let file: serde_json::Value = serde_json::from_slice(VERSION_7).unwrap();
    assert_eq!(serde_json::to_value(artifact).unwrap(), file);
}

#[test]
fn model_files_of_other_versions_are_refused_with_both_versions() {
    let newer = String::from_utf8_lossy(VERSION_7).replacen("\"version\":7", "\"version\":8", 1);
    for (version, file) in [
        (4, include_str!("model-4.json")),
        (5, include_str!("model-5.json")),
        (6, include_str!("model-6.json")),
        (8, newer.as_str()),
        (9, r#"{"version":9,"other":"fields"}"#),
    ] {
        let refusal = SavedModel::read(file.as_bytes()).unwrap_err().to_string();
        let expected =
            format!("the model has version {version}, but this program supports version 7");
        assert!(refusal.starts_with(&expected), "{refusal}");
    }
}

#[test]
fn a_model_file_with_an_impossible_provenance_is_refused() {
    let text = String::from_utf8_lossy(VERSION_7);
    for (from, to) in [
        (
            "\"num_abnormal\":1,\"hash\"",
            "\"num_abnormal\":999,\"hash\"",
        ),
        ("\"hash\":\"", "\"hash\":\"x"),
        ("\"usual\":{\"tick_ns\":", "\"usual\":{\"tick_ns\":-"),
        ("\"caller\":0", "\"caller\":7"),
    ] {
        assert!(text.contains(from), "{from}");
        let refusal = SavedModel::read(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(refusal.to_string().contains("damaged"), "{refusal}");
    }
}
