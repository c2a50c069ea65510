//! The journal: one JSON line for everything the person did, written before it is applied.
//!
//! Replaying the lines gives the same history, and so the same models, bit for bit. Since version 2 a
//! line says when, who and with which model; the bare lines of version 1 are read for ever.

use callgrove_model::{RunIdentity, TimeNs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::edit::Edit;
use crate::history::{History, HistoryStep};

/// The version that this program writes; it reads all versions up to it.
const VERSION: u32 = 2;

/// What a line of the journal says.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Entry {
    /// The first line, and the first of a newer version.
    Journal {
        /// Version of the format.
        version: u32,
        /// Source as the person named it.
        source: String,
        /// The run that it is about, since version 2, as far as its trace tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunIdentity>,
    },
    /// The root function (name without arguments, or pattern) whose forest is shown.
    Root(String),
    /// An edit. Without a stamp it is about the root function of the line before.
    Edit(Edit),
    /// The last edit was taken back.
    Undo,
    /// It was done again.
    Redo,
}

/// A line that says more than what was done.
#[derive(Serialize, Deserialize)]
struct StampedEntry {
    #[serde(flatten)]
    stamp: Stamp,
    /// The root function that an edit is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    entry: Entry,
}

/// When something was done, by whom, and what scores they saw.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Stamp {
    /// When, since the epoch.
    pub(crate) at_ns: TimeNs,
    /// Login name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) who: Option<String>,
    /// The model: its file, or a number made of its scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

/// What the journal of a run holds.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// What the person made.
    pub(crate) history: History,
    /// The root function that was shown last.
    pub(crate) root: Option<String>,
    /// Lines that could not be understood: number from 1 and cause.
    pub(crate) unreadable: Vec<(usize, String)>,
    /// Whether a line says the version that this program writes.
    pub(crate) is_current: bool,
    /// Whether a line says the run.
    pub(crate) says_run: bool,
}

/// A journal of a version that this program does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NewerJournal {
    /// The version.
    pub(crate) version: u64,
}

/// The first line of a journal.
pub(crate) fn header_line(source: &str, run: &RunIdentity) -> String {
    line(&Entry::Journal {
        version: VERSION,
        source: source.to_owned(),
        run: (!run.is_empty()).then(|| run.clone()),
    })
}

/// The run that a journal is about, if `line` says it: so a carrier finds the journal of a run.
pub fn journal_run(line: &str) -> Option<RunIdentity> {
    // Other lines need not be parsed.
    if !line.starts_with("{\"journal\":") {
        return None;
    }
    match serde_json::from_str(line) {
        Ok(Entry::Journal { run, .. }) => run,
        _ => None,
    }
}

/// The line that says which root function is shown.
pub(crate) fn root_line(root: &str, stamp: Stamp) -> String {
    line(&StampedEntry {
        stamp,
        root: None,
        entry: Entry::Root(root.to_owned()),
    })
}

/// The line of an action.
pub(crate) fn action_line(action: &HistoryStep, stamp: Stamp) -> String {
    let (root, entry) = match action {
        HistoryStep::Edit { root, edit } => (root.clone(), Entry::Edit(edit.clone())),
        HistoryStep::Undo => (None, Entry::Undo),
        HistoryStep::Redo => (None, Entry::Redo),
    };
    line(&StampedEntry { stamp, root, entry })
}

fn line(entry: &impl Serialize) -> String {
    serde_json::to_string(entry).expect("an entry has string keys only")
}

impl Journal {
    /// Does again what the lines say. A line that cannot be understood is left out and reported.
    ///
    /// # Errors
    /// A newer program has written here: what its lines mean is not known.
    pub(crate) fn replay(lines: &[String]) -> Result<Self, NewerJournal> {
        let mut journal = Self::default();
        for (at, line) in lines.iter().enumerate() {
            let value = serde_json::from_str(line).unwrap_or(Value::Null);
            let version = value.pointer("/journal/version").and_then(Value::as_u64);
            if let Some(version) = version.filter(|&version| version > VERSION.into()) {
                return Err(NewerJournal { version });
            }
            let read = read(value).map_err(|error| error.to_string());
            if let Err(cause) = read.and_then(|(scope, entry)| journal.take(scope, entry)) {
                journal.unreadable.push((at + 1, cause));
            }
        }
        Ok(journal)
    }

    fn take(&mut self, scope: Scope, entry: Entry) -> Result<(), String> {
        let edit_root = match &scope {
            Scope::Stamped { root } => root.clone(),
            Scope::CurrentRoot => self.root.clone(),
        };
        let action = match entry {
            Entry::Journal { version, run, .. } => {
                self.is_current |= version == VERSION;
                self.says_run |= run.is_some();
                return Ok(());
            }
            Entry::Root(root) => {
                self.root = Some(root);
                return Ok(());
            }
            Entry::Edit(edit) => HistoryStep::Edit {
                root: edit_root,
                edit,
            },
            Entry::Undo => HistoryStep::Undo,
            Entry::Redo => HistoryStep::Redo,
        };
        match (scope, &self.root) {
            (Scope::Stamped { .. }, _) => {
                self.history.take(&action);
            }
            (Scope::CurrentRoot, Some(root)) => self.history.take_in_root(root, &action),
            (Scope::CurrentRoot, None) => return Err("an edit before any root function".to_owned()),
        }
        Ok(())
    }
}

