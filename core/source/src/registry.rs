//! The registry of formats: which inputs form the run that a user named, and in which format each is.
//!
//! The list of formats is in `core/formats`. A run may be named by several paths, one per line. Parts of different
//! formats, such as a trace of TAU and one of PyTorch of the same job, become programs of one workflow.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgrove_model::{Progress, Trace};

use crate::error::SourceError;
use crate::format::{Contents, Extent, Format, LoadTrace, Part};
use crate::input::{FileSystem, Input};
use crate::joined_parts::in_program;
use crate::rank_in_name::{assumed_ranks, rank_in_name};
use crate::read::{check_parts, read_parts};
use crate::workers::Workers;

/// Separator of the paths of a run that is named by several.
pub const PATH_SEPARATOR: &str = "\n";

/// The known formats, and access to the files that they read.
pub struct Registry {
    files: Arc<dyn FileSystem>,
    formats: Vec<Box<dyn Format>>,
}

/// A recorded run: its parts, or a file of complete call stacks.
pub enum RecordedRun {
    /// Events, in parts that can be read independently.
    Events(Vec<Box<dyn Part>>),
    /// Complete call stacks.
    Trace(Box<dyn LoadTrace>),
}

/// An input whose format is known.
struct Member<'a> {
    input: Input,
    /// The index of the format in the registry.
    number: usize,
    format: &'a dyn Format,
}

impl Registry {
    /// Returns a registry of these formats. An input belongs to the first that recognizes it.
    pub fn new(files: Arc<dyn FileSystem>, formats: Vec<Box<dyn Format>>) -> Self {
        Self { files, formats }
    }

    /// Returns the inputs of one run: those in the folder `source` or one level below, `source` itself if it is in a
    /// known format, or all that the pattern `source` matches; together, if `source` has several lines. Those of one
    /// rank each are in the order of the ranks in their names.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], [`SourceError::BadPattern`], [`SourceError::NoMatch`], [`SourceError::NoTrace`],
    /// [`SourceError::SeveralRuns`], [`SourceError::SeveralFormats`], [`SourceError::UnknownFormat`],
    /// [`SourceError::Io`].
    pub fn find(&self, source: &Path) -> Result<Vec<PathBuf>, SourceError> {
        let members = self.members(source)?.into_iter();
        Ok(members
            .map(|member| member.input.path().to_owned())
            .collect())
    }

    /// Opens the run that a path or pattern names, as [`Registry::find`] finds it.
    ///
    /// # Errors
    /// Those of [`Registry::find`] and of [`Format::open`]; [`SourceError::NotAPart`].
    pub fn open(&self, source: &Path) -> Result<RecordedRun, SourceError> {
        let members = self.members(source)?;
        let is_alone = members.len() == 1;
        let formats: BTreeSet<usize> = members.iter().map(|it| it.number).collect();
        let mut parts = Vec::new();
        for Member {
            input,
            number,
            format,
        } in members
        {
            match format.open(&input)? {
                Contents::Events(more) => {
                    let others = formats.iter().take_while(|other| **other < number);
                    parts.extend(
                        more.into_iter()
                            .map(|part| in_program(part, others.clone().count())),
                    );
                }
                Contents::Trace(trace) if is_alone => return Ok(RecordedRun::Trace(trace)),
                Contents::Trace(_) => {
                    let path = input.path().to_owned();
                    return Err(SourceError::NotAPart { path });
                }
            }
        }
        for of_format in parts.chunk_by_mut(|a, b| a.joined_program() == b.joined_program()) {
            let paths: Vec<_> = of_format
                .iter()
                .map(|part| part.path().to_owned())
                .collect();
            for (part, rank) in of_format.iter_mut().zip(assumed_ranks(&paths)) {
                part.assume_rank(rank);
            }
        }
        Ok(RecordedRun::Events(parts))
    }

    /// Checks that the run that a path or pattern names can be read, as far as the beginnings of its parts show it.
    ///
    /// # Errors
    /// Those of [`Registry::open`] and [`Part::stated_ranks`]; [`SourceError::DuplicateRank`].
    pub fn check(&self, source: &Path) -> Result<(), SourceError> {
        match self.open(source)? {
            RecordedRun::Events(parts) => check_parts(&parts),
            RecordedRun::Trace(_) => Ok(()),
        }
    }

    /// Reads the run that a path or pattern names into memory.
    ///
    /// # Errors
    /// Those of [`Registry::open`] and [`RecordedRun::load`].
    pub fn load(
        &self,
        source: &Path,
        workers: &dyn Workers,
        progress: Progress<'_>,
    ) -> Result<Trace, SourceError> {
        self.open(source)?.load(workers, progress)
    }

