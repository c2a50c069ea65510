//! Mergeable statistics of execution times, and the detectors HBOS, SSTD and COPOD on top of them.

mod run_stats;

pub use run_stats::RunStats;
