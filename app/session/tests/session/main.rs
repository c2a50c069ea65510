//! The session as host applications use it: commands in, snapshots out, and a host that can fail.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

mod cancelling;
mod causes;
mod comparing;
mod journal;
mod labels_and_marks;
mod model_files;
mod running_models;
mod trace_file;
mod tracing_records;
mod training_questions;

use std::sync::Arc;

use callgrove_model::{Label, TreeIdx};
use callgrove_session::{
    Command, DifferenceKind, MapMethod, ModelSettings, QueryStrategy, Selection, Snapshot,
};

use callgrove_app_tests::small_session::*;

#[test]
fn opening_a_trace_ranks_the_slow_execution_first_and_explains_it() {
    let session = SmallSession::opened(&Disk::default());
    let seen = session.seen();
    assert_eq!(seen.notices.len(), 0, "{:?}", seen.notices);
    let analysis = seen.analysis().unwrap();
    assert_eq!(analysis.forest.len(), (NUM_RANKS * NUM_STEPS) as usize);
    assert_eq!(analysis.root_name, "Pair::compute");
    let detection = seen.detection().unwrap();
    assert_eq!(detection.order[0], SLOW_TREE);
    assert!(detection.is_abnormal(SLOW_TREE), "its score is negative");
    assert_eq!(seen.focus(), Some(SLOW_TREE));
    let explanation = seen.explanation.as_ref().unwrap();
    let wait = analysis.forest.trace().names.get("MPI_Wait()").unwrap();
    let finding = &explanation.findings[0];
    assert_eq!((finding.func, finding.kind), (wait, DifferenceKind::Longer));
    assert_ne!(explanation.usual, SLOW_TREE);
    assert!(finding.time.0 > 50 * finding.usual_time.0, "{finding:?}");
}

#[test]
fn the_most_promising_function_is_the_default() {
    let mut session = SmallSession::on(&Disk::default());
    let seen = session.run(Command::OpenTrace {
        source: "run".into(),
        function: None,
    });
    assert_eq!(seen.analysis().unwrap().root_name, "Pair::compute");
}

#[test]
fn a_trace_and_its_calls_are_published_together() {
    let seen = SmallSession::opened(&Disk::default()).seen();
    let calls = seen.calls().unwrap();
    assert!(Arc::ptr_eq(calls.trace(), seen.trace().unwrap()));
}

#[test]
fn undoing_a_label_restores_the_scores_bit_for_bit() {
    let mut session = SmallSession::opened(&Disk::default());
    let before = session.seen();
    let labelled = session.label(SLOW_TREE, Label::Normal);
    assert_ne!(
        scores(&before),
        scores(&labelled),
        "the model is trained with the label at once"
    );
    assert!(
        labelled.detection().unwrap().change.is_some(),
        "the changes are reported"
    );
    let undone = session.run(Command::Undo);
    assert_eq!(scores(&before), scores(&undone));
    assert_eq!(
        (undone.edits.labels.len(), undone.edits.undo.as_deref()),
        (0, None)
    );
    let redone = session.run(Command::Redo);
    assert_eq!(scores(&labelled), scores(&redone));
}

#[test]
fn a_session_has_the_same_labels_and_model_after_a_crash() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    session.label(TreeIdx(3), Label::Abnormal);
    session.label(SLOW_TREE, Label::Abnormal);
    session.label(TreeIdx(9), Label::Normal);
    let before = session.run(Command::Undo);
    // Nothing is saved at the end.
    drop(session);
    let mut session = SmallSession::on(&disk);
    let after = session.run(Command::OpenTrace {
        source: "run".into(),
        function: None,
    });
    assert_eq!(before.edits.labels, after.edits.labels);
    assert_eq!(scores(&before), scores(&after));
    assert_eq!(after.edits.undo.as_deref(), Some("label #2-17 abnormal"));
    assert!(
        after.notices[0].text.starts_with("2 labels"),
        "{:?}",
        after.notices
    );
}

#[test]
fn a_label_that_cannot_be_journalled_is_not_applied() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    *disk.is_full.lock().unwrap() = true;
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    assert!(
        seen.edits.labels.is_empty(),
        "the label is not shown as given"
    );
    assert_eq!(errors(&seen), ["No space left on device."]);
}

