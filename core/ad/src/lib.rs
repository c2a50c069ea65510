//! On-node anomaly detection: steps of ranks become judged executions, provenance and statistics.
//!
//! ```text
//! TraceSource ─ Feed (a thread) ─ Follower (call stacks, groups) ─┬─ model deltas ─ ModelExchange ┐
//!                                                                 └─ judged by the models back ◄──┘
//!                                                                    │           │
//!                                               Writer (a thread) ─ ProvDB     reports ─ ModelExchange
//! ```
//!
//! An [`Instance`] works in rounds. In each, one step of every stream that has one is taken in; what ended
//! in it goes to the models; the models that come back, which include it, judge it; the anomalies and a sample of
//! normal executions become records, and the rest is forgotten. With recorded streams the rounds, and
//! with that the result, do not depend on threads or speed.

mod error;
mod feed;
mod follow;
mod gpu;
mod group;
mod instance;
mod node_state;
mod options;
mod rules;
mod scene;
mod writer;

pub use error::AdError;
pub use instance::{Instance, Status, Stream};
pub use options::{AdOptions, Pace, Statistic};
pub use rules::{FunctionRules, Watchlist};
pub use writer::Stored;
