//! What is known of the watched run, and where the person is in it: a picture that views read.

use std::sync::Arc;

use callgrove_pserver::record::TrendRecord;

use super::visit::Visits;
use super::{Overview, Pace, RecordedIncident, Visit};

/// The watched run at one moment. Later pictures share what has not changed.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    pub(super) is_offered: bool,
    pub(super) address: String,
    pub(super) connection: Connection,
    /// Everything that is known.
    pub(super) newest: Arc<Known>,
    /// What the person sees while everything is held still.
    pub(super) held: Option<Arc<Known>>,
    pub(super) num_held_back: u64,
    pub(super) visits: Visits,
    pub(super) query: QueryState,
    /// The incident that the open document is of.
    pub(super) incident: Option<Arc<RecordedIncident>>,
}

/// How the window and the watched server stand.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Connection {
    /// No server yet.
    #[default]
    Idle,
    /// Asked, not yet answered.
    Connecting,
    /// Packets come.
    Live,
    /// The server does not answer.
    Lost {
        /// What happened and what to do about it.
        cause: String,
        /// When the carrier tries again; `None` if there is no sense in it.
        retry_in_ms: Option<u64>,
    },
    /// The run is over.
    Ended,
}

/// What becomes of the last question.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum QueryState {
    /// Nothing is asked.
    #[default]
    Idle,
    /// The question of this id is not answered yet.
    Asked(u64),
    /// It could not be asked or answered: what happened and what to do about it.
    Failed(String),
}

/// What is known of the run.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) overview: Overview,
    pub(super) pace: Pace,
    /// Those that cost most, the greatest first.
    pub(super) incidents: Arc<Vec<Arc<RecordedIncident>>>,
    pub(super) trends: Arc<Vec<TrendRecord>>,
    pub(super) revision: u64,
}

impl Watch {
    /// Whether the carrier can watch runs at all.
    pub fn is_offered(&self) -> bool {
        self.is_offered
    }

    /// Whether a run is watched or was, so that there is something to see or to wait for.
    pub fn is_attached(&self) -> bool {
        !self.address.is_empty()
    }

    /// Whether nothing was heard of the run yet.
    pub fn is_empty(&self) -> bool {
        let overview = self.overview();
        overview.ranks.is_empty() && overview.funcs.is_empty() && overview.counters.is_empty()
    }

    /// How window and server stand.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// The server that is or was watched, as the person typed it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What is shown of the run.
    pub fn overview(&self) -> &Overview {
        &self.shown().overview
    }

    /// How anomalies came in.
    pub fn pace(&self) -> &Pace {
        &self.shown().pace
    }

    /// The trends that hold, the costliest first; empty while none is recorded, and without a database.
    pub fn trends(&self) -> &[TrendRecord] {
        &self.shown().trends
    }

    /// The incidents that cost most, the greatest first; empty while none is recorded, and without a database.
    pub fn incidents(&self) -> &[Arc<RecordedIncident>] {
        &self.shown().incidents
    }

    /// The incident that the open document is of, if it is of one and was looked up.
    pub fn incident(&self) -> Option<&Arc<RecordedIncident>> {
        let document = self.visit().document.as_ref()?;
        let is_of = |it: &&Arc<RecordedIncident>| {
            Some(it.record.pid) == document.app && it.record.members.contains(&document.event_id)
        };
        self.incident.iter().find(is_of)
    }

    /// A number that changes whenever what [`Watch::overview`] and [`Watch::pace`] show changes.
    pub fn revision(&self) -> u64 {
        self.shown().revision
    }

    /// Whether what is shown is held still.
    pub fn is_paused(&self) -> bool {
        self.held.is_some()
    }

    /// Packets that came in since it is held still.
    pub fn num_held_back(&self) -> u64 {
        self.num_held_back
    }

    /// Where the person is.
    pub fn visit(&self) -> &Visit {
        self.visits.now()
    }

    /// Whether there is a place to go back to.
    pub fn can_go_back(&self) -> bool {
        self.visits.can_go_back()
    }

    /// Whether a step back can be undone.
    pub fn can_go_forward(&self) -> bool {
        self.visits.can_go_forward()
    }

    /// What becomes of the last question.
    pub fn query(&self) -> &QueryState {
        &self.query
    }

    fn shown(&self) -> &Known {
        self.held.as_ref().unwrap_or(&self.newest)
    }
}