#[test]
fn without_auto_training_labels_wait() {
    let mut session = SmallSession::opened(&Disk::default());
    session.run(Command::SetAutoTrain(false));
    let before = session.seen();
    let labelled = session.label(SLOW_TREE, Label::Normal);
    assert_eq!(scores(&before), scores(&labelled));
    assert_eq!(labelled.edits.num_untrained, 1);
    let trained = session.run(Command::Train);
    assert_ne!(scores(&before), scores(&trained));
    assert_eq!(trained.edits.num_untrained, 0);
}

#[test]
fn settings_train_again_and_survive_undo_and_a_crash() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    let before = session.seen();
    assert_eq!(before.model.settings, before.model.default_settings);
    let wide = ModelSettings {
        nu: 0.3,
        rate: 0.45,
        ..before.model.settings
    };
    let tuned = session.run(Command::Tune(Some(wide)));
    assert_eq!(tuned.model.settings, wide);
    assert_ne!(scores(&tuned), scores(&before));
    drop(session);
    let mut session = SmallSession::opened(&disk);
    assert_eq!(scores(&session.seen()), scores(&tuned));
    let undone = session.run(Command::Undo);
    assert_eq!(scores(&undone), scores(&before));
}

#[test]
fn settings_out_of_range_change_nothing() {
    let mut session = SmallSession::opened(&Disk::default());
    let before = session.seen();
    for settings in [
        ModelSettings {
            nu: 0.0,
            ..before.model.settings
        },
        ModelSettings {
            gamma: f64::NAN,
            ..before.model.settings
        },
    ] {
        let seen = session.run(Command::Tune(Some(settings)));
        assert_eq!(scores(&seen), scores(&before));
        assert_eq!(seen.edits.undo, None, "nothing was journalled");
    }
    assert_eq!(errors(&session.seen()).len(), 2);
}

#[test]
fn the_next_tree_to_label_depends_on_strategy_and_labels() {
    let mut session = SmallSession::opened(&Disk::default());
    assert_eq!(session.seen().model.queue[0], SLOW_TREE);
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    assert!(!seen.model.queue.contains(&SLOW_TREE), "it is labelled");
    let uncertain = session.run(Command::SetQuery(QueryStrategy::MostUncertain));
    let detection = uncertain.detection().unwrap();
    let without_label = detection.order.iter().filter(|&&tree| tree != SLOW_TREE);
    let mut normal = without_label.filter(|tree| !detection.abnormal[tree.index()]);
    assert_eq!(
        normal.next(),
        Some(&uncertain.model.queue[0]),
        "the first that is not called abnormal"
    );
}

#[test]
fn contradictory_labels_are_reported() {
    let mut session = SmallSession::opened(&Disk::default());
    for tree in [4, 44, 84, 124] {
        session.label(TreeIdx(tree), Label::Normal);
    }
    assert_eq!(session.seen().model.doubts.len(), 0);
    let seen = session.label(TreeIdx(45), Label::Abnormal);
    assert_eq!(seen.model.doubts.len(), 1, "{:?}", seen.model.doubts);
    assert_eq!(seen.model.doubts[0].tree, TreeIdx(45));
}

#[test]
fn a_map_is_computed_between_commands_can_pause_and_ends_with_its_quality() {
    let mut session = SmallSession::opened(&Disk::default());
    let mds = session.seen().map().cloned().unwrap();
    assert_eq!((mds.method, mds.fraction), (MapMethod::Mds, 1.0));
    assert!(!session.engine.is_forming());
    for method in [MapMethod::Tsne, MapMethod::Smacof] {
        session.run(Command::SetMap(method));
        session.engine.advance();
        let forming = session.seen().map().cloned().unwrap();
        assert_eq!((forming.method, forming.trustworthiness), (method, None));
        assert!(forming.fraction > 0.0 && forming.fraction < 1.0);
        let waiting = session.run(Command::PauseMap(true));
        assert!(waiting.map().unwrap().is_paused);
        assert!(!session.engine.is_forming());
        // A label trains the model meanwhile, and the map keeps its state.
        let labelled = session.label(SLOW_TREE, Label::Abnormal);
        assert_eq!(labelled.map(), waiting.map());
        session.run(Command::PauseMap(false));
        while session.engine.is_forming() {
            session.engine.advance();
        }
        let done = session.seen().map().cloned().unwrap();
        assert_eq!((done.method, done.fraction), (method, 1.0));
        assert!(done.trustworthiness.unwrap() > 0.8);
        assert_eq!(done.points.len(), (NUM_RANKS * NUM_STEPS) as usize);
        assert!(done.points.iter().flatten().all(|value| value.abs() <= 1.0));
        session.run(Command::Undo);
    }
    let other_root = session.run(Command::SetRoot {
        function: "MPI_Wait".into(),
    });
    assert_eq!(other_root.analysis().unwrap().root_name, "MPI_Wait");
    assert!(
        session.engine.is_forming(),
        "with the method that the user chose"
    );
    let back = session.run(Command::SetMap(MapMethod::Mds));
    assert_eq!(back.map().unwrap().method, MapMethod::Mds);
    assert!(!session.engine.is_forming());
}

