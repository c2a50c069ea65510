//! The parameter server: merges the models and statistics of all AD instances.
//!
//! ```text
//! AD instance ─ ModelExchange ─ ExchangeSession ─ Transport ─┬─ InProcess ──────────────────┬─ ServerState ─┬─ models back
//!                               keeps what the               └─ gRPC (core/pserver/net) ────┘   partial     ├─ packets to viewers
//!                               server lacks                                                    states      └─ documents, incidents, trends, saved state
//! ```
//!
//! Nothing here opens a socket. An instance adds [`Contribution`]s, and so does a server's partial state. Contributions
//! merge in any order and grouping, so a session can send lost data again, merged or in parts. Incidents are those of
//! `core/incidents`, trends those of `core/trends`.

#![cfg_attr(
    not(test),
    warn(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_lossless
    )
)]

mod contribution;
mod error;
mod exchange_session;
mod final_anomalies;
mod functions;
mod in_process;
mod model_exchange;
mod monotonic_clock;
mod protocol;
pub mod record;
mod report;
mod state;
mod statistics;
mod tree_model_book;
mod tree_p_values;
mod trend;

pub use contribution::{Contribution, tree_p_values_bytes};
pub use error::{PserverError, Refusal};
pub use exchange_session::ExchangeSession;
pub use final_anomalies::FinalAnomalies;
pub use functions::{FunctionRequest, FunctionTable, MAX_FUNCTIONS};
pub use in_process::InProcess;
pub use model_exchange::{Hello, Link, ModelExchange, RunProgress, Synced, Welcome};
pub use monotonic_clock::MonotonicClock;
pub use protocol::{
    CodedModel, Cursor, LEASE_MS, PartNumber, PublishedModel, Registered, Retention, SyncReply,
    SyncRequest, Transport,
};
pub use report::{AnomalySummary, CounterReport, FunctionReport, StepReport};
pub use state::{
    ChangedModels, EXCHANGE_BOUNDS, ExchangeTimes, GlobalDocuments, GroupMerger, GroupProgress,
    GroupSum, LoggedPart, MergerStart, ProgramTally, ReportsText, RunTally, SavedGlobalState,
    ServerState, StateOptions, SumOrigin,
};
pub use statistics::{Metrics, Profile, RankKey, RankTotals, Statistics, StepSummary};
pub use tree_model_book::{
    InstanceModels, MAX_TREE_MODEL_BYTES, ModelInForce, ModelPublication, TreeModelBook,
    TreeModelInfo, TreeModelList, TreeModelUpdate, TreeModelVersion,
};
pub use tree_p_values::TreePValues;
pub use trend::{DueTrends, TrendDocument};
