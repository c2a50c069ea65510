//! TAU's BP folders as a format: one folder is the stream of one rank, or of several.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use callgrove_adios2_sys::LibraryOnDemand;
use callgrove_model::{ProgramId, RankId};
use callgrove_source::{
    Contents, EventStream, Extent, Format, Input, Next, Part, Projection, Ranks, SourceError,
    rank_in_name,
};

use crate::adios2::{TauSource, is_bp3};
use crate::guard::StreamGuard;

/// The file that every BP4 and BP5 folder has.
const INDEX: &str = "md.idx";

/// The format of TAU's trace plugin for ADIOS2.
#[derive(Clone, Debug)]
pub struct TauFormat {
    adios2: LibraryOnDemand,
    guard: Option<StreamGuard>,
}

/// A recorded stream of TAU.
#[derive(Debug)]
pub struct TauPart {
    path: PathBuf,
    format: TauFormat,
    /// True once the guard has read the stream without a crash.
    is_checked: AtomicBool,
}

impl TauFormat {
    /// Returns the format with this ADIOS2, which is loaded when it is needed. The guard reads each stream in another
    /// process first; without one, damage can end this process.
    pub fn new(adios2: LibraryOnDemand, guard: Option<StreamGuard>) -> Self {
        Self { adios2, guard }
    }

    /// Returns the recorded stream at `path`.
    pub fn part(&self, path: &Path) -> TauPart {
        TauPart {
            path: path.to_owned(),
            format: self.clone(),
            is_checked: AtomicBool::new(false),
        }
    }
}

impl Format for TauFormat {
    fn name(&self) -> &'static str {
        "TAU (one BP4 or BP5 folder of ADIOS2 for each rank)"
    }

    fn extent(&self) -> Extent {
        Extent::Part
    }

    fn probe(&self, input: &Input) -> bool {
        if input.is_folder() {
            input.has_entry(INDEX) || input.has_extension("bp") && !holds_streams(input)
        } else {
            input.has_extension("bp") || is_bp3(input)
        }
    }

    fn open(&self, input: &Input) -> Result<Contents, SourceError> {
        Ok(Contents::Events(vec![Box::new(self.part(input.path()))]))
    }
}

/// Returns whether a folder with the name of a stream is the folder of a run.
fn holds_streams(folder: &Input) -> bool {
    let within = folder.entries().unwrap_or_default();
    let below = within.iter().filter_map(|entry| entry.entries().ok());
    let below: Vec<Input> = below.flatten().collect();
    let is_stream = |entry: &Input| entry.has_extension("bp") || entry.has_entry(INDEX);
    within.iter().chain(&below).any(is_stream)
}

impl TauPart {
    /// Opens the stream, in another process first if reading it could end this one.
    fn open_checked(&self, program: ProgramId) -> Result<TauSource, SourceError> {
        let adios2 = &self.format.adios2;
        if let Some(guard) = &self.format.guard
            && !self.is_checked.load(Ordering::Relaxed)
        {
            guard.check(&self.path, adios2)?;
            self.is_checked.store(true, Ordering::Relaxed);
        }
        Ok(TauSource::open(&self.path, program, adios2)?)
    }

    /// Opens the stream for all its ranks, and reads it up to the first step with events or metadata. Returns it with
    /// its own rank, from its contents or else from its name.
    fn begin(&self) -> Result<(TauSource, Option<(ProgramId, RankId)>), SourceError> {
        let mut source = self.open_checked(ProgramId(0))?;
        source.functions_only();
        source.select(None);
        let mut has_steps = false;
        loop {
            match source.next_step(Duration::ZERO)? {
                Next::Step(batch) if batch.funcs.is_empty() && batch.metadata.is_empty() => {
                    has_steps = true;
                }
                Next::Step(batch) => return Ok((source, Some((batch.program, batch.rank)))),
                Next::End if !has_steps => {
                    let path = self.path.clone();
                    return Err(SourceError::NoSteps { path });
                }
                Next::End | Next::NotReady | Next::Reading => break,
            }
        }
        let named = rank_in_name(&self.path).map(|rank| (ProgramId(0), RankId(rank)));
        Ok((source, named))
    }
}

impl Part for TauPart {
    fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the rank of the stream, from its contents or else from its name. A stream that begins with rows or
    /// metadata of several ranks is read to its end, since a rank may have its first rows in any step; its own rank is
    /// the first.
    fn ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        let (mut source, own) = self.begin()?;
        if source.is_shared() {
            // Damage is reported when the ranks are read.
            while let Ok(Next::Step(_)) = source.next_step(Duration::ZERO) {}
        }
        let others = source.other_ranks().into_iter();
        let others = others.filter(|it| Some(*it) != own);
        Ok(own.into_iter().chain(others).collect())
    }

    fn stated_ranks(&self) -> Result<Vec<(ProgramId, RankId)>, SourceError> {
        Ok(self.begin()?.1.into_iter().collect())
    }

    fn open(&self, projection: &Projection) -> Result<Box<dyn EventStream>, SourceError> {
        let mut source = self.open_checked(projection.program)?;
        match projection.ranks {
            Ranks::Own => {}
            Ranks::All => source.select(None),
            Ranks::One(program, rank) => source.select(Some((program, rank))),
        }
        if let Some(time) = projection.clock {
            source.set_clock(time);
        }
        Ok(Box::new(source))
    }
}