#[test]
fn labels_model_and_session_survive_files() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
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
    let mut other = SmallSession::on(&disk);
    let loaded = other.run(Command::LoadSession {
        path: "session.json".into(),
    });
    assert_eq!(
        (scores(&loaded), &loaded.edits.labels),
        (scores(&saved), &saved.edits.labels)
    );

    disk.journal.lock().unwrap().clear();
    let mut other = SmallSession::opened(&disk);
    let imported = other.run(Command::ImportLabels {
        path: "labels.csv".into(),
    });
    assert_eq!(scores(&imported), scores(&saved));

    disk.journal.lock().unwrap().clear();
    let mut other = SmallSession::opened(&disk);
    let scored = other.run(Command::LoadModel {
        path: "model.json".into(),
    });
    let order = |snapshot: &Snapshot| snapshot.detection().unwrap().order[0];
    assert_eq!(order(&scored), order(&saved));
    assert_eq!(scored.edits.labels.len(), 0);
}

#[test]
fn an_invalid_model_or_label_file_changes_nothing() {
    let disk = Disk::default();
    disk.files
        .lock()
        .unwrap()
        .insert("bad".into(), b"rank\n1\n".to_vec());
    let mut session = SmallSession::opened(&disk);
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
        assert!(seen.edits.undo.is_none(), "{command:?}");
    }
    assert_eq!(errors(&session.seen()).len(), 4);
}

#[test]
fn a_group_is_shown_by_its_centre_and_labelled_together() {
    let mut session = SmallSession::opened(&Disk::default());
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
    assert_eq!(seen.edits.labels.count(Label::Normal), 9);
    assert_eq!(session.run(Command::Undo).edits.labels.len(), 0);
}

#[test]
fn errors_have_a_remedy() {
    let mut session = SmallSession::on(&Disk::default());
    let seen = session.run(Command::Train);
    assert_eq!(errors(&seen), ["Open a trace first."]);
    let seen = session.run(Command::OpenTrace {
        source: "nowhere".into(),
        function: None,
    });
    assert_eq!(
        errors(&seen),
        ["Open a trace first.", "No trace in nowhere."]
    );
    let seen = session.run(Command::OpenTrace {
        source: "empty".into(),
        function: None,
    });
    let last = |seen: &Snapshot| errors(seen).pop().unwrap_or_default();
    assert!(
        last(&seen).contains("no function events"),
        "{}",
        last(&seen)
    );
    let seen = session.run(Command::OpenTrace {
        source: "run".into(),
        function: Some("comput".into()),
    });
    let near = "No function matches `comput`; did you mean Pair::compute?";
    assert_eq!(
        errors(&seen),
        [near],
        "errors about other traces are removed"
    );
    let seen = session.run(Command::Dismiss {
        notice: seen.notices[0].id,
    });
    assert_eq!(errors(&seen).len(), 0);
}

#[test]
fn an_error_is_removed_once_a_command_of_its_kind_succeeds() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    let function = |name: &str| Command::SetRoot {
        function: name.into(),
    };
    let seen = session.run(function("Foo::bar"));
    assert_eq!(errors(&seen).len(), 1);
    let train = session.run(Command::Train);
    assert_eq!(errors(&train).len(), 1, "training is another topic");
    let seen = session.run(function("compute"));
    assert_eq!(errors(&seen), [""; 0]);
}
