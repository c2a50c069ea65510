//! The live view of a running pipeline, without a screen.
//!
//! A carrier (a thread with HTTP on the desktop) fetches what the server says and never makes the
//! views wait: [`MonitorRequest`]s go out, [`MonitorUpdate`]s come in. [`Monitor`] keeps what is
//! known and where the person is; views read it and push [`MonitorCommand`]s.
//!
//! ```text
//! views ── MonitorCommand ──▶ Monitor ── MonitorRequest ──▶ carrier ──▶ server
//!   ▲                            │  ▲                          │
//!   └────────── reads ───────────┘  └────── MonitorUpdate ─────┘
//! ```

mod carrier;
mod command;
pub mod document;
mod field;
mod form;
mod heat;
mod pace;
mod place;
mod ranking;
mod state;
#[cfg(test)]
mod tests;

pub use callgrove_detect::RunStats;
pub use callgrove_pserver::overview::{
    FuncOnRank, FuncOverview, Overview, RankOverview, StepSpan, summed_stats,
};
pub use callgrove_pserver::packet::{self, CounterStats, MetricsData, Packet};
pub use carrier::{MonitorCarrier, MonitorHandle, MonitorRequest, MonitorUpdate, QueryRequest};
pub use command::MonitorCommand;
pub use document::{EventWindow, ExecutionDocument, WindowLayout};
pub use field::{ExecutionField, FieldUnit};
pub use form::{Collection, FormError, QueryForm, SortField, TimeUnit};
pub use heat::{HeatColumn, HeatMap, HeatRow};
pub use pace::{Pace, PaceEntry, RecentMetrics};
pub use place::{Focus, Page, Place, Results};
pub use ranking::{Measure, Ranked, RankedEnd, Ranking, Statistic, ranked_funcs, ranked_ranks};
pub use state::{Connection, Monitor, QueryState};
