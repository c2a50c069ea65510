//! The interface of a trace format.

use std::path::Path;

use callgrove_model::{ProgramId, Progress, RankId, Trace, Warnings};

use crate::error::SourceError;
use crate::input::Input;
use crate::rank_in_name::rank_in_name;
use crate::stream::{EventStream, Projection};

/// A trace format.
pub trait Format: Send + Sync {
    /// Returns its name and what it consists of, for a list in messages: `TAU (a BP4 or BP5 folder of ADIOS2)`.
    fn name(&self) -> &'static str;

    /// Returns the part of a run that one input holds.
    fn extent(&self) -> Extent;

    /// Returns whether an input is in this format, by its contents. A damaged or unsupported input that is
    /// unmistakably meant to be in this format counts, so that it is reported and not skipped silently.
    fn probe(&self, input: &Input) -> bool;

    /// Returns whether other traces in the folder of an input are conversions of what such inputs hold, and not parts of
    /// the run of their own.
    fn is_original(&self) -> bool {
        false
    }

    /// Opens an input for which [`Format::probe`] was true.
    ///
    /// # Errors
    /// Any [`SourceError`] that concerns this input.
    fn open(&self, input: &Input) -> Result<Contents, SourceError>;
}

/// The part of a run that one input holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    /// A part, such as one rank: the inputs of a folder form a run.
    Part,
    /// A complete run. A folder of several has several runs.
    Run,
}

/// The contents of an input.
pub enum Contents {
    /// Events, in parts that can be read independently of each other.
    Events(Vec<Box<dyn Part>>),
    /// Complete call stacks.
    Trace(Box<dyn LoadTrace>),
}

/// A part of a recorded run: one or several ranks.
pub trait Part: Send + Sync {
    /// Returns the file or folder that holds it, for messages.
    fn path(&self) -> &Path;

    /// Returns the program that it was given because it was joined with parts of another format.
    fn joined_program(&self) -> Option<ProgramId> {
        None
    }

    /// Returns the rank that its name states, for messages about a part that cannot be read.
    fn named_rank(&self) -> Option<RankId> {
        rank_in_name(self.path()).map(RankId)
    }

    /// Sets the rank that it has if its contents do not state one. A reader that uses it counts a
    /// [`RankAssumed`](callgrove_model::WarningKind::RankAssumed). Formats that always state ranks ignore it.
    fn assume_rank(&mut self, rank: RankId) {
        let _ = rank;
    }

    /// Returns what is to be reported of its choice among others, such as earlier profiles in the same folder.
    fn notes(&self) -> Warnings {
        Warnings::default()
    }

    /// Returns the ranks in it, which may require reading it.
    ///
    /// # Errors
    /// Any [`SourceError`] that concerns this part.
    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError>;

    /// Returns the ranks that its beginning states, if its format can find them without reading it as a whole: an input
    /// that cannot be read is found before it is read. By default it states no rank.
    ///
    /// # Errors
    /// Any [`SourceError`] that concerns this part.
    fn stated_ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        Ok(Vec::new())
    }

    /// Opens it at its beginning. It may be opened several times.
    ///
    /// # Errors
    /// Any [`SourceError`] that concerns this part.
    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError>;
}

/// A file of complete call stacks.
pub trait LoadTrace {
    /// Returns the file, for messages.
    fn path(&self) -> &Path;

    /// Reads it.
    ///
    /// # Errors
    /// Any [`SourceError`] that concerns this file.
    fn load(&self, progress: Progress<'_>) -> Result<Trace, SourceError>;
}
