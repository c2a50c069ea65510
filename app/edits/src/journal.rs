//! The journal: one JSON line for each action of the user, written before it is applied.
//!
//! Replaying the lines gives the same history, and so the same models, bit for bit. Since version 2 a
//! line has its time, author and model; the bare lines of version 1 stay readable. Version 3 adds
//! labels that wait for an answer or apply to their executions only, and models that do not fit.

#[cfg(test)]
mod tests;

use callgrove_model::{RunIdentity, TimeNs};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::edit::Edit;
use crate::history::{History, HistoryStep};

/// The version that this program writes. It reads all versions up to it.
const VERSION: u32 = 3;

/// The content of a journal line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Entry {
    /// The first line, and the first of a newer version.
    Journal {
        /// Version of the format.
        version: u32,
        /// Source as the user named it.
        source: String,
        /// The run, as far as its trace identifies it. Since version 2.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunIdentity>,
    },
    /// The root function (name without arguments, or pattern) whose forest is shown.
    Root(String),
    /// An edit. Without a stamp it concerns the root function of the line before.
    Edit(Edit),
    /// The last edit was undone.
    Undo,
    /// It was redone.
    Redo,
    /// The training of the last edit waits for an answer. Since version 3.
    Ask,
}

/// A line with a stamp.
#[derive(Serialize, Deserialize)]
struct StampedEntry {
    #[serde(flatten)]
    stamp: Stamp,
    /// The root function that an edit concerns, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    entry: Entry,
}

/// Time and author of an action, and the model on screen.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Stamp {
    /// Time since the epoch.
    pub at_ns: TimeNs,
    /// Login name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub who: Option<String>,
    /// The model: its file, or a hash of its scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// The content of a journal.
#[derive(Debug, Default)]
pub struct Journal {
    /// The user's work.
    pub history: History,
    /// The root function that was shown last.
    pub root: Option<String>,
    /// Unreadable lines: number from 1, and cause.
    pub unreadable: Vec<(usize, String)>,
    /// True if a line has the version that this program writes.
    pub is_current: bool,
    /// True if a line names the run.
    pub has_run: bool,
}

/// A journal of a version that this program cannot read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NewerJournal {
    /// The version.
    pub version: u64,
}

/// Returns the first line of a journal.
pub fn header_line(source: &str, run: &RunIdentity) -> String {
    line(&Entry::Journal {
        version: VERSION,
        source: source.to_owned(),
        run: (!run.is_empty()).then(|| run.clone()),
    })
}

/// Returns the run of a journal, if `line` names it. Hosts use it to find the journal of a run.
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

/// Returns the line for the root function that is shown.
pub fn root_line(root: &str, stamp: Stamp) -> String {
    line(&StampedEntry {
        stamp,
        root: None,
        entry: Entry::Root(root.to_owned()),
    })
}

/// Returns the line of an action.
pub fn action_line(action: &HistoryStep, stamp: Stamp) -> String {
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
    /// Replays the lines. An unreadable line is skipped and reported.
    ///
    /// # Errors
    /// A newer program wrote to the journal, so the meaning of its lines is unknown.
    pub fn replay(lines: &[String]) -> Result<Self, NewerJournal> {
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
                self.has_run |= run.is_some();
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
            (Scope::Stamped { who, at_ns, .. }, _) => {
                let history = self.history.with_origin(who.as_deref(), Some(at_ns));
                history.apply(&action);
            }
            (Scope::CurrentRoot, Some(root)) => {
                let history = self.history.with_origin(None, None);
                history.apply_in_root(root, &action);
            }
            (Scope::CurrentRoot, None) => return Err("an edit before any root function".to_owned()),
        }
        if !self.is_current {
            self.history.clear_training();
        }
        Ok(())
    }
}

/// The root function that a line concerns.
enum Scope {
    /// The one that the line names.
    Stamped {
        root: Option<String>,
        who: Option<String>,
        at_ns: TimeNs,
    },
    /// The one of the line before, in version 1.
    CurrentRoot,
}

fn read(value: Value) -> Result<(Scope, Entry), serde_json::Error> {
    if value.get("entry").is_some() {
        let StampedEntry { stamp, root, entry } = serde_json::from_value(value)?;
        let Stamp { who, at_ns, .. } = stamp;
        Ok((Scope::Stamped { root, who, at_ns }, entry))
    } else {
        Ok((Scope::CurrentRoot, serde_json::from_value(value)?))
    }
}
