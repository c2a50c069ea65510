//! The records of BP5's `md.0`: the scalars and the attributes of a step, and the locations of its arrays.
//!
//! ADIOS2 follows every location that a record states without a check, so that the process may crash. This reader stays
//! within a record. It accepts a record only in the form that TAU's writer produces: little-endian numbers of 64 bits,
//! arrays of one uncompressed block each, and attributes of one text each. Records of another form are unknown here.
//!
//! ```text
//! record       id of its description (12) · length (4) · 0 (8) · its first structure · the data at its offsets
//!              · padding to 8
//! offset       bytes from the start of the first structure (8); 0 = no data
//! description  length (2, big-endian) · 0 = little-endian (1) · version 2 (1) · structures after the first (1)
//!              · 0 (3) · each structure
//! structure    length (2, big-endian) · version 2 (1) · 0 (1) · name · number of fields · size (4 each)
//!              · bytes of an offset (1) · 28, bytes before the fields (1) · others (6) · 0 (4) · each field
//! field        name · type · size · start in the structure (4 each)
//! name, type   start in the structure's description, up to a zero byte
//!
//! the first structure of a step
//!              words of the bit field (8) · its offset (8) · size of the data (8) · a field for each variable, which
//!              the step has if its bit is set
//! a variable   BPg_name: a number · BPG_8_8_name: an array of uint64, which is a structure MetaArray (with least and
//!              greatest value, MetaArrayMM8)
//! the attributes of a step
//!              number of numbers (8) · their offset (8) · number of texts (8) · their offset (8)
//! a text       offset of '>' and the name (8) · number of texts (8) · offset of their offsets (8)
//! ```
//!
//! Source: files of releases 2.9 to 2.12.

use std::collections::{BTreeMap, BTreeSet};

use super::decode::ARRAYS;
use super::schema::COUNTS;
use super::stored_step::{StoredArray, StoredStep};

/// Size of the id of a description, in bytes.
const ID_BYTES: usize = 12;
/// Size of a number, in bytes.
const WORD_BYTES: u64 = 8;
/// Size of the head of a structure, before its fields, in bytes.
const STRUCTURE_BYTES: usize = 28;
/// Size of the description of a field, in bytes.
const FIELD_BYTES: usize = 16;

/// The fields before the variables of a step.
const STEP_HEAD: [Field<'_>; 3] = [
    field("BitFieldCount", "integer", 8, 0),
    field("BitField", "integer[BitFieldCount]", 8, 8),
    field("DataBlockSize", "integer", 8, 16),
];
/// The fields of an array, without its least and greatest value.
const META_ARRAY: [Field<'_>; 7] = [
    field("Dims", "integer", 8, 0),
    field("BlockCount", "integer", 8, 8),
    field("DBCount", "integer", 8, 16),
    field("Shape", "integer[Dims]", 8, 24),
    field("Count", "integer[DBCount]", 8, 32),
    field("Offset", "integer[DBCount]", 8, 40),
    field("DataBlockLocation", "integer[BlockCount]", 8, 48),
];
/// The fields of the attributes of a step.
const ATTRIBUTES: [Field<'_>; 4] = [
    field("PrimAttrCount", "integer", 8, 0),
    field("PrimAttrs", "PrimAttr[PrimAttrCount]", 24, 8),
    field("StrAttrCount", "integer", 8, 16),
    field("StrAttrs", "StrAttr[StrAttrCount]", 24, 24),
];
/// The fields of a text attribute.
const TEXT_ATTRIBUTE: [Field<'_>; 3] = [
    field("name", "string", 8, 0),
    field("ElementCount", "integer", 8, 8),
    field("Values", "string[ElementCount]", 8, 16),
];
/// Size of a text attribute, in bytes.
const TEXT_ATTRIBUTE_BYTES: u64 = 24;

/// The known layouts of records, by the ids of their descriptions.
#[derive(Default)]
pub(super) struct RecordLayouts<'a> {
    steps: BTreeMap<&'a [u8], StepLayout>,
    /// The descriptions that equal [`ATTRIBUTES`] and [`TEXT_ATTRIBUTE`].
    attributes: BTreeSet<&'a [u8]>,
}

