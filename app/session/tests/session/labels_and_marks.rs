//! Marks, labels of records, and saved sessions.

use callgrove_model::{Label, RunIdentity, TimeNs, TreeIdx};
use callgrove_query::TimeRange;
use callgrove_session::{Command, EventKey, Selection, Snapshot};

use callgrove_app_tests::small_session::*;

fn range(from: i64, to: i64) -> TimeRange {
    TimeRange::between(TimeNs(from), TimeNs(to))
}

#[test]
fn marks_are_kept_with_the_run_and_can_be_undone() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
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
        seen.edits
            .marks
            .iter()
            .map(|mark| mark.text.clone())
            .collect()
    };
    assert_eq!(texts(&seen), ["stop of rank 2"]);
    assert_eq!(seen.edits.undo.as_deref(), Some("delete a mark"));
    session.run(Command::Undo);
    let seen = session.run(Command::Undo);
    assert_eq!(texts(&seen), ["stop", "start"]);
    drop(session);
    let mut session = SmallSession::on(&disk);
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

/// Returns the command that labels the record of a tree as the provenance database names it.
fn record_of(seen: &Snapshot, tree: TreeIdx, label: Option<Label>) -> Command {
    let forest = &seen.analysis().unwrap().forest;
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
    let mut session = SmallSession::opened(&disk);
    let first = session.seen();
    let labelled = session.label(SLOW_TREE, Label::Normal);
    session.run(Command::Undo);
    let by_record = session.run(record_of(&first, SLOW_TREE, Some(Label::Normal)));
    assert_eq!(scores(&by_record), scores(&labelled));
    assert_eq!(
        by_record.edits.labels, labelled.edits.labels,
        "the tree is known: it is labelled"
    );
    let key = EventKey::of(&first.analysis().unwrap().forest, SLOW_TREE);
    assert_eq!(by_record.edits.record_labels.get(key), Some(Label::Normal));
    session.run(Command::Undo);

    // While another forest is shown, the record alone has the label.
    session.run(Command::SetRoot {
        function: "MPI_Wait".into(),
    });
    let elsewhere = session.run(record_of(&first, SLOW_TREE, Some(Label::Normal)));
    assert_eq!(elsewhere.edits.record_labels.get(key), Some(Label::Normal));
    assert!(
        elsewhere
            .edits
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
    // The last label of a tree replaces the one of its record.
    let last = session.label(SLOW_TREE, Label::Abnormal);
    assert_eq!(last.label(SLOW_TREE), Some(Label::Abnormal));
    assert_eq!(last.edits.undo.as_deref(), Some("label #2-17 abnormal"));
    let removed = session.run(Command::SetLabel {
        trees: vec![SLOW_TREE],
        label: None,
    });
    assert_eq!(
        (
            removed.edits.labels.len(),
            removed.edits.record_labels.len()
        ),
        (0, 0)
    );
}

#[test]
fn records_can_be_labelled_without_their_trace_and_the_trace_has_the_labels() {
    let disk = Disk::default();
    let traced = SmallSession::opened(&Disk::default()).seen();
    let key = EventKey::of(&traced.analysis().unwrap().forest, SLOW_TREE);
    let mut session = SmallSession::on(&disk);
    let label = |label| record_of(&traced, SLOW_TREE, label);
    let refused = session.run(label(Some(Label::Normal)));
    assert!(refused.notices[0].text.contains("open the trace first"));

    session.run(Command::SetRecordedRun {
        source: "run".into(),
        run: RunIdentity::default(),
    });
    session.run(label(Some(Label::Abnormal)));
    session.run(label(Some(Label::Normal)));
    let undone = session.run(Command::Undo);
    assert_eq!(undone.edits.record_labels.get(key), Some(Label::Abnormal));
    assert!(undone.trace().is_none() && undone.edits.undo.is_some() && undone.edits.redo.is_some());

    let opened = session.run(open("run", "compute"));
    assert_eq!(opened.label(SLOW_TREE), Some(Label::Abnormal));
    drop(session);
    assert_eq!(
        SmallSession::opened(&disk).seen().label(SLOW_TREE),
        Some(Label::Abnormal),
        "it was journalled"
    );
}

#[test]
fn a_saved_session_keeps_marks_selection_and_view() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
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
    assert_eq!(
        (&loaded.selection, &loaded.edits.marks),
        (&group, &saved.edits.marks)
    );
    assert_eq!(loaded.restored_view.as_deref(), Some(&view));
    let undone = session.run(Command::Undo);
    assert_eq!(
        undone.edits.marks.len(),
        0,
        "as before the session was opened"
    );
}

#[test]
fn a_session_finds_its_moved_run_and_refuses_another() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
    session.label(TreeIdx(5), Label::Normal);
    let saved = session.run(Command::SaveSession {
        path: "session.json".into(),
        view: serde_json::Value::Null,
    });
    let edit_source = |to: &str| {
        let mut files = disk.files.lock().unwrap();
        let text = String::from_utf8(files["session.json"].clone()).unwrap();
        let text = text.replace("\"source\": \"run\"", &format!("\"source\": \"{to}\""));
        files.insert(format!("{to}.json"), text.into_bytes());
    };
    edit_source("other run");
    edit_source("gone");
    let load = |name: &str| Command::LoadSession {
        path: format!("{name}.json"),
    };
    let mut other = SmallSession::on(&disk);
    let refused = other.run(load("other run"));
    let text = &refused.notices.last().unwrap().text;
    assert!(
        text.starts_with("Other run is not the trace of the session ("),
        "{text}"
    );
    assert!(refused.trace().is_none());
    other.run(open("copy", "MPI_Wait"));
    for name in ["gone", "other run"] {
        let loaded = other.run(load(name));
        assert_eq!(
            (&loaded.edits.labels, loaded.source.as_deref()),
            (&saved.edits.labels, Some("copy")),
            "{name}"
        );
    }
}
