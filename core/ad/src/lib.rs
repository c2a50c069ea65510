//! On-node anomaly detection: steps of ranks become judged executions, provenance and statistics.
//!
//! ```text
//! TraceSource ─ StreamReader ─ RankDetector (call stacks) ─┬─ model deltas ─ ModelExchange ┐
//!                                                          └─ judged by the models back ◄──┘
//!                                                             │           │
//!                            ProvenanceWriter (a thread) ─ ProvDB     reports ─ ModelExchange
//! ```
//!
//! An [`Instance`] works in rounds. In each, one step of every stream that has one is taken in; what ended
//! in it goes to the models; of live streams, the models that come back, which include it, judge it; the anomalies and a
//! sample of normal executions become records, and the rest is forgotten. Recorded streams are read twice: first the models
//! learn, then, when they hold what all ranks told, all is judged by them. Of live streams, what is stored is judged again at
//! the end. So what is recorded depends on neither threads nor processes nor speed.
//!
//! A step of a recorded rank is read by one worker, and taken in and judged by one, in memory that is the worker's. Each
//! live stream has a thread that reads ahead.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod announced;
mod brief;
mod by_function;
mod compiled_model;
mod error;
mod event_window;
mod found;
mod gaps;
mod gpu;
mod instance;
mod message_numbers;
mod node_state;
mod options;
mod own_times;
mod provenance_writer;
mod rank_counters;
mod rank_detector;
mod rank_trees;
mod record_builder;
mod rules;
mod stream_reader;
mod tree_models;

pub use error::AdError;
pub use instance::{Instance, Status, Stream};
pub use options::{AdOptions, OutlierStatistic, Pacing};
pub use provenance_writer::StorageStatus;
pub use rules::{FunctionRules, Watchlist};
pub use stream_reader::OpenStream;
pub use tree_models::TreeOptions;
