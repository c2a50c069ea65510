//! The registry of formats: which inputs form the run that a user named, and in which format each is.
//!
//! The list of formats is in `core/formats`. A run may be named by several paths, one per line. Parts of different
//! formats, such as a trace of TAU and one of PyTorch of the same job, become programs of one workflow.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callgrove_model::{Progress, Trace, WarningKind, Warnings};

use crate::error::SourceError;
use crate::format::{Contents, Format, LoadTrace, Part};
use crate::input::{FileSystem, Input};
use crate::joined_parts::in_program;
use crate::member::{Member, of_one_format, recognize, without_copies};
use crate::noted_part::with_notes;
use crate::rank_in_name::{assumed_ranks, rank_in_name};
use crate::read::{check_parts, read_parts};
use crate::run_folders::{RunFolders, below};
use crate::run_search::{RunsBelow, runs_below};
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

/// The inputs of a run.
#[derive(Default)]
struct Found<'a> {
    members: Vec<Member<'a>>,
    /// Names of earlier profiles in the same folder, which are left out.
    earlier: Vec<String>,
}

impl<'a> Found<'a> {
    fn of(members: Vec<Member<'a>>) -> Self {
        let earlier = Vec::new();
        Self { members, earlier }
    }
}

impl Registry {
    /// Returns a registry of these formats. An input belongs to the first that recognizes it.
    pub fn new(files: Arc<dyn FileSystem>, formats: Vec<Box<dyn Format>>) -> Self {
        Self { files, formats }
    }

    /// Returns the inputs of one run: those in the folder `source` or in the nearest folders up to four levels below, of
    /// the newest profile there; `source` itself if it is in a known format, or all that the pattern `source` matches;
    /// together, if `source` has several lines. Those of one rank each are in the order of the ranks in their names.
    ///
    /// # Errors
    /// [`SourceError::NotFound`], [`SourceError::BadPattern`], [`SourceError::NoMatch`], [`SourceError::NoTrace`],
    /// [`SourceError::SeveralRuns`], [`SourceError::SeveralFormats`], [`SourceError::TooManyEntries`],
    /// [`SourceError::UnknownFormat`], [`SourceError::Io`].
    pub fn find(&self, source: &Path) -> Result<Vec<PathBuf>, SourceError> {
        let members = self.members(source)?.members.into_iter();
        Ok(members
            .map(|member| member.input.path().to_owned())
            .collect())
    }

    /// Opens the run that a path or pattern names, as [`Registry::find`] finds it.
    ///
    /// # Errors
    /// Those of [`Registry::find`] and of [`Format::open`]; [`SourceError::NotAPart`].
    pub fn open(&self, source: &Path) -> Result<RecordedRun, SourceError> {
        let Found { members, earlier } = self.members(source)?;
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
        if let (Some(newest), false) = (earlier.last(), parts.is_empty()) {
            let mut notes = Warnings::default();
            let count = u64::try_from(earlier.len()).unwrap_or(u64::MAX);
            notes.count_many(WarningKind::EarlierProfiles, None, count, || newest.clone());
            let first = parts.remove(0);
            parts.insert(0, with_notes(first, notes));
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

    fn members(&self, source: &Path) -> Result<Found<'_>, SourceError> {
        let mut paths = Vec::new();
        for named in self.named_paths(source) {
            // A path that exists is literal, even if it contains pattern characters.
            if self.files.exists(&named) {
                paths.push(named);
            } else {
                paths.extend(self.files.matching(&named)?);
            }
        }
        let mut found = Found::default();
        for path in paths {
            let Found { members, earlier } = self.members_at(&path)?;
            found.members.extend(members);
            found.earlier.extend(earlier);
        }
        let order = |member: &Member<'_>| {
            let path = member.input.path();
            (member.number, rank_in_name(path), path.to_owned())
        };
        let members = &mut found.members;
        members.sort_by_cached_key(order);
        members.dedup_by(|a, b| a.input.path() == b.input.path());
        Ok(found)
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

    fn members_at(&self, path: &Path) -> Result<Found<'_>, SourceError> {
        let input = Input::new(path, &self.files);
        if let Some(member) = recognize(&self.formats, &input) {
            return Ok(Found::of(vec![member]));
        }
        let path = path.to_owned();
        if !input.is_folder() {
            let formats = self.format_names();
            return Err(SourceError::UnknownFormat { formats, path });
        }
        let entries = input.entries()?;
        let here = entries.iter();
        let here = here.filter_map(|entry| recognize(&self.formats, entry));
        let (parts, mut runs): (Vec<_>, Vec<_>) = here.partition(Member::is_part);
        if !parts.is_empty() {
            return Ok(Found::of(of_one_format(without_copies(parts), path)?));
        }
        let RunsBelow { folders, complete } = runs_below(&self.formats, &entries, &path)?;
        // Complete runs count only without a run in parts: they may have been made of it.
        if folders.is_empty() {
            if runs.is_empty() {
                runs = complete;
            }
            let names = runs.iter().map(|it| below(it.input.path(), &path));
            let names: Vec<_> = names.collect();
            return match names.len() {
                0 => {
                    let formats = self.format_names();
                    Err(SourceError::NoTrace { formats, path })
                }
                1 => Ok(Found::of(runs)),
                _ => Err(SourceError::SeveralRuns { names, path }),
            };
        }
        match RunFolders::of(folders, &path) {
            RunFolders::Several(names) => Err(SourceError::SeveralRuns { names, path }),
            RunFolders::One(folders, earlier) => {
                let parts = folders.into_iter().flat_map(|it| it.parts).collect();
                Ok(Found {
                    members: of_one_format(parts, path)?,
                    earlier,
                })
            }
        }
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