/// The locations of TAU's variables in the record of a step, in the order of [`StoredStep`].
#[derive(Default)]
struct StepLayout {
    arrays: [Option<Variable>; ARRAYS.len()],
    num_rows: [Option<Variable>; ARRAYS.len()],
    counts: [Option<Variable>; COUNTS.len()],
}

#[derive(Clone, Copy)]
struct Variable {
    /// Index in the bit field.
    bit: u64,
    /// Offset in the record, in bytes.
    start: u64,
}

struct Structure<'a> {
    name: &'a str,
    fields: Vec<Field<'a>>,
}

#[derive(PartialEq, Eq)]
struct Field<'a> {
    name: &'a str,
    kind: &'a str,
    size_bytes: u32,
    start: u32,
}

const fn field<'a>(name: &'a str, kind: &'a str, size_bytes: u32, start: u32) -> Field<'a> {
    Field {
        name,
        kind,
        size_bytes,
        start,
    }
}

impl<'a> RecordLayouts<'a> {
    /// Adds a description with the id that records state.
    pub(super) fn add(&mut self, id: &'a [u8], description: &[u8]) {
        let structures = structures(description);
        let Some((first, others)) = structures.as_deref().and_then(<[_]>::split_first) else {
            return;
        };
        if let Some(variables) = first.fields.strip_prefix(&STEP_HEAD) {
            self.steps.insert(id, StepLayout::of(variables, others));
        } else if first.fields == ATTRIBUTES && has(others, "StrAttr", &TEXT_ATTRIBUTE) {
            self.attributes.insert(id);
        }
    }

    /// Returns the contents of a record of a step's variables, if the step's data starts at `data_start` in `data.0`.
    pub(super) fn step(&self, record: &[u8], data_start: u64) -> StoredStep {
        if record.is_empty() {
            return StoredStep::empty();
        }
        let known = Record::of(record)
            .and_then(|(id, record)| self.steps.get(id)?.read(record, data_start));
        known.unwrap_or_default()
    }

    /// Returns the names and texts in a record of a step's attributes, which may be empty; `None` if any of it is
    /// unknown.
    pub(super) fn attributes<'b>(&self, record: &'b [u8]) -> Option<Vec<(&'b [u8], &'b [u8])>> {
        if record.is_empty() {
            return Some(Vec::new());
        }
        let (id, record) = Record::of(record)?;
        let is_known = self.attributes.contains(id);
        is_known.then(|| record.attributes()).flatten()
    }
}

/// Returns whether there is a structure of this name that starts with these fields.
fn has(structures: &[Structure<'_>], name: &str, fields: &[Field<'_>]) -> bool {
    let named = structures.iter().find(|it| it.name == name);
    named.is_some_and(|it| it.fields.starts_with(fields))
}

/// Returns the index of the name that a variable has after the prefix of its kind.
fn place<const N: usize>(variable: &Field<'_>, prefix: &str, names: [&str; N]) -> Option<usize> {
    let name = variable.name.strip_prefix(prefix)?;
    names.iter().position(|it| *it == name)
}

impl StepLayout {
    fn of(variables: &[Field<'_>], structures: &[Structure<'_>]) -> Self {
        let mut layout = Self::default();
        for (bit, variable) in (0..).zip(variables) {
            let known = match (variable.kind, variable.size_bytes) {
                ("integer", 4) => {
                    let at = place(variable, "BPg_", COUNTS);
                    at.map(|at| &mut layout.counts[at])
                }
                ("unsigned integer", 8) => {
                    let at = place(variable, "BPg_", ARRAYS.map(|it| it.0));
                    at.map(|at| &mut layout.num_rows[at])
                }
                (kind @ ("MetaArray" | "MetaArrayMM8"), _)
                    if has(structures, kind, &META_ARRAY) =>
                {
                    let at = place(variable, "BPG_8_8_", ARRAYS.map(|it| it.1));
                    at.map(|at| &mut layout.arrays[at])
                }
                _ => None,
            };
            if let Some(known) = known {
                let start = variable.start.into();
                *known = Some(Variable { bit, start });
            }
        }
        layout
    }

