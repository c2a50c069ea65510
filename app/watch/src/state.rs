//! The state of the watched run and the position of the user in it, as the views read them.

use std::sync::Arc;

use callgrove_overview::{Overview, RankRange};
use callgrove_pserver::record::TrendRecord;

use crate::incident::RecordedIncident;
use crate::update_history::UpdateHistory;
use crate::visit::{Visit, Visits};

/// The state of the watched run. Later states share what has not changed.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    pub(crate) is_offered: bool,
    pub(crate) address: String,
    pub(crate) connection: Connection,
    /// The newest data.
    pub(crate) newest: Arc<WatchData>,
    /// The data on display while it is paused.
    pub(crate) held: Option<Arc<WatchData>>,
    pub(crate) num_waiting: u64,
    pub(crate) visits: Visits,
    pub(crate) query: QueryState,
    /// The incident of the open document.
    pub(crate) incident: Option<Arc<RecordedIncident>>,
    /// The ranks that were requested last, one by one.
    pub(crate) ranks: Option<Arc<(RankRange, Overview)>>,
    /// Number of answers with ranks so far.
    pub(crate) num_rank_answers: u64,
}

/// The state of the connection to the watched server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Connection {
    /// No server.
    #[default]
    Idle,
    /// The connection is requested, but not yet made.
    Connecting,
    /// Packets arrive.
    Live,
    /// The server does not respond.
    Lost {
        /// Cause and remedy, as text.
        cause: String,
        /// Time until the next attempt; `None` if the transport gives up.
        retry_in_ms: Option<u64>,
    },
    /// The run has ended.
    Ended,
}

/// The state of the last query.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum QueryState {
    /// No query.
    #[default]
    Idle,
    /// The query with this number is not answered yet.
    Asked(u64),
    /// The query failed: what happened and what to do about it.
    Failed(String),
}

/// The data of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchData {
    pub(crate) overview: Overview,
    pub(crate) updates: UpdateHistory,
    /// Incidents by descending delay.
    pub(crate) incidents: Arc<Vec<Arc<RecordedIncident>>>,
    pub(crate) trends: Arc<Vec<TrendRecord>>,
    pub(crate) revision: u64,
}

impl Watch {
    /// Returns whether the host application can watch runs.
    pub fn is_offered(&self) -> bool {
        self.is_offered
    }

    /// Returns whether a run is or was watched, so that there is data to show or to wait for.
    pub fn is_attached(&self) -> bool {
        !self.address.is_empty()
    }

    /// Returns whether no data of the run has arrived yet.
    pub fn is_empty(&self) -> bool {
        let overview = self.overview();
        overview.ranks.is_empty() && overview.funcs.is_empty() && overview.counters.is_empty()
    }

    /// Returns the state of the connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Returns the address of the server that is or was watched, as the user typed it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the overview on display.
    pub fn overview(&self) -> &Overview {
        &self.shown().overview
    }

    /// Returns the overview with the ranks that are shown: those of the open block of a job with many ranks, otherwise
    /// [`Watch::overview`]. `None` while those of the block have not arrived.
    pub fn shown_ranks(&self) -> Option<&Overview> {
        let Some(open) = self.open_block() else {
            return Some(self.overview());
        };
        let (range, overview) = self.ranks.as_deref()?;
        (*range == open).then_some(overview)
    }

    /// Returns the block whose ranks are shown one by one.
    pub fn open_block(&self) -> Option<RankRange> {
        let has_blocks = self.overview().blocks.is_some();
        self.visit().ranks.filter(|_| has_blocks)
    }

    /// Returns the history of the updates.
    pub fn updates(&self) -> &UpdateHistory {
        &self.shown().updates
    }

    /// Returns the current trends, the costliest first; empty while none is recorded, and without a database.
    pub fn trends(&self) -> &[TrendRecord] {
        &self.shown().trends
    }

    /// Returns the incidents by descending delay; empty while none is recorded, and without a database.
    pub fn incidents(&self) -> &[Arc<RecordedIncident>] {
        &self.shown().incidents
    }

    /// Returns the incident of the open document, if it belongs to one that was looked up.
    pub fn incident(&self) -> Option<&Arc<RecordedIncident>> {
        let document = self.visit().document.as_ref()?;
        let is_of = |it: &&Arc<RecordedIncident>| {
            Some(it.record.pid) == document.app && it.record.members.contains(&document.event_id)
        };
        self.incident.iter().find(is_of)
    }

    /// Returns a number that changes whenever the result of [`Watch::overview`], [`Watch::updates`] or the ranks of
    /// [`Watch::shown_ranks`] change.
    pub fn revision(&self) -> u64 {
        self.shown().revision + self.num_rank_answers
    }

    /// Returns whether the display is paused.
    pub fn is_paused(&self) -> bool {
        self.held.is_some()
    }

    /// Returns the number of packets that arrived during the pause.
    pub fn num_waiting(&self) -> u64 {
        self.num_waiting
    }

    /// Returns the position of the user.
    pub fn visit(&self) -> &Visit {
        self.visits.now()
    }

    /// Returns whether there is a position to go back to.
    pub fn can_go_back(&self) -> bool {
        self.visits.can_go_back()
    }

    /// Returns whether there is a position to go forward to.
    pub fn can_go_forward(&self) -> bool {
        self.visits.can_go_forward()
    }

    /// Returns the state of the last query.
    pub fn query(&self) -> &QueryState {
        &self.query
    }

    fn shown(&self) -> &WatchData {
        self.held.as_ref().unwrap_or(&self.newest)
    }
}
