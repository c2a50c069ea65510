//! The options of opening a stream that is still being written.

use std::time::Duration;

use callgrove_model::ProgramId;

/// The way in which the steps of a running program arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiveEngine {
    /// Over the network, through SST of ADIOS2. Reader and writer need the same release of ADIOS2.
    Sst,
    /// Through a BP4 or BP5 folder to which the writer adds steps.
    Bp,
}

/// The options of opening a stream that is still being written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveOptions {
    /// The way in which the steps arrive.
    pub engine: LiveEngine,
    /// The index of the program in its workflow, which replaces TAU's own index, always 0.
    pub program: ProgramId,
    /// Longest wait for the writer.
    pub connect_timeout: Duration,
    /// Longest time without a step before the writer counts as dead; `None` waits without limit. A killed BP writer is
    /// detected only by this timeout. A killed SST writer is detected immediately.
    pub silence_timeout: Option<Duration>,
}

impl LiveOptions {
    /// Returns options that wait one minute for the writer, and without limit for steps.
    pub fn new(engine: LiveEngine) -> Self {
        Self {
            engine,
            program: ProgramId(0),
            connect_timeout: Duration::from_mins(1),
            silence_timeout: None,
        }
    }
}