    fn read(&self, record: Record<'_>, data_start: u64) -> Option<StoredStep> {
        let data_bytes = record.word(2 * WORD_BYTES)?;
        let data_end = match data_bytes {
            0 => Some(0),
            _ => data_start.checked_add(data_bytes),
        };
        if [0, 1, 2].map(|at| record.word(at * WORD_BYTES)) == [Some(0); 3] {
            return Some(StoredStep::empty());
        }
        let (num_words, words) = (record.word(0)?, record.place(WORD_BYTES)?);
        let is_put = |variable: &Variable| {
            let (word, bit) = (variable.bit / 64, variable.bit % 64);
            let word = (word < num_words).then(|| record.word(words + word * WORD_BYTES));
            word.flatten().is_some_and(|bits| bits >> bit & 1 == 1)
        };
        let count = |variable: Option<Variable>| {
            let number = record.number(variable.filter(is_put)?.start)?;
            u32::try_from(i32::from_le_bytes(number)).ok()
        };
        let num_rows = |variable: Option<Variable>| record.word(variable.filter(is_put)?.start);
        let array = |variable: Option<Variable>| {
            let variable = variable.filter(is_put)?;
            record.array(variable.start, data_start)
        };
        Some(StoredStep {
            arrays: self.arrays.map(array).map(Option::unwrap_or_default),
            num_rows: self.num_rows.map(num_rows),
            counts: self.counts.map(count),
            is_empty: false,
            data_end,
        })
    }
}

/// The contents of a record after its header.
#[derive(Clone, Copy)]
struct Record<'a>(&'a [u8]);

impl<'a> Record<'a> {
    /// Returns a record and the id that it states.
    fn of(bytes: &'a [u8]) -> Option<(&'a [u8], Self)> {
        let (id, rest) = bytes.split_at_checked(ID_BYTES)?;
        let (length, rest) = rest.split_first_chunk()?;
        let (zeros, rest) = rest.split_first_chunk()?;
        let record = rest.get(..usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        let is_whole = rest.len() == record.len().next_multiple_of(8) && *zeros == [0; 8];
        is_whole.then_some((id, Self(record)))
    }

    fn number<const N: usize>(self, at: u64) -> Option<[u8; N]> {
        let rest = self.0.get(usize::try_from(at).ok()?..)?;
        rest.first_chunk().copied()
    }

    fn word(self, at: u64) -> Option<u64> {
        self.number(at).map(u64::from_le_bytes)
    }

    /// Returns the offset that is stored at `at`, if it is within the record.
    fn place(self, at: u64) -> Option<u64> {
        let stated = self.word(at)?;
        let is_within = usize::try_from(stated).is_ok_and(|it| it < self.0.len());
        (stated > 0 && is_within).then_some(stated)
    }

    /// Returns the text at the offset that is stored at `at`.
    fn text(self, at: u64) -> Option<&'a [u8]> {
        text_at(self.0, usize::try_from(self.place(at)?).ok()?)
    }

    /// Returns the blocks of the array whose structure is at `start`.
    fn array(self, start: u64, data_start: u64) -> Option<Vec<StoredArray>> {
        let word = |at: u64| self.word(start + at * WORD_BYTES);
        let place = |at: u64| self.place(start + at * WORD_BYTES);
        let pair = |first: u64| Some([self.word(first)?, self.word(first + WORD_BYTES)?]);
        let num_blocks = word(1)?;
        if word(0)? != 2 || num_blocks == 0 || num_blocks.checked_mul(2) != word(2) {
            return None;
        }
        let (shape, counts, offsets, locations) =
            (pair(place(3)?)?, place(4)?, place(5)?, place(6)?);
        let block = |block: u64| {
            // A record cannot have more blocks than it has words for.
            let at = block.checked_mul(2 * WORD_BYTES)?;
            let [num_rows, num_columns] = pair(counts.checked_add(at)?)?;
            let [first_row, first_column] = pair(offsets.checked_add(at)?)?;
            let is_only = num_blocks == 1;
            if (num_columns, first_column) != (shape[1], 0)
                || is_only && (num_rows, first_row) != (shape[0], 0)
            {
                return None;
            }
            let location = self.word(locations + block * WORD_BYTES)?;
            StoredArray::at(data_start.checked_add(location)?, num_rows, num_columns)
        };
        (0..num_blocks).map(block).collect()
    }

