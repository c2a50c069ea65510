//! The trace of one thread.

use crate::executions::Executions;
use crate::id::{ProgramId, RankId, ThreadId};
use crate::lane_events::{Comms, Counters};

/// One thread of one rank of one program.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Program.
    pub program: ProgramId,
    /// Rank.
    pub rank: RankId,
    /// Thread.
    pub thread: ThreadId,
    /// Executions in order of entry.
    pub executions: Executions,
    /// Messages in order of time.
    pub comms: Comms,
    /// Counter samples in order of time.
    pub counters: Counters,
}
