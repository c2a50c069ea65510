//! The parts of a server that monitoring reports on.

use std::sync::Arc;

use callgrove_provdb_net::ServedMonitor;
use callgrove_pserver::{MonotonicClock, RunTally, ServerState};

use super::document_counts::DocumentCounts;
use super::health::DatabaseHealth;

/// The parts of a process that are monitored. By default only liveness is reported.
#[derive(Clone, Debug, Default)]
pub struct Monitored {
    /// The parameter server.
    pub state: Option<Arc<ServerState>>,
    /// The health of its database.
    pub database: Option<Arc<DatabaseHealth>>,
    /// The documents of the AD instance in this process, if it has one that stores documents.
    pub instance_documents: Option<Arc<DocumentCounts>>,
    /// The database that this process serves.
    pub served: Option<ServedMonitor>,
    /// The clock for the age of reports.
    pub clock: MonotonicClock,
}

impl Monitored {
    pub(super) fn tally(&self) -> Option<RunTally> {
        let state = self.state.as_ref()?;
        Some(state.tally(self.clock.now_ms()))
    }
}
