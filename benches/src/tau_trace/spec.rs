//! What a synthetic trace is made to, and what is known of it.

use callgrove_trace::WriterEngine;

/// Time of the first event, in microseconds since the epoch.
pub(super) const START_US: u64 = 1_795_231_715_000_000;
/// Event types, by their places in [`callgrove_trace::EVENT_TYPES`].
pub(super) const ENTRY: u64 = 0;
pub(super) const EXIT: u64 = 1;
pub(super) const SEND: u64 = 2;
pub(super) const RECV: u64 = 3;

/// What to make.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TauTraceSpec {
    /// Function events of each rank's CPU threads together; each thread makes an even number.
    pub num_events: u64,
    /// I/O steps of each rank.
    pub num_steps: u32,
    /// Threads of each rank.
    pub num_threads: u32,
    /// Ranks.
    pub num_ranks: u32,
    /// Share of the calls that are outliers.
    pub outlier_share: f64,
    /// Whether kernels run on a GPU.
    pub has_gpu: bool,
    /// Engine to write with.
    pub engine: WriterEngine,
    /// Seed of everything.
    pub seed: u64,
}

impl Default for TauTraceSpec {
    /// The size that the peer was measured with.
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

/// A call that was made an outlier.
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
    /// Time that it spends in itself.
    pub exclusive_us: u64,
}
