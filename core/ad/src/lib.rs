//! On-node anomaly detection: turns the steps of ranks into judged executions, provenance records and statistics.
//!
//! ```text
//! EventStream ─ StreamReader ─ RankDetector (call stacks) ─┬─ model deltas ─ ModelExchange ┐
//!                                                          └─ judged by the models back ◄──┘
//!                                                             │           │
//!                            ProvenanceWriter (a thread) ─ ProvDB     reports ─ ModelExchange
//! ```
//!
//! An [`Instance`] works in rounds. Each round processes one step of every stream that has one. The executions that
//! ended in it are added to the models. Executions of live streams are judged by the returned models, which include
//! them. Anomalies and a sample of normal executions become records, and the rest is dropped. Recorded streams are read
//! twice: in the first pass the models learn; once they include all ranks, the second pass judges everything by them.
//! The stored records of live streams are judged again at the end. So the records depend on neither threads nor
//! processes nor speed.
//!
//! One worker reads a step of a recorded rank, and processes and judges it in the worker's own memory. Each live stream
//! has a thread that reads ahead.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod announcements;
mod by_function;
mod compiled_model;
mod error;
mod functions;
mod instance;
mod options;
mod outliers;
mod own_times;
mod rank_detector;
mod rank_trees;
mod rules;
mod stall_summary;
mod stream_reader;
mod tree_models;

pub use callgrove_records::{DocumentBudget, LEFT_OUT, RecordsError, StorageStatus};
pub use error::AdError;
pub use instance::{ExpectedStreams, Instance, LateStreams, Status, Stream};
pub use options::{AdOptions, OutlierStatistic, Pacing};
pub use rules::{FunctionRules, Watchlist};
pub use stream_reader::{OpenStream, WriterGone};
pub use tree_models::TreeOptions;
