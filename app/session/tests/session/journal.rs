//! Journals that cannot be written, are old or too new, and the content of their lines.

use callgrove_model::Label;
use callgrove_session::Command;

use callgrove_app_tests::small_session::*;

#[test]
fn a_trace_opens_without_a_writable_journal_and_labels_are_then_refused() {
    let disk = Disk::default();
    *disk.is_full.lock().unwrap() = true;
    let mut session = SmallSession::opened(&disk);
    assert_eq!(
        last_notice(&session.seen()),
        "Labels cannot be journalled now: no space left on device."
    );
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    assert_eq!(
        (seen.edits.labels.len(), errors(&seen)),
        (0, vec!["No space left on device.".to_owned()])
    );
    *disk.is_full.lock().unwrap() = false;
    session.label(SLOW_TREE, Label::Abnormal);
    drop(session);
    let seen = SmallSession::opened(&disk).seen();
    assert_eq!(seen.label(SLOW_TREE), Some(Label::Abnormal));
}

#[test]
fn a_journal_of_a_newer_version_is_not_touched() {
    let disk = Disk::default();
    let newer = r#"{"journal":{"version":99,"source":"run"}}"#.to_owned();
    disk.journal.lock().unwrap().push(newer.clone());
    let mut session = SmallSession::opened(&disk);
    let seen = session.label(SLOW_TREE, Label::Abnormal);
    assert!(
        seen.notices[0]
            .text
            .contains("a newer Callgrove (version 99)")
    );
    assert_eq!(
        (seen.edits.journal.clone(), seen.edits.labels.len()),
        (None, 1)
    );
    assert_eq!(*disk.journal.lock().unwrap(), [newer]);
}

#[test]
fn journal_lines_have_time_author_and_model() {
    let disk = Disk::default();
    let mut session = SmallSession::opened(&disk);
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

#[test]
fn a_journal_of_version_1_is_continued() {
    let disk = Disk::default();
    let lines = include_str!("journal-1.jsonl").lines();
    disk.journal
        .lock()
        .unwrap()
        .extend(lines.map(str::to_owned));
    let mut session = SmallSession::on(&disk);
    let seen = session.run(Command::OpenTrace {
        source: "run".into(),
        function: None,
    });
    assert_eq!(
        seen.edits.labels.to_csv(),
        "rank,index,label\n0,3,abnormal\n2,17,normal\n"
    );
    assert_eq!(
        (seen.edits.num_untrained, seen.model.auto_train),
        (0, false)
    );
    assert_eq!(seen.model.settings.nu.to_bits(), 0.2_f64.to_bits());
    let seen = session.run(Command::Undo);
    assert_eq!(seen.model.settings, seen.model.default_settings);
    drop(session);
    let seen = SmallSession::opened(&disk).seen();
    assert_eq!(
        (seen.edits.labels.len(), seen.model.settings),
        (2, seen.model.default_settings)
    );
}
