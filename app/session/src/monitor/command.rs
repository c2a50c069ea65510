//! What a person may ask of the monitor.

use super::{Focus, Page, QueryForm};

/// A wish, carried out by [`super::Monitor::carry_out`].
#[derive(Clone, PartialEq, Debug)]
pub enum MonitorCommand {
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
    Focus(Focus),
    /// Look up executions, and show them.
    Query(Box<QueryForm>),
    /// The executions of what is chosen, most severe first.
    QueryFocus(Focus),
    /// More of the executions that were looked up.
    More,
    /// Show an execution's document: its place in the results.
    Open(usize),
    /// To where the person was before.
    Back,
    /// Undo a step back.
    Forward,
}
