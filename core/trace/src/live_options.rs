//! How a stream that is still being written is opened.

use std::time::Duration;

use callgrove_model::ProgramId;

/// How the steps of a running program come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiveEngine {
    /// Over the network, by ADIOS2's SST; the reader needs the same release of ADIOS2 as the writer.
    Sst,
    /// Through a BP4 or BP5 folder that the writer adds steps to.
    Bp,
}

/// How a stream that is still being written is opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveOptions {
    /// How the steps come.
    pub engine: LiveEngine,
    /// The program of a workflow; TAU's own index, always 0, is replaced by it.
    pub program: ProgramId,
    /// How long to wait for the writer to be there.
    pub connect_timeout: Duration,
    /// After how long without a step the writer is taken for dead; `None` waits for ever. Only silence tells
    /// that the writer of a folder was killed; that of an SST stream is missed at once.
    pub silence_timeout: Option<Duration>,
}

impl LiveOptions {
    /// One minute to connect, and no end to silence.
    pub fn new(engine: LiveEngine) -> Self {
        Self {
            engine,
            program: ProgramId(0),
            connect_timeout: Duration::from_mins(1),
            silence_timeout: None,
        }
    }
}
