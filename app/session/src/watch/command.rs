//! What a person may ask of the watched run.

use std::sync::Arc;

use callgrove_model::ExecLabel;

use super::{Page, QueryForm, RecordedIncident, Scope};

/// A wish, carried out by [`crate::Session::send`].
#[derive(Clone, PartialEq, Debug)]
pub enum WatchCommand {
    /// Watch the server at an address.
    Connect {
        /// As the person typed it.
        address: String,
        /// For a server that asks for one.
        token: Option<String>,
    },
    /// Stop watching; what is known stays.
    Disconnect,
    /// Hold still what is shown (or go on); nothing is lost meanwhile.
    Pause(bool),
    /// Go to another page.
    Show(Page),
    /// Choose a rank, a function and steps.
    Scope(Scope),
    /// Look up executions, and show them.
    Query(Box<QueryForm>),
    /// The executions of what is chosen, most severe first.
    QueryScope(Scope),
    /// More of the executions that were looked up.
    More,
    /// Show an execution's document: its place in the results.
    Open(usize),
    /// Show the record of an incident's root, or of another execution of it if there is none; all are looked up.
    OpenIncident(Arc<RecordedIncident>),
    /// To where the person was before.
    Back,
    /// Undo a step back.
    Forward,
}

impl WatchCommand {
    /// Looks up the record of one execution.
    pub fn query_event(label: ExecLabel) -> Self {
        Self::Query(Box::new(QueryForm {
            filter: format!("event_id = '{label}'"),
            ..QueryForm::default()
        }))
    }
}
