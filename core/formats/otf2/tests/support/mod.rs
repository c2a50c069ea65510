//! Writes archives into memory, with values of any byte order.

use callgrove_source::MemoryFiles;

/// Size of chunks, in bytes: the smallest that OTF2 allows.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

/// Values of a file.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
    is_big: bool,
}

/// An archive with its files.
pub(crate) struct ArchiveWriter {
    pub(crate) definitions: Writer,
    /// Definitions and events of each location.
    pub(crate) locations: Vec<(u64, Writer, Writer)>,
    is_big: bool,
}

impl Writer {
    pub(crate) fn new(is_big: bool) -> Self {
        let bytes = Vec::new();
        Self { bytes, is_big }
    }

    pub(crate) fn full(&mut self, value: u64) -> &mut Self {
        let bytes = if self.is_big {
            value.to_be_bytes()
        } else {
            value.to_le_bytes()
        };
        self.bytes.extend(bytes);
        self
    }

    pub(crate) fn byte(&mut self, value: u8) -> &mut Self {
        self.bytes.push(value);
        self
    }

    /// Appends a compressed integer.
    pub(crate) fn value(&mut self, value: u64) -> &mut Self {
        if value == u64::MAX || value == u64::from(u32::MAX) {
            return self.byte(0xFF);
        }
        let length = 8 - value.leading_zeros() as usize / 8;
        self.byte(length as u8);
        if self.is_big {
            self.bytes.extend(&value.to_be_bytes()[8 - length..]);
        } else {
            self.bytes.extend(&value.to_le_bytes()[..length]);
        }
        self
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes.extend(text.as_bytes());
        self.byte(0)
    }

    /// Appends a record with its length.
    pub(crate) fn record(&mut self, kind: u8, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let mut values = Self::new(self.is_big);
        fill(&mut values);
        self.byte(kind);
        if values.bytes.len() < 0xFF {
            self.byte(values.bytes.len() as u8);
        } else {
            self.byte(0xFF).full(values.bytes.len() as u64);
        }
        self.bytes.extend(values.bytes);
        self
    }

    /// Appends a record of compressed integers.
    pub(crate) fn values(&mut self, kind: u8, values: &[u64]) -> &mut Self {
        self.record(kind, |record| {
            for value in values {
                record.value(*value);
            }
        })
    }

    /// Appends the time of the events after it.
    pub(crate) fn at(&mut self, tick: u64) -> &mut Self {
        self.byte(5).full(tick)
    }

    pub(crate) fn enter(&mut self, region: u64) -> &mut Self {
        self.byte(12).value(region)
    }

    pub(crate) fn leave(&mut self, region: u64) -> &mut Self {
        self.byte(13).value(region)
    }

    /// Begins a chunk, after it has filled the one before.
    pub(crate) fn chunk(&mut self) -> &mut Self {
        let filled = self.bytes.len().next_multiple_of(CHUNK_BYTES);
        self.bytes.resize(filled, 0);
        let order = if self.is_big { 0x23 } else { 0x42 };
        self.byte(3).byte(order);
        self.full(1).full(0)
    }
}

impl ArchiveWriter {
    /// Returns an archive with a clock of nanoseconds, and with the regions `main` (0), `work` (1) in a file, and
    /// `MPI_Send` (2).
    pub(crate) fn new(is_big: bool) -> Self {
        let mut definitions = Writer::new(is_big);
        definitions.chunk().values(5, &[1_000_000_000, 0, 0]);
        let mut archive = Self {
            definitions,
            locations: Vec::new(),
            is_big,
        };
        // Regions come before their names, as definitions may.
        for (id, file, line) in [(0, u64::MAX, 0), (1, 9, 42), (2, u64::MAX, 0)] {
            archive.definitions.record(15, |record| {
                record.value(id).value(id).value(u64::MAX).byte(0);
                record.value(file).value(line).value(0).value(0);
                record.byte(1).byte(1).value(0);
            });
        }
        for (id, text) in [(0, "main"), (1, "work"), (2, "MPI_Send"), (9, "work.c")] {
            archive.string(id, text);
        }
        archive
    }

    pub(crate) fn string(&mut self, id: u64, text: &str) {
        self.definitions.record(10, |record| {
            record.value(id).text(text);
        });
    }

    /// Adds a process with one thread: its group, and its location.
    pub(crate) fn process(&mut self, group: u64, location: u64) -> &mut Writer {
        self.definitions.record(13, |record| {
            record.value(group).value(u64::MAX).byte(1).value(u64::MAX);
        });
        self.location(group, location, 1)
    }

    /// Adds a location of some kind, and returns its events.
    pub(crate) fn location(&mut self, group: u64, location: u64, kind: u8) -> &mut Writer {
        self.definitions.record(14, |record| {
            record.value(location).value(u64::MAX).byte(kind);
            record.value(1).value(group);
        });
        let [definitions, mut events] = [(); 2].map(|()| Writer::new(self.is_big));
        events.chunk();
        self.locations.push((location, definitions, events));
        &mut self.locations.last_mut().unwrap().2
    }

    /// Adds a group of some type.
    pub(crate) fn group(&mut self, id: u64, group_type: u8, members: &[u64]) {
        self.definitions.record(18, |record| {
            record.value(id).value(u64::MAX).byte(0);
            record.value(members.len() as u64);
            for member in members {
                record.value(*member);
            }
            record.byte(group_type).byte(4).value(0);
        });
    }

    /// Returns the files, below `run`.
    pub(crate) fn files(&self) -> MemoryFiles {
        let mut anchor = Writer::new(self.is_big);
        anchor.byte(3).byte(if self.is_big { 0x23 } else { 0x42 });
        anchor.text("OTF2").byte(3).byte(2);
        anchor.byte(3).byte(0).byte(2);
        anchor.full(CHUNK_BYTES as u64).full(CHUNK_BYTES as u64);
        anchor.byte(1).byte(1).full(0).full(0);
        let mut files = MemoryFiles::default();
        files.put("run/traces.otf2", &anchor.bytes);
        files.put("run/traces.def", &self.definitions.bytes);
        for (id, definitions, events) in &self.locations {
            if !definitions.bytes.is_empty() {
                files.put(&format!("run/traces/{id}.def"), &definitions.bytes);
            }
            files.put(&format!("run/traces/{id}.evt"), &events.bytes);
        }
        files
    }
}