    /// Returns the texts at the offsets that [`ATTRIBUTES`] states.
    fn attributes(self) -> Option<Vec<(&'a [u8], &'a [u8])>> {
        let [num_numbers, num_texts] = [0, 2].map(|at| self.word(at * WORD_BYTES));
        if num_numbers? != 0 {
            return None;
        }
        // Each text has bytes of its own, so repeated offsets cannot multiply the result.
        let mut bytes_left = self.0.len();
        let mut attributes = Vec::new();
        for number in 0..num_texts? {
            let start = self.place(3 * WORD_BYTES)? + number * TEXT_ATTRIBUTE_BYTES;
            if self.word(start + WORD_BYTES)? != 1 {
                return None;
            }
            let name = self.text(start)?.strip_prefix(b">")?;
            let text = self.text(self.place(start + 2 * WORD_BYTES)?)?;
            bytes_left = bytes_left.checked_sub(name.len() + text.len())?;
            attributes.push((name, text));
        }
        Some(attributes)
    }
}

/// Returns the structures of a description.
fn structures(description: &[u8]) -> Option<Vec<Structure<'_>>> {
    let (&[_, _, 0, 2, num_others, 0, 0, 0], mut rest) = description.split_first_chunk()? else {
        return None;
    };
    let next = |_| {
        let length = u16::from_be_bytes(*rest.first_chunk()?);
        let (structure, after) = rest.split_at_checked(length.into())?;
        rest = after;
        Structure::of(structure)
    };
    (0..=num_others).map(next).collect()
}

impl<'a> Structure<'a> {
    fn of(bytes: &'a [u8]) -> Option<Self> {
        let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let text = |at: usize| {
            std::str::from_utf8(text_at(bytes, usize::try_from(number(at)?).ok()?)?).ok()
        };
        let (&[_, _, 2, 0, head @ ..], fields) = bytes.split_first_chunk::<STRUCTURE_BYTES>()?
        else {
            return None;
        };
        if head[12..14] != [8, 28] || head[20..] != [0; 4] {
            return None;
        }
        let num_fields = usize::try_from(number(8)?).ok()?;
        let fields = fields.get(..num_fields.checked_mul(FIELD_BYTES)?)?;
        let starts = (STRUCTURE_BYTES..).step_by(FIELD_BYTES);
        let fields = starts.take(fields.len() / FIELD_BYTES).map(|at| {
            Some(Field {
                name: text(at)?,
                kind: text(at + 4)?,
                size_bytes: number(at + 8)?,
                start: number(at + 12)?,
            })
        });
        Some(Self {
            name: text(4)?,
            fields: fields.collect::<Option<_>>()?,
        })
    }
}

/// Returns the bytes from an offset up to a zero byte.
fn text_at(bytes: &[u8], place: usize) -> Option<&[u8]> {
    let rest = bytes.get(place..)?;
    rest.get(..rest.iter().position(|&byte| byte == 0)?)
}

/// The writers of the steps that follow.
#[derive(Clone, Copy, Default)]
pub(super) struct Bp5Writers {
    pub(super) num_writers: u64,
    num_files: u64,
}

impl Bp5Writers {
    /// Returns the writers in a record; `None` if their list is incomplete.
    pub(super) fn of_record(record: &[u8]) -> Option<Self> {
        let (num_writers, num_files) = (u64_at(record, 0)?, u64_at(record, 16)?);
        let files: Vec<_> = (3..record.len() / 8)
            .filter_map(|field| u64_at(record, field * 8))
            .collect();
        let is_whole = files.len() as u64 == num_writers && record.len() == (3 + files.len()) * 8;
        let writers = Self {
            num_writers,
            num_files,
        };
        (is_whole && num_writers > 0 && files.iter().all(|&file| file < num_files))
            .then_some(writers)
    }
}

