//! The interface of every reader: the steps of one rank's stream, one after another.

use std::time::Duration;

use callgrove_model::{
    CounterId, FuncId, NameTable, ProgramId, RankId, StepBatch, TimeNs, Warnings,
};

use crate::TraceError;

/// An attribute of a stream: its name and its text.
pub type Announcement = (String, String);

/// The answer to a request for the next step.
#[derive(Debug)]
pub enum Next {
    /// A step.
    Step(Box<StepBatch>),
    /// No step arrived within the given time, and the writer has not ended the stream.
    NotReady,
    /// All steps were read.
    End,
}

/// The stream of one rank, read step by step.
///
/// After an error the stream returns no more steps.
pub trait TraceSource: Send {
    /// Returns the next step, and waits for it no longer than `wait`.
    ///
    /// The names of its ids are in [`TraceSource::names`] and [`TraceSource::counter_names`] from then on.
    ///
    /// # Errors
    /// Any [`TraceError`] that concerns one stream.
    fn next_step(&mut self, wait: Duration) -> Result<Next, TraceError>;

    /// Returns the rank that the stream states; before the first step, the rank in its file name.
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

    /// Takes in what another reader read from the stream of that identity, before the first step. The call has no
    /// effect if this is another stream.
    fn recall(&mut self, identity: &str, announced: Vec<Announcement>) {
        drop((identity, announced));
    }

    /// Allows later steps to omit messages and counter samples, so that a caller that needs only functions saves the
    /// cost of reading them.
    fn functions_only(&mut self) {}

    /// Selects the rank whose rows are read from a stream that several ranks wrote, before the first step; `None` is
    /// the stream's own rank. Other readers read the other ranks, so their rows are not counted as lost.
    fn select(&mut self, rank: Option<(ProgramId, RankId)>) {
        let _: Option<(ProgramId, RankId)> = rank;
    }

    /// Sets a time of the run, from [`TraceSource::late_clock`] of another reader, before the first step.
    fn set_clock(&mut self, time: TimeNs) {
        let _: TimeNs = time;
    }

    /// Returns a time of the run with which the stream has to be read again, because its first steps had other times.
    fn late_clock(&self) -> Option<TimeNs> {
        None
    }

    /// Returns the other ranks that the stream had rows of so far.
    fn other_ranks(&self) -> Vec<(ProgramId, RankId)> {
        Vec::new()
    }

    /// Returns the damage found since the last call.
    fn take_warnings(&mut self) -> Warnings;
}