    fn members(&self, source: &Path) -> Result<Vec<Member<'_>>, SourceError> {
        let mut paths = Vec::new();
        for named in self.named_paths(source) {
            // A path that exists is literal, even if it contains pattern characters.
            if self.files.exists(&named) {
                paths.push(named);
            } else {
                paths.extend(self.files.matching(&named)?);
            }
        }
        let mut members = Vec::new();
        for path in paths {
            members.extend(self.members_at(&path)?);
        }
        let order = |member: &Member<'_>| {
            let path = member.input.path();
            (member.number, rank_in_name(path), path.to_owned())
        };
        members.sort_by_cached_key(order);
        members.dedup_by(|a, b| a.input.path() == b.input.path());
        Ok(members)
    }

    /// Returns the paths and patterns of a run.
    fn named_paths(&self, source: &Path) -> Vec<PathBuf> {
        match source.to_str() {
            Some(text) if !self.files.exists(source) => {
                let lines = text.split(PATH_SEPARATOR);
                lines
                    .filter(|it| !it.is_empty())
                    .map(PathBuf::from)
                    .collect()
            }
            _ => vec![source.to_owned()],
        }
    }

    fn members_at(&self, path: &Path) -> Result<Vec<Member<'_>>, SourceError> {
        let input = Input::new(path, &self.files);
        if let Some(member) = self.recognize(&input) {
            return Ok(vec![member]);
        }
        let path = path.to_owned();
        if !input.is_folder() {
            let formats = self.format_names();
            return Err(SourceError::UnknownFormat { formats, path });
        }
        let entries = input.entries()?;
        let here = entries.iter().filter_map(|entry| self.recognize(entry));
        let (parts, runs): (Vec<_>, Vec<_>) =
            here.partition(|member| member.format.extent() == Extent::Part);
        if !parts.is_empty() {
            return of_one_format(parts, path);
        }
        let mut below = Vec::new();
        for folder in entries.iter().filter(|entry| entry.is_folder()) {
            // A folder that cannot be listed does not hold the trace.
            let entries = folder.entries().unwrap_or_default();
            let members = entries.iter().filter_map(|entry| self.recognize(entry));
            let is_part = |member: &Member<'_>| member.format.extent() == Extent::Part;
            let parts: Vec<_> = members.filter(is_part).collect();
            if !parts.is_empty() {
                below.push((folder, parts));
            }
        }
        // Complete runs in the folder count only if it holds no run in parts: they may have been made of it.
        if below.is_empty() && runs.len() == 1 {
            return Ok(runs);
        }
        let names: Vec<String> = if below.is_empty() {
            runs.iter().map(|run| name(&run.input)).collect()
        } else {
            below.iter().map(|(folder, _)| name(folder)).collect()
        };
        match (below.pop(), names.len()) {
            (_, 0) => {
                let formats = self.format_names();
                Err(SourceError::NoTrace { formats, path })
            }
            (Some((_, parts)), 1) => of_one_format(parts, path),
            _ => Err(SourceError::SeveralRuns { names, path }),
        }
    }

    fn recognize(&self, input: &Input) -> Option<Member<'_>> {
        let mut formats = self.formats.iter().enumerate();
        let (number, format) = formats.find(|(_, format)| format.probe(input))?;
        Some(Member {
            input: input.clone(),
            number,
            format: format.as_ref(),
        })
    }

    fn format_names(&self) -> String {
        let names: Vec<_> = self.formats.iter().map(|format| format.name()).collect();
        names.join("; ")
    }
}

impl RecordedRun {
    /// Reads the run into memory.
    ///
    /// # Errors
    /// Those of [`read_parts`] and [`LoadTrace::load`].
    pub fn load(
        &self,
        workers: &dyn Workers,
        progress: Progress<'_>,
    ) -> Result<Trace, SourceError> {
        match self {
            Self::Events(parts) => read_parts(parts, workers, progress),
            Self::Trace(trace) => trace.load(progress),
        }
    }

    /// Returns the parts of a run that has events.
    ///
    /// # Errors
    /// [`SourceError::NoEvents`] for a file of complete call stacks.
    pub fn into_parts(self) -> Result<Vec<Box<dyn Part>>, SourceError> {
        match self {
            Self::Events(parts) => Ok(parts),
            Self::Trace(trace) => Err(SourceError::NoEvents {
                path: trace.path().to_owned(),
            }),
        }
    }
}

/// Returns the inputs in a folder if they are in one format. Files in several may be conversions of each other.
fn of_one_format(members: Vec<Member<'_>>, path: PathBuf) -> Result<Vec<Member<'_>>, SourceError> {
    let mut formats: Vec<_> = members
        .iter()
        .map(|it| (it.number, it.format.name()))
        .collect();
    formats.sort_unstable();
    formats.dedup();
    if formats.len() == 1 {
        return Ok(members);
    }
    let formats = formats.iter().map(|it| it.1).collect::<Vec<_>>().join("; ");
    Err(SourceError::SeveralFormats { formats, path })
}

fn name(input: &Input) -> String {
    let name = input.path().file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
