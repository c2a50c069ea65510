//! The watched run without a user interface: a live pipeline, or the database of a finished run.
//!
//! A transport (threads with HTTP on the desktop) talks to the server and never blocks the views:
//! [`WatchRequest`]s go out, [`WatchUpdate`]s come in. A [`Watcher`] keeps the data and the position of the user; views
//! read them as [`Watch`], a part of the snapshots of a session.
//!
//! ```text
//! views ── WatchCommand ──▶ Watcher ── WatchRequest ──▶ transport ──▶ server
//!   ▲                        │  ▲                           │
//!   └──────── Watch ─────────┘  └────── WatchUpdate ────────┘
//!               ├─ overview, history of updates ─▶ rankings, heat map
//!               └─ visits: query ─▶ results ─▶ documents (executions) and incidents
//!
//! records of trees ── recorded_forest ─▶ forest
//! ```
//!
//! Callers pass in addresses and messages; nothing here touches a socket or a clock.

mod command;
pub mod document;
mod field;
mod form;
mod heat;
mod incident;
#[cfg(test)]
mod many_ranks_tests;
mod state;
mod transport;
mod update_history;

mod ranking;
mod recorded_trees;
mod scope;
#[cfg(test)]
mod tests;
mod trend;
mod visit;
mod watcher;

pub use callgrove_detect::RunStats;
pub use callgrove_overview::packet::{self, CounterStats, MetricsData, Packet, PacketDigest};
pub use callgrove_overview::{
    FuncOnRank, FuncOverview, Overview, RankBlock, RankBlocks, RankOverview, RankRange, StepSpan,
    merged_stats,
};
pub use callgrove_provdb::Collection;
pub use callgrove_pserver::record::TrendRecord;
pub use command::WatchCommand;
pub use document::{ExecutionDocument, RecordWindow};
pub use field::{ExecutionField, FieldUnit};
pub use form::{FormError, QueryForm, RecordCollection, SortField, TimeUnit};
pub use heat::{HeatColumn, HeatMap, HeatRow};
pub use incident::RecordedIncident;
pub use ranking::{Measure, Ranked, RankedEnd, Ranking, Statistic, ranked_funcs, ranked_ranks};
pub use recorded_trees::{RECORDED_TREES, recorded_forest};
pub use scope::Scope;
pub use state::{Connection, QueryState, Watch};
pub use transport::{
    ConnectionId, DocumentsRequest, QueryRequest, WatchHandle, WatchRequest, WatchTransport,
    WatchUpdate,
};
pub use update_history::{RecentMetrics, UpdateEntry, UpdateHistory};
pub use visit::{Page, Results, Visit};
pub use watcher::Watcher;
