//! The events of one location, in order of time.

use std::io::{self, BufReader};

use callgrove_model::{ThreadId, TimeNs};
use callgrove_source::FileReader;

use crate::bytes::{ByteOrder, ByteReader};
use crate::chunk::{ATTRIBUTES, Chunks, Record, Records, TIMESTAMP};
use crate::events::Event;
use crate::local_definitions::{LocalDefinitions, LocationClock};

/// A location whose events are read.
pub(crate) struct LocationReader {
    pub(crate) thread: ThreadId,
    /// Its id, if it samples metrics.
    pub(crate) sampler: Option<u64>,
    pub(crate) definitions: LocalDefinitions,
    pub(crate) clock: LocationClock,
    chunks: Chunks<BufReader<Box<dyn FileReader>>>,
    /// True if the current chunk may have more records.
    is_in_chunk: bool,
    /// Number of events of it that are still to come, if its head states their number.
    num_expected: Option<u64>,
    /// The byte order of the current chunk.
    order: ByteOrder,
    /// Number of bytes of the current piece of it that are left.
    num_left: usize,
    /// Time of the next event.
    time: TimeNs,
}

/// The reason why a location stopped delivering events.
pub(crate) enum Pause {
    /// Its next event is later than allowed.
    Later(TimeNs),
    /// The receiver asked to stop.
    Full(TimeNs),
    /// It has no more events.
    End,
}

/// Damage of a chunk, whose rest is skipped: its offset in the file.
pub(crate) struct DamagedChunk(pub(crate) u64);

impl LocationReader {
    pub(crate) fn new(
        (thread, sampler): (ThreadId, Option<u64>),
        definitions: LocalDefinitions,
        clock: LocationClock,
        file: BufReader<Box<dyn FileReader>>,
        chunk_bytes: usize,
    ) -> Self {
        Self {
            thread,
            sampler,
            definitions,
            clock,
            chunks: Chunks::in_pieces(file, chunk_bytes),
            is_in_chunk: false,
            num_expected: None,
            order: ByteOrder::Little,
            num_left: 0,
            time: TimeNs(i64::MIN),
        }
    }

    /// Returns the number of bytes that were read.
    pub(crate) fn num_bytes_read(&self) -> u64 {
        self.chunks.num_bytes_read
    }

    /// Passes events up to time `until` to `take`, which returns false to stop, and damage to `damaged`.
    pub(crate) fn deliver(
        &mut self,
        until: TimeNs,
        mut take: impl FnMut(&LocalDefinitions, &mut LocationClock, TimeNs, Event<'_>) -> bool,
        mut damaged: impl FnMut(DamagedChunk),
    ) -> io::Result<Pause> {
        loop {
            let (offset, bytes) = (self.chunks.offset(), self.chunks.bytes());
            let rest = bytes.get(bytes.len().saturating_sub(self.num_left)..);
            let bytes = ByteReader::new(rest.unwrap_or_default(), self.order);
            let mut records = Records::of_piece(bytes);
            let mut needs_more = false;
            while self.is_in_chunk && !needs_more {
                let num_before = records.len();
                match records.next_event() {
                    Record::Of(TIMESTAMP, mut tick) => {
                        let tick = tick.full_u64().unwrap_or_default();
                        self.time = self.clock.time(tick);
                        if self.time > until {
                            self.num_left = records.len();
                            return Ok(Pause::Later(self.time));
                        }
                    }
                    Record::Of(ATTRIBUTES, _) => {}
                    Record::Of(kind, values) => {
                        self.num_expected = self.num_expected.and_then(|num| num.checked_sub(1));
                        let event = Event::of(kind, values);
                        // A time comes before the first event.
                        let Some(event) = event.filter(|_| self.time > TimeNs(i64::MIN)) else {
                            damaged(DamagedChunk(offset));
                            continue;
                        };
                        if !take(&self.definitions, &mut self.clock, self.time, event) {
                            self.num_left = records.len();
                            return Ok(Pause::Full(self.time));
                        }
                    }
                    Record::End if num_before > 0 => {
                        self.is_in_chunk = false;
                        // Zeros in a chunk end it early.
                        if self.num_expected.is_some_and(|num| num > 0) {
                            damaged(DamagedChunk(offset));
                        }
                    }
                    // Records never cross chunks, but pieces of them.
                    Record::End | Record::Damaged => {
                        needs_more = true;
                        self.num_left = num_before;
                    }
                }
            }
            if needs_more {
                if self.chunks.read_on(self.num_left)? {
                    self.num_left = self.chunks.bytes().len();
                    continue;
                }
                if self.num_left > 0 {
                    damaged(DamagedChunk(offset));
                }
            }
            if !self.chunks.advance()? {
                return Ok(Pause::End);
            }
            self.begin_chunk(&mut damaged);
        }
    }

    /// Processes the head of a chunk.
    fn begin_chunk(&mut self, mut damaged: impl FnMut(DamagedChunk)) {
        let records = Records::of_chunk(self.chunks.bytes());
        self.is_in_chunk = records.is_some();
        self.num_expected = Records::stated_events(self.chunks.bytes());
        match records {
            Some(records) => {
                self.num_left = records.len();
                self.order = records.order();
            }
            None => damaged(DamagedChunk(self.chunks.offset())),
        }
    }
}
