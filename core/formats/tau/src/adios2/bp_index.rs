//! The index of a BP folder (`md.idx`), checked against the files that it points into.
//!
//! ADIOS2 follows the index without checking it. Where the index points outside a file, the process crashes or waits
//! without limit for missing bytes. So every folder is checked here before it is opened.
//!
//! Layout (all numbers little-endian, 64 bits unless said otherwise):
//!
//! ```text
//! header, 64 bytes   [0..8] "ADIOS-BP" · [36] 0 = little-endian · [37] 4 or 5
//!                    BP4: [38] writer is active    BP5: [38] minor version, [39] writer is active, [41] a variant
//! BP4 record, 64     step · rank · start of process group, variable, attribute index in md.0 · end · time · 0
//! BP5 record         kind (1 byte) · length of the rest
//!   's', a step      start in md.0 · size in md.0 · flushes · per writer: (start, size) per flush, start in data
//!   'w', writers     writers · aggregators · data files · per writer: data file
//! BP4 md.0, a step   process groups (count 8, length 8, …) · variables, attributes (count 4, length 8, `bp4_lists`)
//! BP5 md.0, a step   size of the rest · per writer: size of variables · per writer: size of attributes · both
//! BP5 mmd.0          length of id · length of description · id · description
//! ```
//!
//! Source: the ADIOS2 user guide's description of BP4 and BP5, and files of releases 2.9 to 2.12.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use callgrove_source::SourceError;

use super::bp5_records::{Bp5Step, Bp5Writers, RecordLayouts, u64_at};
use super::stored_attributes::StoredAttributes;
use super::stored_step::StoredStep;
use super::{bp3_file, bp4_lists, descriptions};
use crate::error::TauError;

/// Size of the header, in bytes.
const HEADER_BYTES: usize = 64;
/// Size of a record of BP4's index, in bytes.
const BP4_RECORD_BYTES: usize = 64;
/// The only minor version of BP5 that releases since 2.8 write and read.
const BP5_MINOR_VERSION: u8 = 2;

/// The contents of the index, as far as the files confirm them.
#[derive(Debug)]
pub(super) struct BpIndex {
    /// Number of steps with complete metadata.
    pub(super) num_steps: usize,
    /// True if the writer has closed the file, so that no more steps follow.
    pub(super) is_closed: bool,
    /// The evidence that steps after the last one were lost, if there is any.
    pub(super) cut: Option<String>,
    /// The damage that would crash ADIOS2, if there is any. The steps that the files alone describe are readable all
    /// the same.
    fatal: Option<TauError>,
    /// The known contents of each step.
    steps: Vec<StoredStep>,
    /// The attributes of all steps, if ADIOS2 could add nothing: the file is closed and complete, and all of TAU's data
    /// is known.
    pub(super) attributes: Option<StoredAttributes>,
    /// Size of `data.0`, in bytes.
    data_bytes: u64,
}

