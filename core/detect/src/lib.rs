//! Mergeable statistics of execution times, and the detectors HBOS, SSTD and COPOD on top of them.
//!
//! ```text
//! times of a step ─ FuncModel::extend ─ FuncModel::merge ─ Judge::new ─ Judge::judge ─ Verdict
//!                   (Moments, Histogram)  (all ranks)                    each execution
//! ```

mod copod;
mod error;
mod grid;
mod hbos;
mod histogram;
mod isolation;
mod judge;
mod lookup;
mod model;
mod moments;
mod params;
mod run_stats;
mod threshold;

pub use error::{DetectError, Result};
pub use histogram::{Bin, Histogram};
pub use judge::{Judge, Verdict};
pub use model::FuncModel;
pub use moments::Moments;
pub use params::{Algorithm, Params, ValidParams};
pub use run_stats::RunStats;
