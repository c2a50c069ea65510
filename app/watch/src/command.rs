//! The commands that concern the watched run.

use std::sync::Arc;

use callgrove_model::ExecLabel;
use callgrove_overview::RankRange;

use crate::form::QueryForm;
use crate::incident::RecordedIncident;
use crate::scope::Scope;
use crate::visit::Page;

/// A command that [`Watcher::carry_out`](crate::Watcher::carry_out) carries out.
#[derive(Clone, PartialEq, Debug)]
pub enum WatchCommand {
    /// Watch the server at an address.
    Connect {
        /// As the user typed it.
        address: String,
        /// Access token, if the server requires one.
        token: Option<String>,
    },
    /// Stop watching; the data received so far is kept.
    Disconnect,
    /// Pause or resume the display. No data is lost while it is paused.
    Pause(bool),
    /// Go to another page.
    Show(Page),
    /// Select a rank, a function and steps.
    Scope(Scope),
    /// Show the ranks of a block one by one, or all blocks again.
    ShowRanks(Option<RankRange>),
    /// Query executions and show them.
    Query(Box<QueryForm>),
    /// Query the executions of a selection, most severe first.
    QueryScope(Scope),
    /// Fetch more of the executions that were looked up.
    More,
    /// Show the document of an execution, by its index in the results.
    Open(usize),
    /// Query all executions of an incident, and show the record of its root, or of another one if the root has no
    /// record.
    OpenIncident(Arc<RecordedIncident>),
    /// Go back.
    Back,
    /// Go forward again.
    Forward,
}

impl WatchCommand {
    /// Returns the command that looks up the record of one execution.
    pub fn query_event(label: ExecLabel) -> Self {
        Self::Query(Box::new(QueryForm {
            filter: format!("event_id = '{label}'"),
            ..QueryForm::default()
        }))
    }
}