/// A step in the index of BP5.
pub(super) struct Bp5Step {
    pub(super) start: u64,
    pub(super) size_bytes: u64,
    /// Number of parts in which the data was written, without the last.
    pub(super) num_flushes: u64,
    /// Offset of the data, known only for one writer with one data file.
    pub(super) data_start: Option<u64>,
}

impl Bp5Step {
    pub(super) fn of_record(record: &[u8], writers: Bp5Writers) -> Option<Self> {
        let Bp5Writers {
            num_writers,
            num_files,
        } = writers;
        let (start, size_bytes, num_flushes) =
            (u64_at(record, 0)?, u64_at(record, 8)?, u64_at(record, 16)?);
        let num_places = num_flushes
            .checked_mul(2)?
            .checked_add(1)?
            .checked_mul(num_writers)?;
        if num_writers == 0 || num_places.checked_add(3)?.checked_mul(8)? != record.len() as u64 {
            return None;
        }
        let data_start = if (num_writers, num_files) == (1, 1) {
            u64_at(record, 24)
        } else {
            None
        };
        Some(Self {
            start,
            size_bytes,
            num_flushes,
            data_start,
        })
    }
}

/// Returns the number of 64 bits at an offset.
pub(super) fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    let (number, _) = bytes.get(place..)?.split_first_chunk()?;
    Some(u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    /// Returns the two parts of a file's bytes that follow their lengths, of 8 bytes each, at an offset.
    fn parts(bytes: &[u8], lengths_at: usize) -> [Vec<u8>; 2] {
        let length = |at: usize| {
            let stated = bytes[at..].first_chunk().unwrap();
            usize::try_from(u64::from_le_bytes(*stated)).unwrap()
        };
        let [first, second] = [lengths_at, lengths_at + 8].map(length);
        let start = lengths_at + 16;
        let (first, second) = bytes[start..start + first + second].split_at(first);
        [first.to_vec(), second.to_vec()]
    }

    /// Returns parts of a trace: id and description of a step and of attributes, and the first step's records of both.
    fn trace() -> [Vec<u8>; 6] {
        let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../assets/lammps-4r-small");
        let folder = run.join("bp/tau-metrics-lmp_tau-0.bp");
        let [descriptions, metadata] =
            ["mmd.0", "md.0"].map(|name| fs::read(folder.join(name)).unwrap());
        let [id, of_step] = parts(&descriptions, 0);
        let [other_id, of_attributes] = parts(&descriptions, 16 + id.len() + of_step.len());
        let [step, attributes] = parts(&metadata, 8);
        [id, of_step, other_id, of_attributes, step, attributes]
    }

    fn read(trace: &[Vec<u8>; 6]) -> (StoredStep, Option<usize>) {
        let [id, of_step, other_id, of_attributes, step, attributes] = trace;
        let mut layouts = RecordLayouts::default();
        layouts.add(id, of_step);
        layouts.add(other_id, of_attributes);
        let texts = layouts.attributes(attributes);
        let sizes = |(name, text): &(&[u8], &[u8])| name.len() + text.len();
        let size = texts.map(|it| it.iter().map(sizes).sum());
        (layouts.step(step, 1 << 20), size)
    }

    #[test]
    fn a_record_describes_a_complete_step() {
        let (step, attributes) = read(&trace());
        assert!(step.is_complete(), "{step:?}");
        assert!(step.arrays[0][0].offset >= 1 << 20);
        assert!(attributes.is_some_and(|size| size > 1_000));
    }

    proptest! {
        #[test]
        fn damaged_records_stay_within_bounds(
            part in 0..6_usize,
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..9),
            length in any::<prop::sample::Index>(),
        ) {
            let mut damaged = trace();
            let bytes = &mut damaged[part];
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            bytes.truncate(length.index(8 * bytes.len()) + 1);
            let num_bytes = damaged[5].len();
            let (_, attributes) = read(&damaged);
            prop_assert!(attributes.is_none_or(|size| size <= num_bytes));
        }
    }
}
