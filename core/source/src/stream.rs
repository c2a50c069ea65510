//! The interface of every reader of events: the steps of a stream, one after another.

use std::time::Duration;

use callgrove_model::{
    CounterId, FuncId, NameTable, ProgramId, RankId, StepBatch, TimeNs, Warnings,
};

use crate::error::SourceError;

/// An attribute of a stream: its name and its text.
pub type Announcement = (String, String);

/// The answer to a request for the next step.
#[derive(Debug)]
pub enum Next {
    /// A step.
    Step(Box<StepBatch>),
    /// No step arrived within the given time, and the writer has not ended the stream.
    NotReady,
    /// The reader read on without completing a step. Another call continues.
    Reading,
    /// All steps were read.
    End,
}

/// The contents of a part that a reader asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Projection {
    /// The index of the program in its workflow, for a format whose files do not state it; 0 in a run of one program.
    pub program: ProgramId,
    /// The ranks to read.
    pub ranks: Ranks,
    /// A time of the run, from [`EventStream::late_clock`] of a stream that read the part before.
    pub clock: Option<TimeNs>,
}

/// The ranks to read of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ranks {
    /// All that one pass can deliver. Further streams read those in [`EventStream::other_ranks`].
    #[default]
    All,
    /// One rank. Others are read by other streams, so they are not counted as lost.
    One(ProgramId, RankId),
    /// The rank of the part. Rows of others are lost, and counted.
    Own,
}

/// The events of a part, read step by step.
///
/// A step is what the tracer wrote at a time, or a fixed number of events where the format has no such unit, so that
/// the labels of executions do not depend on how fast they are read. Its events are of one rank.
///
/// After an error the stream returns no more steps.
pub trait EventStream: Send {
    /// Returns the next step, and waits for it no longer than `wait`.
    ///
    /// The names of its ids are in [`EventStream::names`] and [`EventStream::counter_names`] from then on.
    ///
    /// # Errors
    /// Any [`SourceError`] that concerns one part.
    fn next_step(&mut self, wait: Duration) -> Result<Next, SourceError>;

    /// Returns the rank that the stream states, if it has one; before the first step, the rank in its file name.
    fn rank(&self) -> Option<RankId>;

    /// Returns the number of ranks of the run, if the stream has stated it.
    fn num_ranks(&self) -> Option<u32>;

    /// Returns the share of the stream that was read, from 0 to 1; 0 if its length is unknown.
    fn position(&self) -> f32;

    /// Returns the function names so far. The ids are this stream's own.
    fn names(&self) -> &NameTable<FuncId>;

    /// Returns the counter names so far. The ids are this stream's own.
    fn counter_names(&self) -> &NameTable<CounterId>;

    /// Returns the identity of a stream that announces each name only once, which differs from that of any other
    /// stream, even one of the same name. A reader that returns to the stream needs the earlier announcements.
    fn identity(&self) -> Option<String> {
        None
    }

    /// Returns the announcements since the last call.
    fn take_announced(&mut self) -> Vec<Announcement> {
        Vec::new()
    }

    /// Adopts what another reader read from the stream of that identity, before the first step. The call has no
    /// effect if this is another stream.
    fn recall(&mut self, identity: &str, announced: Vec<Announcement>) {
        drop((identity, announced));
    }

    /// Allows later steps to omit messages and counter samples, so that a caller that needs only functions saves the
    /// cost of reading them.
    fn functions_only(&mut self) {}

    /// Returns a time of the run with which the part has to be read again, because its first steps had other times.
    fn late_clock(&self) -> Option<TimeNs> {
        None
    }

    /// Returns the ranks that the part has rows of, and that this stream left for others to read.
    fn other_ranks(&self) -> Vec<(ProgramId, RankId)> {
        Vec::new()
    }

    /// Returns the damage found since the last call.
    fn take_warnings(&mut self) -> Warnings;
}