/// What a line is about.
enum Scope {
    /// What it says itself.
    Stamped { root: Option<String> },
    /// In version 1: the root function of the line before.
    CurrentRoot,
}

fn read(value: Value) -> Result<(Scope, Entry), serde_json::Error> {
    if value.get("entry").is_some() {
        let StampedEntry { root, entry, .. } = serde_json::from_value(value)?;
        Ok((Scope::Stamped { root }, entry))
    } else {
        Ok((Scope::CurrentRoot, serde_json::from_value(value)?))
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::{Label, ProgramId, RankId};
    use proptest::prelude::*;

    use super::*;
    use crate::TreeKey;
    use crate::edit::LabelChange;
    use crate::history::tests::{actions, state};

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

    /// The format is promised to stay readable: these lines are version 1 as written.
    const VERSION_1: &str = r#"{"journal":{"version":1,"source":"run"}}
{"root":"compute"}
{"edit":{"set_labels":[{"program":0,"rank":4,"index":40,"label":"abnormal"}]}}
{"edit":{"set_labels":[{"program":0,"rank":4,"index":41,"label":"normal"}]}}
"undo"
{"edit":"train"}"#;

    /// And these are version 2.
    const VERSION_2: &str = r#"{"journal":{"version":2,"source":"run"}}
{"at_ns":1700000000000000000,"who":"ana","entry":{"root":"compute"}}
{"at_ns":1700000001000000000,"who":"ana","model":"00ff","root":"compute","entry":{"edit":{"set_labels":[{"program":0,"rank":4,"index":40,"label":"abnormal"}]}}}
{"at_ns":1700000002000000000,"root":"MPI_Wait","entry":{"edit":{"set_labels":[{"program":0,"rank":3,"step":7,"row":120,"label":"normal"}]}}}
{"at_ns":1700000003000000000,"entry":{"edit":{"set_mark":{"id":1,"range":{"from":5,"to":9},"text":"stop"}}}}
{"at_ns":1700000004000000000,"entry":"undo"}
{"at_ns":1700000005000000000,"entry":"redo"}"#;

    proptest! {
        #[test]
        fn replaying_gives_what_was_live(actions in actions()) {
            let mut live = History::default();
            let mut lines = vec![header_line("run", &RunIdentity::default())];
            for action in &actions {
                live.take(action);
                lines.push(action_line(action, Stamp::default()));
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
        assert!(!journal.is_current, "it needs a line that says version 2");
        assert_eq!(journal.root.as_deref(), Some("compute"));
        assert_eq!(
            csv(&journal, "compute"),
            "rank,index,label\n4,40,abnormal\n"
        );
    }

    #[test]
    fn version_2_is_read_and_written() {
        let journal = Journal::replay(&lines(VERSION_2)).unwrap();
        assert_eq!(journal.unreadable, []);
        assert!(journal.is_current);
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
        let mut written = Vec::new();
        for text in lines(VERSION_2) {
            let value: Value = serde_json::from_str(&text).unwrap();
            let Ok(StampedEntry { stamp, root, entry }) = serde_json::from_value(value) else {
                written.push(header_line("run", &RunIdentity::default()));
                continue;
            };
            written.push(match entry {
                Entry::Root(root) => root_line(&root, stamp),
                Entry::Edit(edit) => action_line(&HistoryStep::Edit { root, edit }, stamp),
                Entry::Undo => action_line(&HistoryStep::Undo, stamp),
                _ => action_line(&HistoryStep::Redo, stamp),
            });
        }
        assert_eq!(written, lines(VERSION_2));
    }

    #[test]
    fn the_first_line_says_the_run() {
        let written = r#"{"journal":{"version":2,"source":"run","run":{"programs":{"0":{"executables":["/opt/lmp"],"command_lines":[],"ranks":{"0":{"host":"n1","pid":7,"start":5}}}}}}}"#;
        let run = journal_run(written).unwrap();
        assert_eq!(run.name(), "lmp");
        assert_eq!(header_line("run", &run), written);
        let journal = Journal::replay(&lines(written)).unwrap();
        assert!(journal.is_current && journal.says_run);
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
    fn lines_that_make_no_sense_are_reported_and_the_rest_is_kept() {
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
        // Whatever else a newer program says in its first line.
        let line = r#"{"journal":{"version":3,"source":"x","moon":"full"}}"#;
        assert!(Journal::replay(&[line.to_owned()]).is_err());
    }
}
