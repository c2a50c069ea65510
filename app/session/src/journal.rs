//! The journal: one JSON line for everything the person did, written before it is applied.
//!
//! Replaying the lines gives the same history, and so the same models, bit for bit. Since version 2 a
//! line says when, who and with which model; the bare lines of version 1 are read for ever. Version 3 has
//! labels that wait for an answer, or stand for their executions alone, and models that do not fit.

#[cfg(test)]
mod tests;

use callgrove_model::{RunIdentity, TimeNs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::edit::Edit;
use crate::history::{History, HistoryStep};

/// The version that this program writes; it reads all versions up to it.
const VERSION: u32 = 3;

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
    /// What the last edit teaches waits for an answer. Since version 3.
    Ask,
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
        HistoryStep::Ask => (None, Entry::Ask),
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
            Scope::Stamped { root, .. } => root.clone(),
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
            Entry::Ask => HistoryStep::Ask,
        };
        match (scope, &self.root) {
            (Scope::Stamped { who, .. }, _) => {
                self.history.by(who.as_deref()).take(&action);
            }
            (Scope::CurrentRoot, Some(root)) => {
                self.history.by(None).take_in_root(root, &action);
            }
            (Scope::CurrentRoot, None) => return Err("an edit before any root function".to_owned()),
        }
        if !self.is_current {
            self.history.settle();
        }
        Ok(())
    }
}

/// What a line is about.
enum Scope {
    /// What it says itself.
    Stamped {
        root: Option<String>,
        who: Option<String>,
    },
    /// In version 1: the root function of the line before.
    CurrentRoot,
}

fn read(value: Value) -> Result<(Scope, Entry), serde_json::Error> {
    if value.get("entry").is_some() {
        let StampedEntry { stamp, root, entry } = serde_json::from_value(value)?;
        let who = stamp.who;
        Ok((Scope::Stamped { root, who }, entry))
    } else {
        Ok((Scope::CurrentRoot, serde_json::from_value(value)?))
    }
}
