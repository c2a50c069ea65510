//! The parameters of a synthetic trace, and its known outliers.

use callgrove_tau::WriterEngine;

/// Time of the first event, in microseconds since the epoch.
pub(super) const START_US: u64 = 1_795_231_715_000_000;
/// Index of ENTRY in [`callgrove_tau::EVENT_TYPES`].
pub(super) const ENTRY: u64 = 0;
/// Index of EXIT.
pub(super) const EXIT: u64 = 1;
/// Index of SEND.
pub(super) const SEND: u64 = 2;
/// Index of RECV.
pub(super) const RECV: u64 = 3;

/// The trace to generate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TauTraceSpec {
    /// Total number of function events of each rank's CPU threads; each thread makes an even number.
    pub num_events: u64,
    /// Number of I/O steps of each rank.
    pub num_steps: u32,
    /// Number of threads of each rank.
    pub num_threads: u32,
    /// Number of ranks.
    pub num_ranks: u32,
    /// Fraction of the calls that are outliers.
    pub outlier_share: f64,
    /// True if kernels run on a GPU.
    pub has_gpu: bool,
    /// Engine to write with.
    pub engine: WriterEngine,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for TauTraceSpec {
    /// The size that the other tool was measured with.
    fn default() -> Self {
        Self {
            num_events: 4_000_000,
            num_steps: 20,
            num_threads: 4,
            num_ranks: 1,
            outlier_share: 1_015.0 / 2_000_000.0,
            has_gpu: false,
            engine: WriterEngine::Bp4,
            seed: 1,
        }
    }
}

/// A call that is an outlier.
#[derive(Clone, PartialEq, Debug)]
pub struct Outlier {
    /// Rank.
    pub rank: u32,
    /// Step of its ENTRY.
    pub step: u32,
    /// Row of its ENTRY in the function events of the step.
    pub row: u64,
    /// Thread.
    pub thread: u32,
    /// Function.
    pub function: String,
    /// Its exclusive time.
    pub exclusive_us: u64,
}
