//! The first pass over a file: the tables of its planes, and the facts about the profile. Lines are skipped.
//!
//! Numbers: `XSpace`, `XPlane`, `XEventMetadata` and `XStatMetadata` of `xplane.proto`.

use std::collections::HashMap;

use callgrove_model::{WarningKind, Warnings};

use crate::event_names::{EventNames, text};
use crate::line_kind::PlaneKind;
use crate::proto::{FieldHead, HeadValue, MessageStream, StatValue, StreamFault, stat};

/// Maximum number of messages of the profiler that are kept: it repeats itself.
const MAX_REPORTS: usize = 16;

/// The facts of a file that are not events.
#[derive(Debug, Default)]
pub(crate) struct FileTables {
    /// In the order of the file.
    pub(crate) planes: Vec<PlaneTable>,
    /// The name of the host, if it is stated.
    pub(crate) host: Option<Box<str>>,
    /// Errors and warnings of the profiler.
    pub(crate) reports: Vec<Box<str>>,
    /// The time at which the profile began, in nanoseconds since the epoch.
    pub(crate) start_ns: Option<i64>,
    pub(crate) process: Option<i64>,
}

/// The tables of a plane.
#[derive(Debug)]
pub(crate) struct PlaneTable {
    pub(crate) name: Box<str>,
    pub(crate) kind: PlaneKind,
    pub(crate) names: EventNames,
    pub(crate) stats: HashMap<i64, StatKind>,
}

/// The kinds of stats of events that are of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatKind {
    /// The number of an iteration.
    Step,
    /// The number that a call and the work that it launched have in common.
    Correlation,
    /// The number of one execution of a program.
    Run,
    /// The number of the process, of a plane.
    Process,
    /// The time at which the profile began, of a plane.
    ProfileStart,
}

impl StatKind {
    fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"step_num" => Self::Step,
            b"correlation_id" => Self::Correlation,
            b"run_id" => Self::Run,
            b"process_id" => Self::Process,
            b"profile_start_time" => Self::ProfileStart,
            _ => return None,
        })
    }
}

impl FileTables {
    /// Reads the tables. What is damaged is left out, and counted by the second pass, which comes there too; a table
    /// that is damaged is counted here.
    ///
    /// # Errors
    /// Faults of the file itself.
    pub(crate) fn read(
        stream: &mut MessageStream,
        warnings: &mut Warnings,
    ) -> Result<Self, StreamFault> {
        let mut tables = Self::default();
        match tables.read_fields(stream, warnings) {
            Err(fault @ StreamFault::Io(..)) => Err(fault),
            // At other faults the second pass ends, too.
            Ok(()) | Err(_) => Ok(tables),
        }
    }

    fn read_fields(
        &mut self,
        stream: &mut MessageStream,
        warnings: &mut Warnings,
    ) -> Result<(), StreamFault> {
        while let Some(FieldHead { number, value }) = stream.field(u64::MAX)? {
            if let HeadValue::Until(end) = value {
                self.read_field(number, end, stream, warnings)?;
            }
        }
        Ok(())
    }

    fn read_field(
        &mut self,
        number: u64,
        end: u64,
        stream: &mut MessageStream,
        warnings: &mut Warnings,
    ) -> Result<(), StreamFault> {
        match number {
            1 => {
                let mut reader = PlaneReader::default();
                let read = reader.read(end, stream, warnings);
                self.add(reader, warnings);
                return read;
            }
            2 | 3 if self.reports.len() < MAX_REPORTS => {
                if let Some(bytes) = stream.bytes(end)? {
                    self.reports.push(text(bytes, warnings));
                }
            }
            4 if self.host.is_none() => {
                if let Some(bytes) = stream.bytes(end)?.filter(|it| !it.is_empty()) {
                    self.host = Some(text(bytes, warnings));
                }
            }
            _ => stream.skip_to(end)?,
        }
        Ok(())
    }