impl BpIndex {
    /// Reads and checks the index of a folder.
    ///
    /// # Errors
    /// [`TauError::UnknownFormat`], [`TauError::Damaged`], [`TauError::Io`].
    pub(super) fn read(folder: &Path) -> Result<Self, TauError> {
        let not_bp = |reason| TauError::UnknownFormat {
            reason,
            path: folder.to_owned(),
        };
        match fs::metadata(folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let path = folder.to_owned();
                return Err(SourceError::NotFound { path }.into());
            }
            Ok(metadata) if !metadata.is_dir() => {
                return Err(bp3_file::error(folder).unwrap_or(not_bp("a file, not a folder")));
            }
            _ => {}
        }
        let index = File::read(folder, "md.idx")?;
        let Some(header) = index.bytes.get(..HEADER_BYTES) else {
            return Err(index.damaged(format!(
                "{} bytes long, shorter than its header",
                index.bytes.len()
            )));
        };
        match (
            header.starts_with(b"ADIOS-BP"),
            header[36],
            header[37],
            header[38],
        ) {
            (false, ..) => Err(not_bp("md.idx is not an index of ADIOS2")),
            (_, 1.., ..) => Err(not_bp("written on a big-endian machine")),
            (_, _, 4, active) => Self::of_bp4(folder, &index, active == 0),
            (_, _, 5, BP5_MINOR_VERSION) if header[41] != 0 => Err(not_bp(
                "a variant of BP5: flattened steps or metadata per rank",
            )),
            (_, _, 5, BP5_MINOR_VERSION) => Self::of_bp5(folder, &index, header[39] == 0),
            _ => Err(not_bp("neither BP4 nor BP5.2")),
        }
    }

    /// Returns whether the data of a step can be present, which is so where the metadata does not state its length.
    pub(super) fn may_have_data(&self, step: usize) -> bool {
        let end = self.stored(step).and_then(|it| it.data_end);
        end.is_none_or(|end| end <= self.data_bytes)
    }

    /// Returns [`BpIndex::attributes`]; `None` if ADIOS2 has to read the folder.
    ///
    /// # Errors
    /// [`TauError::Damaged`] if ADIOS2 is needed and would crash.
    pub(super) fn take_attributes(&mut self) -> Result<Option<StoredAttributes>, TauError> {
        match (self.attributes.take(), self.fatal.take()) {
            (None, Some(error)) => Err(error),
            (attributes, _) => Ok(attributes),
        }
    }

    /// Returns the index, if ADIOS2 survives the folder.
    ///
    /// # Errors
    /// [`TauError::Damaged`].
    pub(super) fn for_adios2(self) -> Result<Self, TauError> {
        match self.fatal {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// Returns the size of `data.0`, in bytes.
    pub(super) fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// Returns the contents of a step that are known without ADIOS2.
    pub(super) fn stored(&self, step: usize) -> Option<&StoredStep> {
        self.steps.get(step)
    }

    fn of_bp4(folder: &Path, index: &File, is_closed: bool) -> Result<Self, TauError> {
        let metadata = File::read(folder, "md.0")?;
        let records = index.bytes[HEADER_BYTES..].chunks_exact(BP4_RECORD_BYTES);
        let is_cut = !records.remainder().is_empty();
        let mut missing = MissingSteps::default();
        let (mut newest, mut end) = (0, HEADER_BYTES as u64);
        let (mut steps, mut attributes) = (Vec::with_capacity(records.len()), Vec::new());
        for record in records {
            // A serial writer, such as TAU's, is rank 0 and counts its steps from 1. A step without variables has no
            // record.
            let number = u64_at(record, 0).filter(|number| *number > newest);
            let (Some(number), Some(0)) = (number, u64_at(record, 8)) else {
                return Err(index.damaged(format!("step {} is invalid", steps.len())));
            };
            if number > newest + 1 {
                let reason = format!("a step without variables before step {}", steps.len());
                missing.fatal = Some(index.damaged(reason));
            }
            newest = number;
            let last = u64_at(record, 40).unwrap_or_default();
            if missing.is_truncated(last, &metadata, steps.len())? {
                break;
            }
            let lists;
            (end, lists) = check_bp4_step(record, end, index, &metadata)?;
            steps.push(bp4_lists::step_of(lists[0]));
            attributes.push(lists[1]);
        }
        let is_cut = is_cut || (is_closed && newest > 0 && metadata.bytes.len() as u64 > end);
        let is_closed = missing.is_final(is_closed, is_cut.then_some(steps.len()));
        let data_bytes = size_of_file(&folder.join("data.0"))?;
        let index = Self {
            num_steps: steps.len(),
            is_closed,
            cut: missing.reason,
            fatal: missing.fatal,
            steps,
            attributes: None,
            data_bytes,
        };
        Ok(index.with_attributes(|| bp4_lists::attributes_of(&attributes)))
    }

    fn of_bp5(folder: &Path, index: &File, is_closed: bool) -> Result<Self, TauError> {
        let descriptions = File::read(folder, "mmd.0")?;
        let metadata = File::read(folder, "md.0")?;
        let mut rest = &index.bytes[HEADER_BYTES..];
        let mut missing = MissingSteps::default();
        let (mut writers, mut end, mut records) = (Bp5Writers::default(), 0, Vec::new());
        while let Some((kind, record, after)) = bp5_record(rest) {
            rest = after;
            match kind {
                b'w' => {
                    writers = Bp5Writers::of_record(record).ok_or_else(|| {
                        index.damaged("the list of writers is invalid".to_owned())
                    })?;
                }
                b's' => {
                    let step = Bp5Step::of_record(record, writers).ok_or_else(|| {
                        index.damaged(format!("step {} is invalid", records.len()))
                    })?;
                    let last = step.start.saturating_add(step.size_bytes);
                    if missing.is_truncated(last, &metadata, records.len())? {
                        break;
                    }
                    let of_writers;
                    (end, of_writers) = step.check(&metadata, writers.num_writers)?;
                    // ADIOS2 reads data in several parts or files, or of several writers.
                    records.push((
                        step.data_start.filter(|_| step.num_flushes == 0),
                        of_writers,
                    ));
                }
                _ => {
                    let num_steps = records.len();
                    let reason = format!("record of unknown kind after step {num_steps}");
                    return Err(index.damaged(reason));
                }
            }
        }
        let layouts = if records.is_empty() {
            RecordLayouts::default()
        } else {
            layouts(&descriptions)?
        };
        let is_cut = !rest.is_empty() || (is_closed && metadata.bytes.len() as u64 > end);
        let is_closed = missing.is_final(is_closed, is_cut.then_some(records.len()));
        let data_bytes = size_of_file(&folder.join("data.0"))?;
        let step = |(data_start, of_writers): &(Option<u64>, [&[u8]; 2])| {
            data_start.map_or_else(StoredStep::default, |start| {
                layouts.step(of_writers[0], start)
            })
        };
        let index = Self {
            num_steps: records.len(),
            is_closed,
            cut: missing.reason,
            fatal: missing.fatal,
            steps: records.iter().map(step).collect(),
            attributes: None,
            data_bytes,
        };
        Ok(index.with_attributes(|| {
            let mut attributes = Vec::new();
            for (step, (_, of_writers)) in records.iter().enumerate() {
                let of_step = layouts.attributes(of_writers[1])?;
                attributes.extend(of_step.into_iter().map(|(name, text)| (step, name, text)));
            }
            StoredAttributes::of(attributes)
        }))
    }

    /// Returns the index with the attributes that `read` returns, if all steps are known.
    fn with_attributes(mut self, read: impl FnOnce() -> Option<StoredAttributes>) -> Self {
        let is_whole = self.is_closed && (self.cut.is_none() || self.fatal.is_some());
        if is_whole && self.num_steps > 0 && self.steps.iter().all(StoredStep::is_complete) {
            self.attributes = read();
        }
        self
    }
}

/// The parts of a folder's steps that are missing.
#[derive(Default)]
struct MissingSteps {
    /// See [`BpIndex::cut`].
    reason: Option<String>,
    /// See [`BpIndex::fatal`].
    fatal: Option<TauError>,
}

impl MissingSteps {
    /// Returns whether a step ends at `end` in `md.0` but beyond the end of that file. ADIOS2 would wait for the rest
    /// without limit.
    ///
    /// # Errors
    /// [`TauError::Damaged`] if there is no step before it.
    fn is_truncated(&mut self, end: u64, metadata: &File, step: usize) -> Result<bool, TauError> {
        let Err(error) = check_reach(metadata, end) else {
            return Ok(false);
        };
        if step == 0 {
            return Err(error);
        }
        let num_bytes = metadata.bytes.len();
        self.reason = Some(format!("md.0 of {num_bytes} bytes ends within step {step}"));
        self.fatal = Some(error);
        Ok(true)
    }

    /// Returns whether no steps follow those that are present: because the writer has closed the file, or because
    /// ADIOS2, which would see them, must not read the folder. With `cut_after`, the index may be cut after that number
    /// of steps.
    fn is_final(&mut self, is_closed: bool, cut_after: Option<usize>) -> bool {
        if self.fatal.is_some() && !is_closed {
            let reason =
                || "the writer has not closed the file and may have been killed".to_owned();
            self.reason.get_or_insert_with(reason);
        } else if let Some(num_steps) = cut_after {
            let reason = || format!("the index ends after step {num_steps}, before the data does");
            self.reason.get_or_insert_with(reason);
        }
        is_closed || self.fatal.is_some()
    }
}

/// Checks a step in the index of BP4, which starts where the one before ended. Returns where it ends, and its lists of
/// variables and attributes.
fn check_bp4_step<'a>(
    record: &[u8],
    start: u64,
    index: &File,
    metadata: &'a File,
) -> Result<(u64, [&'a [u8]; 2]), TauError> {
    let places: Vec<_> = (2..6)
        .filter_map(|field| u64_at(record, field * 8))
        .collect();
    let [groups, variables, attributes, end] = places[..] else {
        return Err(index.damaged("a step is truncated".to_owned()));
    };
    check_reach(metadata, end)?;
    // Each of the three lists states its length after its number of entries.
    let lists = [
        (groups, 8, variables),
        (variables, 4, attributes),
        (attributes, 4, end),
    ];
    let fits = |&(from, count_bytes, to): &(u64, u64, u64)| {
        let place = from.checked_add(count_bytes)?;
        let length = u64_at(&metadata.bytes, usize::try_from(place).ok()?)?;
        (place.checked_add(8)?.checked_add(length)? == to).then_some(())
    };
    if groups != start || !lists.iter().all(|list| fits(list).is_some()) {
        return Err(index.damaged(format!("a step does not match md.0 at byte {start}")));
    }
    let entries = |from: u64, to: u64| {
        let (from, to) = (usize::try_from(from + 12).ok()?, usize::try_from(to).ok()?);
        metadata.bytes.get(from..to)
    };
    let lists = entries(variables, attributes).zip(entries(attributes, end));
    let lists = lists.filter(|(variables, attributes)| {
        bp4_lists::variables_fit(variables) && bp4_lists::attributes_fit(attributes)
    });
    let (variables, attributes) = lists.ok_or_else(|| {
        metadata.damaged(format!("the lists of the step at byte {start} are invalid"))
    })?;
    Ok((end, [variables, attributes]))
}

impl Bp5Step {
    /// Checks the step's metadata. Returns where it ends, and the records of variables and of attributes, if it has a
    /// single writer.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the numbers index metadata and a record that are in memory"
    )]
    fn check<'a>(
        &self,
        metadata: &'a File,
        num_writers: u64,
    ) -> Result<(u64, [&'a [u8]; 2]), TauError> {
        let end = self.start.saturating_add(self.size_bytes);
        check_reach(metadata, end)?;
        let step = &metadata.bytes[self.start as usize..end as usize];
        let mut sizes =
            (0..=num_writers.saturating_mul(2)).map(|field| u64_at(step, field as usize * 8));
        let stated = sizes.next().flatten().and_then(|rest| rest.checked_add(8));
        let mut total = num_writers
            .checked_mul(16)
            .and_then(|sizes| sizes.checked_add(8));
        while let (Some(sum), Some(size)) = (total, sizes.next()) {
            total = size.and_then(|size| sum.checked_add(size));
        }
        if stated != Some(self.size_bytes) || total != stated {
            return Err(metadata.damaged(format!(
                "the sizes at byte {} contradict each other",
                self.start
            )));
        }
        let num_bytes = u64_at(step, 8).filter(|_| num_writers == 1);
        let variables = num_bytes.and_then(|it| usize::try_from(it).ok());
        let records = variables.and_then(|it| step[24..].split_at_checked(it));
        Ok((end, records.unwrap_or_default().into()))
    }
}

