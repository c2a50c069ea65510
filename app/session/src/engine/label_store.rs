//! The user's work on a run: the history, and the journal that stores it.

use callgrove_edits::{
    Effects, History, HistoryStep, Journal, NewerJournal, Stamp, action_line, header_line,
    root_line,
};
use callgrove_model::RunIdentity;

use super::error::CommandError;
use crate::host::{Host, HostError, JournalWriter, OpenJournal};
use crate::snapshot::Severity;

/// The history of a run and its journal.
pub(super) struct LabelStore {
    history: History,
    last_root: Option<String>,
    /// `None` if labels are only in memory.
    journal: Option<WrittenJournal>,
}

struct WrittenJournal {
    writer: Box<dyn JournalWriter>,
    place: String,
    /// Lines to be written before any others.
    unwritten: Vec<String>,
}

/// Severity and text of a message to the user.
pub(super) type StoreNotice = (Severity, String);

impl LabelStore {
    /// Opens the journal of a run and replays it.
    pub(super) fn open(
        host: &mut dyn Host,
        source: &str,
        run: &RunIdentity,
    ) -> (Self, Vec<StoreNotice>) {
        let mut messages = Vec::new();
        let (journal, written) = match host.open_journal(source, run) {
            Err(error) => {
                let text =
                    format!("Labels cannot be journalled and would be lost in a crash: {error}.");
                messages.push((Severity::Warning, text));
                (Journal::default(), None)
            }
            Ok(OpenJournal {
                lines,
                place,
                writer,
            }) => match Journal::replay(&lines) {
                Err(NewerJournal { version }) => {
                    let text = format!(
                        "The journal {place} was written by a newer Callgrove (version {version}). Its labels are \
                         not shown, and labels given now are not kept; open the trace with the newer one, or save \
                         the session to a file."
                    );
                    messages.push((Severity::Warning, text));
                    (Journal::default(), None)
                }
                Ok(journal) => {
                    let unwritten = if journal.is_current && (journal.has_run || run.is_empty()) {
                        Vec::new()
                    } else {
                        vec![header_line(source, run)]
                    };
                    let written = WrittenJournal {
                        writer,
                        place,
                        unwritten,
                    };
                    (journal, Some(written))
                }
            },
        };
        messages.extend(journal.unreadable.iter().map(|(number, cause)| {
            let text = format!("Line {number} of the journal was skipped: {cause}.");
            (Severity::Warning, text)
        }));
        let num_labels = journal.history.num_labels();
        if num_labels > 0 {
            let text = match num_labels {
                1 => "The label of your last session was restored.".to_owned(),
                _ => format!("{num_labels} labels of your last session were restored."),
            };
            messages.push((Severity::Info, text));
        }
        let label_store = Self {
            history: journal.history,
            last_root: journal.root,
            journal: written,
        };
        (label_store, messages)
    }

    /// Returns the user's work.
    pub(super) fn history(&self) -> &History {
        &self.history
    }

    /// Returns the root function of the last session.
    pub(super) fn last_root(&self) -> Option<&str> {
        self.last_root.as_deref()
    }

    /// Returns the location of the journal, as text.
    pub(super) fn place(&self) -> Option<&str> {
        self.journal.as_ref().map(|journal| journal.place.as_str())
    }

    /// Journals an action and carries it out; `None` if there is nothing to undo or redo.
    pub(super) fn apply(
        &mut self,
        action: &HistoryStep,
        stamp: Stamp,
    ) -> Result<Option<Effects>, CommandError> {
        if !self.history.can_apply(action) {
            return Ok(None);
        }
        let (who, at) = (stamp.who.clone(), stamp.at_ns);
        if let Some(journal) = &mut self.journal {
            journal.unwritten.push(action_line(action, stamp));
            if let Err(error) = journal.write() {
                journal.unwritten.pop();
                return Err(error.into());
            }
        }
        let history = self.history.with_origin(who.as_deref(), Some(at));
        Ok(Some(history.apply(action)))
    }

    /// Carries out an action. [`LabelStore::write`] writes its line.
    pub(super) fn apply_unwritten(&mut self, action: &HistoryStep, stamp: Stamp) {
        let at = Some(stamp.at_ns);
        let history = self.history.with_origin(stamp.who.as_deref(), at);
        history.apply(action);
        self.write_later(action_line(action, stamp));
    }

    /// Changes the result of the last action; `false` if nothing changed. [`LabelStore::write`] writes the line.
    pub(super) fn amend(&mut self, action: &HistoryStep, stamp: Stamp) -> bool {
        let at = Some(stamp.at_ns);
        let history = self.history.with_origin(stamp.who.as_deref(), at);
        let changed = history.apply(action);
        let is_changed = changed.root.is_some();
        if is_changed {
            self.write_later(action_line(action, stamp));
        }
        is_changed
    }

    /// Records that the forest of another root function is shown. [`LabelStore::write`] writes the line.
    pub(super) fn enter_root(&mut self, root: &str, stamp: Stamp) {
        self.last_root = Some(root.to_owned());
        self.write_later(root_line(root, stamp));
    }

    /// Writes the pending lines. Lines that cannot be written now are retried with the next line.
    pub(super) fn write(&mut self) -> Result<(), HostError> {
        self.journal.as_mut().map_or(Ok(()), WrittenJournal::write)
    }

    fn write_later(&mut self, line: String) {
        if let Some(journal) = &mut self.journal {
            journal.unwritten.push(line);
        }
    }
}

impl WrittenJournal {
    fn write(&mut self) -> Result<(), HostError> {
        let mut num_written = 0;
        let written = self.unwritten.iter().try_for_each(|line| {
            self.writer.append(line)?;
            num_written += 1;
            Ok(())
        });
        self.unwritten.drain(..num_written);
        written
    }
}
