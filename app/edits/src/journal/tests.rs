//! Lines of all versions, and their replay.

use callgrove_model::{Label, ProgramId, RankId};
use proptest::prelude::*;

use super::*;
use crate::edit::LabelChange;
use crate::history::tests::{actions, state};
use crate::label::TreeKey;
use crate::model::ModelUse;

fn label(index: u32, label: Option<Label>) -> Edit {
    let key = TreeKey {
        program: ProgramId(0),
        rank: RankId(4),
        index,
    };
    Edit::SetLabels(vec![LabelChange {
        key: key.into(),
        label,
    }])
}

fn label_line(index: u32, value: Option<Label>) -> String {
    line(&Entry::Edit(label(index, value)))
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

fn csv(journal: &Journal, root: &str) -> String {
    journal.history.of_root(root).labels().to_csv()
}

/// Version 1 as it was written. The format must stay readable.
const VERSION_1: &str = r#"{"journal":{"version":1,"source":"run"}}
{"root":"compute"}
{"edit":{"set_labels":[{"program":0,"rank":4,"index":40,"label":"abnormal"}]}}
{"edit":{"set_labels":[{"program":0,"rank":4,"index":41,"label":"normal"}]}}
"undo"
{"edit":"train"}"#;

/// Version 2 as it was written.
const VERSION_2: &str = r#"{"journal":{"version":2,"source":"run"}}
{"at_ns":1700000000000000000,"who":"ana","entry":{"root":"compute"}}
{"at_ns":1700000001000000000,"who":"ana","model":"00ff","root":"compute","entry":{"edit":{"set_labels":[{"program":0,"rank":4,"index":40,"label":"abnormal"}]}}}
{"at_ns":1700000002000000000,"root":"MPI_Wait","entry":{"edit":{"set_labels":[{"program":0,"rank":3,"step":7,"row":120,"label":"normal"}]}}}
{"at_ns":1700000003000000000,"entry":{"edit":{"set_mark":{"id":1,"range":{"from":5,"to":9},"text":"stop"}}}}
{"at_ns":1700000004000000000,"entry":"undo"}
{"at_ns":1700000005000000000,"entry":"redo"}"#;

/// Version 3 as it was written.
const VERSION_3: &str = r#"{"journal":{"version":3,"source":"run"}}
{"at_ns":1700000000000000000,"who":"ana","entry":{"root":"compute"}}
{"at_ns":1700000001000000000,"who":"ana","model":"00ff","root":"compute","entry":{"edit":{"set_labels":[{"program":0,"rank":4,"index":40,"label":"abnormal"}]}}}
{"at_ns":1700000002000000000,"entry":"ask"}
{"at_ns":1700000003000000000,"root":"compute","entry":{"edit":"hold"}}
{"at_ns":1700000004000000000,"root":"compute","entry":{"edit":{"set_labels":[{"program":0,"rank":4,"index":41,"label":"normal"}]}}}
{"at_ns":1700000005000000000,"root":"compute","entry":{"edit":{"use_model":{"path":"m.json","fit":"refitted"}}}}
{"at_ns":1700000006000000000,"root":"compute","entry":{"edit":"learn_held"}}
{"at_ns":1700000007000000000,"entry":"undo"}"#;

proptest! {
    #[test]
    fn replay_restores_the_live_history(actions in actions()) {
        let mut live = History::default();
        let mut lines = vec![header_line("run", &RunIdentity::default())];
        for action in &actions {
            let stamp = Stamp::default();
            live.with_origin(stamp.who.as_deref(), Some(stamp.at_ns)).apply(action);
            lines.push(action_line(action, stamp));
        }
        let journal = Journal::replay(&lines).unwrap();
        prop_assert_eq!(&journal.unreadable, &[]);
        prop_assert_eq!(state(&journal.history), state(&live));
        prop_assert_eq!(journal.history.undo_text(None), live.undo_text(None));
        prop_assert_eq!(journal.history.redo_text(None), live.redo_text(None));
    }

    #[test]
    fn any_lines_are_read_or_reported(lines in proptest::collection::vec(
        prop_oneof![".{0,40}", Just("\"undo\"".to_owned()), Just("{\"root\":\"f\"}".to_owned())], 0..8,
    )) {
        let journal = Journal::replay(&lines).unwrap();
        prop_assert!(journal.unreadable.len() <= lines.len());
    }
}

#[test]
fn version_1_is_read() {
    let journal = Journal::replay(&lines(VERSION_1)).unwrap();
    assert_eq!(journal.unreadable, []);
    assert!(!journal.is_current, "no line has version 3");
    assert_eq!(journal.root.as_deref(), Some("compute"));
    assert_eq!(
        csv(&journal, "compute"),
        "rank,index,label\n4,40,abnormal\n"
    );
}

#[test]
fn version_2_is_read() {
    let journal = Journal::replay(&lines(VERSION_2)).unwrap();
    assert_eq!(journal.unreadable, []);
    assert!(!journal.is_current, "no line has version 3");
    assert_eq!(
        csv(&journal, "compute"),
        "rank,index,label\n4,40,abnormal\n"
    );
    assert_eq!(
        csv(&journal, "MPI_Wait"),
        "rank,index,label,event_id\n3,,normal,3:7:120\n"
    );
    let marks: Vec<_> = journal.history.marks().collect();
    assert_eq!((marks.len(), marks[0].text.as_str()), (1, "stop"));
}

#[test]
fn version_3_is_read_and_written() {
    let journal = Journal::replay(&lines(VERSION_3)).unwrap();
    assert_eq!(journal.unreadable, []);
    assert!(journal.is_current);
    let state = journal.history.of_root("compute");
    assert_eq!(
        state.labels().to_csv(),
        "rank,index,label\n4,40,abnormal\n4,41,normal\n"
    );
    let labels = state.labels();
    let authors: Vec<_> = labels.iter().map(|(key, _)| labels.author(key)).collect();
    assert_eq!(authors, [Some("ana"), None]);
    assert_eq!((state.num_held(), state.num_untrained()), (1, 0));
    let saved = state.save();
    assert_eq!(saved.model.as_deref(), Some("m.json"));
    assert_eq!(saved.model_use, ModelUse::Refitted);
    let written: Vec<String> = lines(VERSION_3)
        .iter()
        .map(|text| written_again(text))
        .collect();
    assert_eq!(written, lines(VERSION_3));
}

/// Returns a line after reading and writing it.
fn written_again(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    let Ok(StampedEntry { stamp, root, entry }) = serde_json::from_value(value) else {
        return header_line("run", &RunIdentity::default());
    };
    let action = match entry {
        Entry::Root(root) => return root_line(&root, stamp),
        Entry::Edit(edit) => HistoryStep::Edit { root, edit },
        Entry::Undo => HistoryStep::Undo,
        Entry::Ask => HistoryStep::Ask,
        _ => HistoryStep::Redo,
    };
    action_line(&action, stamp)
}

#[test]
fn the_first_line_names_the_run() {
    let written = r#"{"journal":{"version":3,"source":"run","run":{"programs":{"0":{"executables":["/opt/lmp"],"command_lines":[],"ranks":{"0":{"host":"n1","pid":7,"start":5}}}}}}}"#;
    let run = journal_run(written).unwrap();
    assert_eq!(run.name(), "lmp");
    assert_eq!(header_line("run", &run), written);
    let journal = Journal::replay(&lines(written)).unwrap();
    assert!(journal.is_current && journal.has_run);
    assert_eq!(VERSION_1.lines().find_map(journal_run), None);
}

#[test]
fn in_version_1_every_root_function_has_its_own_undo() {
    let root = |name: &str| line(&Entry::Root(name.into()));
    let undo = || line(&Entry::Undo);
    let lines = [
        root("a"),
        label_line(1, Some(Label::Normal)),
        label_line(2, Some(Label::Normal)),
        root("b"),
        label_line(2, Some(Label::Abnormal)),
        root("a"),
        undo(),
        undo(),
        undo(),
        line(&Entry::Redo),
    ];
    let journal = Journal::replay(&lines).unwrap();
    assert_eq!(journal.root.as_deref(), Some("a"));
    assert_eq!(csv(&journal, "a"), "rank,index,label\n4,1,normal\n");
    assert_eq!(csv(&journal, "b"), "rank,index,label\n4,2,abnormal\n");
}

#[test]
fn invalid_lines_are_reported_and_the_rest_is_kept() {
    let lines = [
        label_line(1, None),
        line(&Entry::Root("a".into())),
        "{\"edit\":{\"set_la".to_owned(),
        label_line(1, Some(Label::Normal)),
        r#"{"at_ns":1,"entry":{"edit":"forget"}}"#.to_owned(),
    ];
    let journal = Journal::replay(&lines).unwrap();
    let numbers: Vec<_> = journal
        .unreadable
        .iter()
        .map(|(number, _)| *number)
        .collect();
    assert_eq!(numbers, [1, 3, 5]);
    assert_eq!(journal.history.num_labels(), 1);
}

#[test]
fn a_newer_journal_is_not_read_at_all() {
    let mut lines = lines(VERSION_2);
    lines.push(r#"{"journal":{"version":99,"source":"x"}}"#.to_owned());
    let error = Journal::replay(&lines).unwrap_err();
    assert_eq!(error, NewerJournal { version: 99 });
    // The first line of a newer program may have unknown fields.
    let line = r#"{"journal":{"version":4,"source":"x","moon":"full"}}"#;
    assert!(Journal::replay(&[line.to_owned()]).is_err());
}
