//! The journal: one JSON line for everything the person did, written before it is applied.
//!
//! Replaying the lines gives the same histories, and so the same models, bit for bit.

use std::collections::BTreeMap;
use std::fmt;

use callgrove_model::{Label, TreeCode};
use serde::{Deserialize, Serialize};

use crate::history::History;
use crate::label::label_name;
use crate::session_file::SavedState;
use crate::{ModelSettings, TreeKey};

/// The version that this program writes; it reads all versions up to it.
const VERSION: u32 = 1;

/// A line of the journal.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Entry {
    /// The first line.
    Journal {
        /// Version of the format.
        version: u32,
        /// Source as the person named it.
        source: String,
    },
    /// The root function (name without arguments, or pattern) that the following lines are about.
    Root(String),
    /// An edit.
    Edit(Edit),
    /// The last edit was taken back.
    Undo,
    /// It was done again.
    Redo,
}

/// Something that changes what the person made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Edit {
    /// Labels given or taken away.
    SetLabels(Vec<LabelChange>),
    /// The model learns the labels given so far.
    Train,
    /// Every label trains at once, or not.
    AutoTrain(bool),
    /// The own model has other settings; `None` are the defaults.
    Tune(Option<ModelSettings>),
    /// Scores of a model file are shown.
    LoadModel(String),
    /// Everything is as in a saved session.
    Restore(SavedState),
}

/// A label given to a tree, or taken away.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct LabelChange {
    /// The tree.
    #[serde(flatten)]
    pub(crate) tree: TreeKey,
    /// The label; `None` takes it away.
    pub(crate) label: Option<Label>,
}

/// What the journal of a source holds.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    /// Histories by root function.
    pub(crate) histories: BTreeMap<String, History>,
    /// The root function of the last line.
    pub(crate) root: Option<String>,
    /// Lines that could not be understood: number from 1 and cause.
    pub(crate) unreadable: Vec<(usize, String)>,
}

impl Entry {
    /// The first line of a journal.
    pub(crate) fn header(source: &str) -> Self {
        Self::Journal {
            version: VERSION,
            source: source.to_owned(),
        }
    }

    /// The line, without its end.
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).expect("an entry has string keys only")
    }
}

impl Journal {
    /// Does again what the lines say. A line that cannot be understood is left out and reported.
    pub(crate) fn replay(lines: &[String]) -> Self {
        let mut journal = Self::default();
        for (at, line) in lines.iter().enumerate() {
            let result = serde_json::from_str(line).map_err(|error| error.to_string());
            if let Err(cause) = result.and_then(|entry| journal.take(entry)) {
                journal.unreadable.push((at + 1, cause));
            }
        }
        journal
    }

    fn take(&mut self, entry: Entry) -> Result<(), String> {
        match entry {
            Entry::Journal { version, .. } if version > VERSION => {
                return Err(format!(
                    "version {version} is newer than this program, which knows {VERSION}"
                ));
            }
            Entry::Journal { .. } => {}
            Entry::Root(root) => {
                self.histories.entry(root.clone()).or_default();
                self.root = Some(root);
            }
            Entry::Edit(edit) => self.current()?.apply(&edit),
            Entry::Undo => {
                self.current()?.undo();
            }
            Entry::Redo => {
                self.current()?.redo();
            }
        }
        Ok(())
    }

    fn current(&mut self) -> Result<&mut History, String> {
        let root = self
            .root
            .as_ref()
            .ok_or("an edit before any root function")?;
        Ok(self.histories.entry(root.clone()).or_default())
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SetLabels(changes) => match &changes[..] {
                [LabelChange { tree, label }] => {
                    let code = TreeCode {
                        rank: tree.rank,
                        index: tree.index,
                    };
                    match label {
                        Some(label) => write!(f, "label {code} {}", label_name(*label)),
                        None => write!(f, "remove the label of {code}"),
                    }
                }
                changes => write!(f, "label {} trees", changes.len()),
            },
            Self::Train => f.write_str("train"),
            Self::AutoTrain(true) => f.write_str("train after every label"),
            Self::AutoTrain(false) => f.write_str("train only when asked"),
            Self::Tune(Some(ModelSettings { nu, gamma })) => {
                write!(f, "set ν to {nu} and the kernel to {gamma}")
            }
            Self::Tune(None) => f.write_str("set ν and kernel to their defaults"),
            Self::LoadModel(path) => write!(f, "load model {path}"),
            Self::Restore(_) => f.write_str("open a saved session"),
        }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::{ProgramId, RankId};

    use super::*;

    fn label_line(index: u32, label: Option<Label>) -> String {
        let tree = TreeKey {
            program: ProgramId(0),
            rank: RankId(4),
            index,
        };
        Entry::Edit(Edit::SetLabels(vec![LabelChange { tree, label }])).to_line()
    }

    /// The format is promised to stay readable: these lines are version 1 as written.
    const VERSION_1: [&str; 6] = [
        r#"{"journal":{"version":1,"source":"run"}}"#,
        r#"{"root":"compute"}"#,
        r#"{"edit":{"set_labels":[{"program":0,"rank":4,"index":40,"label":"abnormal"}]}}"#,
        r#"{"edit":{"set_labels":[{"program":0,"rank":4,"index":41,"label":"normal"}]}}"#,
        r#""undo""#,
        r#"{"edit":"train"}"#,
    ];

    #[test]
    fn version_1_lines_are_read_and_written() {
        let lines = VERSION_1.map(str::to_owned);
        for line in &lines {
            assert_eq!(
                serde_json::from_str::<Entry>(line).unwrap().to_line(),
                *line
            );
        }
        let journal = Journal::replay(&lines);
        assert_eq!(journal.unreadable, []);
        assert_eq!(
            journal.histories["compute"].now().labels.to_csv(),
            "rank,index,label\n4,40,abnormal\n"
        );
    }

    #[test]
    fn every_root_function_has_its_own_labels() {
        let root = |name: &str| Entry::Root(name.into()).to_line();
        let lines = [
            root("a"),
            label_line(1, Some(Label::Normal)),
            root("b"),
            label_line(2, Some(Label::Abnormal)),
            root("a"),
        ];
        let journal = Journal::replay(&lines);
        assert_eq!(journal.root.as_deref(), Some("a"));
        assert_eq!(journal.histories["a"].now().labels.len(), 1);
        assert_eq!(
            journal.histories["b"].undo_text(),
            Some("label #4-2 abnormal")
        );
    }

    #[test]
    fn lines_that_make_no_sense_are_reported_and_the_rest_is_kept() {
        let lines = [
            label_line(1, None),
            Entry::Root("a".into()).to_line(),
            "{\"edit\":{\"set_la".to_owned(),
            label_line(1, Some(Label::Normal)),
        ];
        let journal = Journal::replay(&lines);
        let numbers: Vec<_> = journal
            .unreadable
            .iter()
            .map(|(number, _)| *number)
            .collect();
        assert_eq!(numbers, [1, 3]);
        assert_eq!(journal.histories["a"].now().labels.len(), 1);
    }

    #[test]
    fn a_newer_journal_is_refused() {
        let journal = Journal::replay(&[r#"{"journal":{"version":99,"source":"x"}}"#.to_owned()]);
        assert_eq!(journal.unreadable.len(), 1);
    }
}