/// Returns the next record: its kind, its contents, and the bytes after it; `None` if it is incomplete.
fn bp5_record(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let length = usize::try_from(u64_at(bytes, 1)?).ok()?;
    let (record, after) = bytes[9..].split_at_checked(length)?;
    Some((bytes[0], record, after))
}

/// Returns the layouts of the metadata. There must be at least one description, each must match its id, and they must
/// fill `mmd.0`.
fn layouts(file: &File) -> Result<RecordLayouts<'_>, TauError> {
    let mut rest = file.bytes.as_slice();
    let mut layouts = RecordLayouts::default();
    while !rest.is_empty() || file.bytes.is_empty() {
        let (id, description, after) = description(rest)
            .ok_or_else(|| file.damaged(format!("truncated after {} bytes", file.bytes.len())))?;
        if !descriptions::fits(id, description) {
            let place = file.bytes.len() - rest.len();
            return Err(file.damaged(format!(
                "the description at byte {place} does not match its checksum"
            )));
        }
        layouts.add(id, description);
        rest = after;
    }
    Ok(layouts)
}

/// Returns the id of the next description, the description, and the bytes after it; `None` if it is incomplete.
fn description(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let length = |place| usize::try_from(u64_at(bytes, place)?).ok();
    let (id, rest) = bytes.get(16..)?.split_at_checked(length(0)?)?;
    let (description, after) = rest.split_at_checked(length(8)?)?;
    Some((id, description, after))
}

fn check_reach(file: &File, end: u64) -> Result<(), TauError> {
    let num_bytes = file.bytes.len() as u64;
    if end > num_bytes {
        let reason = format!("{num_bytes} bytes long, but the index refers to {end}");
        return Err(file.damaged(reason));
    }
    Ok(())
}

/// A small file of the folder in memory.
struct File {
    path: PathBuf,
    bytes: Vec<u8>,
}

impl File {
    fn read(folder: &Path, name: &str) -> Result<Self, TauError> {
        let path = folder.join(name);
        match fs::read(&path) {
            Ok(bytes) => Ok(Self { path, bytes }),
            Err(source) => Err(missing_or(source, &path)),
        }
    }

    fn damaged(&self, reason: String) -> TauError {
        TauError::Damaged {
            reason,
            path: self.path.clone(),
        }
    }
}

fn size_of_file(path: &Path) -> Result<u64, TauError> {
    fs::metadata(path)
        .map(|metadata| metadata.len())
        .map_err(|source| missing_or(source, path))
}

fn missing_or(source: std::io::Error, path: &Path) -> TauError {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::NotFound => TauError::Damaged {
            reason: "a file of the folder is missing".to_owned(),
            path,
        },
        _ => TauError::Io { source, path },
    }
}
