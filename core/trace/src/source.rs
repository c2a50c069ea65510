//! What every reader offers: the steps of one rank's stream, one after another.

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
    /// No step within the time given, and the writer has not said that there will be none.
    NotReady,
    /// All steps were read.
    End,
}

/// The stream of one rank, read step by step.
///
/// After an error the stream gives no more steps.
pub trait TraceSource: Send {
    /// The next step, waiting for it no longer than `wait`.
    ///
    /// The names that its ids stand for are in [`TraceSource::names`] and
    /// [`TraceSource::counter_names`] from then on.
    ///
    /// # Errors
    /// Any [`TraceError`] that concerns one stream.
    fn next_step(&mut self, wait: Duration) -> Result<Next, TraceError>;

    /// The rank, as the stream states it; before the first step, as its file name does.
    fn rank(&self) -> Option<RankId>;

    /// Number of ranks of the run, as far as the stream has stated it.
    fn num_ranks(&self) -> Option<u32>;

    /// Share of the stream that was read, from 0 to 1; 0 if nobody knows where it ends.
    fn position(&self) -> f32;

    /// Function names so far; ids are this stream's own.
    fn names(&self) -> &NameTable<FuncId>;

    /// Counter names so far; ids are this stream's own.
    fn counter_names(&self) -> &NameTable<CounterId>;

    /// Tells a stream from any other, also from one of the same name, if it announces each name only once: who comes
    /// back to it needs what was announced before.
    fn identity(&self) -> Option<String> {
        None
    }

    /// What was announced since this was asked last.
    fn take_announced(&mut self) -> Vec<Announcement> {
        Vec::new()
    }

    /// Before the first step: what another reader was told by the stream of that identity, which need not be this one.
    fn recall(&mut self, identity: &str, announced: Vec<Announcement>) {
        drop((identity, announced));
    }

    /// From now on steps need to have no messages and counter samples: only functions are looked at, and what is not read
    /// costs nothing.
    fn functions_only(&mut self) {}

    /// Before the first step: reads the rows of one rank of a stream that several wrote; `None` is the stream's own.
    /// Other readers read the others, whose rows are not counted as lost then.
    fn select(&mut self, rank: Option<(ProgramId, RankId)>) {
        let _: Option<(ProgramId, RankId)> = rank;
    }

    /// Before the first step: a time of the run, from [`TraceSource::late_clock`] of another reader.
    fn set_clock(&mut self, time: TimeNs) {
        let _: TimeNs = time;
    }

    /// A time of the run by which the stream has to be read again, since its first steps had others.
    fn late_clock(&self) -> Option<TimeNs> {
        None
    }

    /// The other ranks of which the stream had rows so far.
    fn other_ranks(&self) -> Vec<(ProgramId, RankId)> {
        Vec::new()
    }

    /// What was found wrong since this was asked last.
    fn take_warnings(&mut self) -> Warnings;
}
