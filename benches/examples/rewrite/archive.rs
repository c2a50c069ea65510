//! The files of an OTF2 archive, and its definitions.
//!
//! Layouts as in OTF2 3.0.2; `core/formats/otf2` reads them.

use std::fs;
use std::io;
use std::path::Path;

use callgrove_model::Trace;

use crate::location::{Points, events_of};

/// Size of chunks of events, in bytes: that of TAU and of OTF2's default.
const EVENT_CHUNK_BYTES: usize = 1 << 20;
/// Size of chunks of definitions, in bytes.
const DEFINITION_CHUNK_BYTES: usize = 4 << 20;
/// Records of definitions, by their numbers in OTF2.
mod record_kind {
    pub(super) const CLOCK_PROPERTIES: u8 = 5;
    pub(super) const STRING: u8 = 10;
    pub(super) const LOCATION_GROUP: u8 = 13;
    pub(super) const LOCATION: u8 = 14;
    pub(super) const REGION: u8 = 15;
    pub(super) const GROUP: u8 = 18;
    pub(super) const METRIC_MEMBER: u8 = 19;
    pub(super) const METRIC_CLASS: u8 = 20;
    pub(super) const COMMUNICATOR: u8 = 22;
}
/// The paradigm of MPI.
const MPI: u8 = 4;
/// A group with the locations of a communicator.
const COMM_LOCATIONS: u8 = 4;
/// A group with the members of a communicator, as indices of its locations.
const COMM_GROUP: u8 = 5;
/// The reference that is not defined.
const UNDEFINED: u64 = u32::MAX as u64;
/// Id of the first string. The names of functions come first, then those of counters.
const FIRST_STRING: u64 = 0;

/// A file of chunks that is being written.
pub(crate) struct ChunkedFile {
    pub(crate) bytes: Vec<u8>,
    chunk_bytes: usize,
}

impl ChunkedFile {
    pub(crate) fn new(chunk_bytes: usize) -> Self {
        let bytes = Vec::new();
        let mut file = Self { bytes, chunk_bytes };
        file.begin_chunk();
        file
    }

    /// Returns the file of events of a location.
    pub(crate) fn of_events() -> Self {
        Self::new(EVENT_CHUNK_BYTES)
    }

    /// Returns whether the chunk takes this many more bytes and its end.
    pub(crate) fn fits(&self, num_bytes: usize) -> bool {
        self.bytes.len() % self.chunk_bytes + num_bytes + 2 <= self.chunk_bytes
            && !self.bytes.len().is_multiple_of(self.chunk_bytes)
    }

    /// Fills the chunk and begins the next one.
    pub(crate) fn begin_chunk(&mut self) {
        let filled = self.bytes.len().next_multiple_of(self.chunk_bytes);
        self.bytes.resize(filled, 0);
        self.bytes.extend([3, 0x42]);
        // The numbers of the first and last event are not stated.
        self.bytes.extend([1_u64, 0].map(u64::to_le_bytes).concat());
    }

    /// Adds a record of definitions.
    fn record(&mut self, kind: u8, values: &[u8]) {
        if !self.fits(values.len() + 10) {
            self.begin_chunk();
        }
        push_record(&mut self.bytes, kind, values);
    }

    /// Ends the last chunk.
    pub(crate) fn end(mut self) -> Vec<u8> {
        self.bytes.extend([2, 1]);
        self.bytes
    }
}

/// Appends a record with its length.
pub(crate) fn push_record(bytes: &mut Vec<u8>, kind: u8, values: &[u8]) {
    bytes.push(kind);
    match u8::try_from(values.len()) {
        Ok(length) if length < 0xFF => bytes.push(length),
        _ => {
            bytes.push(0xFF);
            bytes.extend((values.len() as u64).to_le_bytes());
        }
    }
    bytes.extend(values);
}

/// Appends a compressed integer.
pub(crate) fn push_value(bytes: &mut Vec<u8>, value: u64) {
    if value == UNDEFINED || value == u64::MAX {
        bytes.push(0xFF);
        return;
    }
    let length = 8 - value.leading_zeros() as usize / 8;
    bytes.push(length as u8);
    bytes.extend(&value.to_le_bytes()[..length]);
}