    fn add(&mut self, reader: PlaneReader, warnings: &mut Warnings) {
        let name = text(&reader.name, warnings);
        let kind = PlaneKind::of(&name);
        for (number, value) in reader.facts {
            match reader.stats.get(&number) {
                Some(StatKind::Process) if kind == PlaneKind::Host => self.process = Some(value),
                Some(StatKind::ProfileStart) if kind == PlaneKind::Environment => {
                    self.start_ns = Some(value).filter(|it| *it > 0);
                }
                _ => {}
            }
        }
        self.planes.push(PlaneTable {
            name,
            kind,
            names: reader.names,
            stats: reader.stats,
        });
    }
}

/// The fields of a plane, as far as they are read.
#[derive(Default)]
struct PlaneReader {
    name: Vec<u8>,
    names: EventNames,
    stats: HashMap<i64, StatKind>,
    /// Numbers in the stats of the plane itself, which precede or follow the names of these.
    facts: Vec<(i64, i64)>,
}

impl PlaneReader {
    fn read(
        &mut self,
        end: u64,
        stream: &mut MessageStream,
        warnings: &mut Warnings,
    ) -> Result<(), StreamFault> {
        loop {
            let (number, field_end) = match stream.field(end) {
                Ok(Some(FieldHead {
                    number,
                    value: HeadValue::Until(field_end),
                })) => (number, field_end),
                Ok(Some(_)) => continue,
                Ok(None) => return Ok(()),
                // The second pass counts it.
                Err(StreamFault::NoField(_)) => return stream.skip_to(end),
                Err(fault) => return Err(fault),
            };
            match number {
                2 => {
                    if let Some(bytes) = stream.bytes(field_end)? {
                        bytes.clone_into(&mut self.name);
                    }
                }
                4 => {
                    let entry = TableEntry::of(field_end, stream, warnings)?;
                    let name = if entry.display_name.is_empty() {
                        &entry.name
                    } else {
                        &entry.display_name
                    };
                    self.names.put(entry.number, name, warnings);
                }
                5 => {
                    let entry = TableEntry::of(field_end, stream, warnings)?;
                    if let Some(kind) = StatKind::of(&entry.name) {
                        self.stats.insert(entry.number, kind);
                    }
                }
                6 => {
                    let fact = stream.bytes(field_end)?.map(stat);
                    if let Some(Ok((name, StatValue::Integer(value)))) = fact {
                        self.facts.push((name, value));
                    }
                }
                _ => stream.skip_to(field_end)?,
            }
        }
    }
}

/// An entry of a table: the key of the map, or the number in its message, and its names.
#[derive(Default)]
struct TableEntry {
    number: i64,
    name: Vec<u8>,
    display_name: Vec<u8>,
}

impl TableEntry {
    /// Reads an entry of a table, which may hold a program of many bytes. What is damaged in it is left out and counted.
    fn of(
        end: u64,
        stream: &mut MessageStream,
        warnings: &mut Warnings,
    ) -> Result<Self, StreamFault> {
        let at = stream.position();
        let mut entry = Self::default();
        match entry.read(end, stream, true) {
            Err(StreamFault::NoField(_)) => {
                let place = || format!("name at byte {at}");
                warnings.count(WarningKind::BadRow, None, place);
                stream.skip_to(end)?;
            }
            read => read?,
        }
        Ok(entry)
    }

    /// Reads the entry of the map, or the message in it. The number has the same field in both.
    fn read(
        &mut self,
        end: u64,
        stream: &mut MessageStream,
        is_map_entry: bool,
    ) -> Result<(), StreamFault> {
        while let Some(FieldHead { number, value }) = stream.field(end)? {
            let name = match (number, value) {
                (1, HeadValue::Varint(value)) => {
                    self.number = value.cast_signed();
                    continue;
                }
                (2, HeadValue::Until(end)) if is_map_entry => {
                    self.read(end, stream, false)?;
                    continue;
                }
                (2, HeadValue::Until(end)) => (end, &mut self.name),
                (4, HeadValue::Until(end)) => (end, &mut self.display_name),
                (_, HeadValue::Until(end)) => {
                    stream.skip_to(end)?;
                    continue;
                }
                _ => continue,
            };
            if let Some(bytes) = stream.bytes(name.0)? {
                bytes.clone_into(name.1);
            }
        }
        Ok(())
    }
}
