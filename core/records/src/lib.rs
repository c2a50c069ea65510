//! Provenance records of judged executions: what they contain, and how they are stored.
//!
//! ```text
//! state of a rank after a judged step ─ RecordBuilder ─ documents ─ ProvenanceWriter (a thread) ─ store
//! ```

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod budget;
mod error;
mod event_window;
mod gpu;
mod left_out;
mod node_state;
mod provenance_writer;
mod record_builder;
mod selection;

pub use budget::{BudgetShare, DocumentBudget, DocumentPriority};
pub use error::RecordsError;
pub use gpu::{CORRELATION_ID, GpuThreads, Launches};
pub use left_out::{LEFT_OUT, has_left_out, left_out_document};
pub use node_state::{NodeWatch, epoch_us};
pub use provenance_writer::{ProvenanceWriter, StorageStatus};
pub use record_builder::{
    ExecPosition, JudgedLane, KernelLaunch, NamedFunction, RecordBuilder, StepTimes,
};
pub use selection::{CandidateKind, RecordCandidate, RecordSelection};
