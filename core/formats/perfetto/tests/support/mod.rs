//! Writes traces, field by field.

use std::path::Path;
use std::sync::Arc;

use callgrove_model::{Progress, Trace};
use callgrove_perfetto::PerfettoFormat;
use callgrove_source::{MemoryFiles, OneByOne, Registry, SourceError};

/// A message that is being written.
#[derive(Clone, Default)]
pub(crate) struct Message {
    pub(crate) bytes: Vec<u8>,
}

/// Types of track events.
pub(crate) const BEGIN: u64 = 1;
pub(crate) const END: u64 = 2;
pub(crate) const COUNTER: u64 = 4;

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub(crate) fn number(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    pub(crate) fn fixed(&mut self, field: u64, value: u64) -> &mut Self {
        self.varint(field << 3 | 1);
        self.bytes.extend(value.to_le_bytes());
        self
    }

    pub(crate) fn data(&mut self, field: u64, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.bytes.extend(bytes.as_ref());
        self
    }

    pub(crate) fn message(&mut self, field: u64, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self::default();
        fill(&mut inner);
        self.data(field, inner.bytes)
    }

    /// Adds a packet of a sequence.
    pub(crate) fn packet(&mut self, sequence: u64, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.message(1, |packet| {
            fill(packet);
            packet.number(10, sequence);
        })
    }

    /// Describes the track of a process.
    pub(crate) fn process(&mut self, uuid: u64, pid: u64, name: &str) -> &mut Self {
        self.packet(1, |packet| {
            packet.message(60, |track| {
                track.number(1, uuid).message(3, |process| {
                    process.number(1, pid).data(6, name);
                });
            });
        })
    }

    /// Describes the track of a thread of a process.
    pub(crate) fn thread(
        &mut self,
        (uuid, parent): (u64, u64),
        (pid, tid): (u64, u64),
        name: &str,
    ) -> &mut Self {
        self.packet(1, |packet| {
            packet.message(60, |track| {
                track
                    .number(1, uuid)
                    .number(5, parent)
                    .message(4, |thread| {
                        thread.number(1, pid).number(2, tid).data(5, name);
                    });
            });
        })
    }

    /// Describes another track.
    pub(crate) fn track(&mut self, (uuid, parent): (u64, u64), name: &str) -> &mut Self {
        self.packet(1, |packet| {
            packet.message(60, |track| {
                track.number(1, uuid).number(5, parent).data(2, name);
            });
        })
    }

    /// Adds an event of a track at a time, with further fields.
    pub(crate) fn event(
        &mut self,
        (kind, uuid, time): (u64, u64, u64),
        fill: impl FnOnce(&mut Self),
    ) -> &mut Self {
        self.packet(1, |packet| {
            packet.number(8, time).message(11, |event| {
                event.number(9, kind).number(11, uuid);
                fill(event);
            });
        })
    }

    pub(crate) fn begin(&mut self, uuid: u64, time_ns: u64, name: &str) -> &mut Self {
        self.event((BEGIN, uuid, time_ns), |event| {
            event.data(23, name);
        })
    }

    pub(crate) fn end(&mut self, uuid: u64, time_ns: u64) -> &mut Self {
        self.event((END, uuid, time_ns), |_| {})
    }

    /// Adds a reading to a snapshot of clocks: clock, time, unit in nanoseconds, whether times are differences.
    pub(crate) fn reading(
        &mut self,
        (clock, time): (u64, u64),
        (unit, is_incremental): (u64, bool),
    ) -> &mut Self {
        self.message(1, |reading| {
            reading.number(1, clock).number(2, time);
            reading.number(3, is_incremental.into()).number(4, unit);
        })
    }

    /// Adds a name to those of a sequence: 1 for categories, 2 for events, 3 for annotations.
    pub(crate) fn interned(&mut self, table: u64, id: u64, name: &str) -> &mut Self {
        self.message(12, |interned| {
            interned.message(table, |entry| {
                entry.number(1, id).data(2, name);
            });
        })
    }
}

/// Returns a trace of one process with a thread, with a call in another and a call on a second thread.
pub(crate) fn small() -> Message {
    let mut trace = Message::default();
    trace
        .process(1, 100, "app")
        .thread((2, 1), (100, 100), "main")
        .thread((3, 1), (100, 101), "worker");
    trace.begin(2, 1_000, "main").begin(2, 2_000, "work");
    trace.begin(3, 1_500, "help").end(2, 3_000);
    trace.end(3, 3_500).end(2, 9_000);
    trace
}

/// The calls of [`small`].
pub(crate) const SMALL: [&str; 3] = [
    "0.0 0 main 1000-9000",
    "0.0 1 work 2000-3000",
    "0.1 0 help 1500-3500",
];

pub(crate) fn registry(files: MemoryFiles) -> Registry {
    Registry::new(Arc::new(files), vec![Box::new(PerfettoFormat)])
}

/// Reads a folder of files.
pub(crate) fn read_files(files: &[(&str, &[u8])]) -> Result<Trace, SourceError> {
    let mut in_memory = MemoryFiles::default();
    for (name, bytes) in files {
        in_memory.put(&format!("run/{name}"), bytes);
    }
    registry(in_memory).load(Path::new("run"), &OneByOne, Progress::none())
}

/// Reads one file.
pub(crate) fn read(bytes: &[u8]) -> Result<Trace, SourceError> {
    read_files(&[("trace.pftrace", bytes)])
}