/// Returns compressed integers.
pub(crate) fn values(values: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for value in values {
        push_value(&mut bytes, *value);
    }
    bytes
}

/// Writes a run as `traces.otf2` and what belongs to it.
pub(crate) fn write_archive(trace: &Trace, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder.join("traces"))?;
    let mut num_events = Vec::new();
    for (number, lane) in trace.lanes.iter().enumerate() {
        let (bytes, num) = events_of(Points::of(lane));
        fs::write(folder.join(format!("traces/{number}.evt")), bytes)?;
        num_events.push(num);
    }
    fs::write(
        folder.join("traces.def"),
        definitions(trace, &num_events).end(),
    )?;
    fs::write(folder.join("traces.otf2"), anchor())
}

fn anchor() -> Vec<u8> {
    let mut bytes = vec![3, 0x42];
    bytes.extend(b"OTF2\0\x03\x02\x03\x00\x02");
    let sizes = [EVENT_CHUNK_BYTES as u64, DEFINITION_CHUNK_BYTES as u64];
    bytes.extend(sizes.map(u64::to_le_bytes).concat());
    bytes.extend([1, 1]);
    bytes.extend([0; 16]);
    bytes
}

fn definitions(trace: &Trace, num_events: &[u64]) -> ChunkedFile {
    let mut file = ChunkedFile::new(DEFINITION_CHUNK_BYTES);
    file.record(
        record_kind::CLOCK_PROPERTIES,
        &values(&[1_000_000_000, 0, 0]),
    );
    let names = trace.names.iter().map(|(_, name)| name);
    let counters = trace.counter_names.iter().map(|(_, name)| name);
    for (id, name) in (FIRST_STRING..).zip(names.chain(counters)) {
        let mut bytes = values(&[id]);
        bytes.extend(name.as_bytes());
        bytes.push(0);
        file.record(record_kind::STRING, &bytes);
    }
    let num_names = trace.names.len() as u64;
    for id in 0..num_names {
        let mut bytes = values(&[id, FIRST_STRING + id, UNDEFINED]);
        bytes.push(0);
        bytes.extend(values(&[UNDEFINED, 0, 0, UNDEFINED]));
        bytes.extend([1, 1, 0]);
        file.record(record_kind::REGION, &bytes);
    }
    for id in 0..trace.counter_names.len() as u64 {
        let mut member = values(&[id, FIRST_STRING + num_names + id, UNDEFINED]);
        // An absolute value of u64 in a unit of its own.
        member.extend([0, 0, 4, 0]);
        member.extend(values(&[0, UNDEFINED]));
        file.record(record_kind::METRIC_MEMBER, &member);
        let mut class = values(&[id]);
        class.push(1);
        class.extend(values(&[id]));
        class.extend([0, 0]);
        file.record(record_kind::METRIC_CLASS, &class);
    }
    let ranks = trace
        .lanes
        .chunk_by(|a, b| (a.program, a.rank) == (b.program, b.rank));
    let (mut location, mut mains) = (0_u64, Vec::new());
    for (group, lanes) in (0_u64..).zip(ranks) {
        let mut bytes = values(&[group, UNDEFINED]);
        bytes.push(1);
        bytes.extend(values(&[UNDEFINED, UNDEFINED]));
        file.record(record_kind::LOCATION_GROUP, &bytes);
        mains.push(location);
        for _ in lanes {
            let num = num_events.get(location as usize).copied().unwrap_or(0);
            let mut bytes = values(&[location, UNDEFINED]);
            bytes.push(1);
            bytes.extend(values(&[num, group]));
            file.record(record_kind::LOCATION, &bytes);
            location += 1;
        }
    }
    let members: Vec<u64> = (0..mains.len() as u64).collect();
    for (id, kind, members) in [(0, COMM_LOCATIONS, &mains), (1, COMM_GROUP, &members)] {
        let mut bytes = values(&[id, UNDEFINED]);
        bytes.push(0);
        bytes.extend(values(&[members.len() as u64]));
        bytes.extend(values(members));
        bytes.extend([kind, MPI, 0]);
        file.record(record_kind::GROUP, &bytes);
    }
    file.record(
        record_kind::COMMUNICATOR,
        &values(&[0, UNDEFINED, 1, UNDEFINED, 0]),
    );
    file
}
