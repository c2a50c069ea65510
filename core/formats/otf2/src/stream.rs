//! The events of one process, its locations merged by time, in steps of a fixed number of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::BufReader;
use std::sync::Arc;
use std::time::Duration;

use callgrove_model::{
    CounterId, FuncId, Metadata, NameTable, RankId, StepBatch, StepId, ThreadId, TimeNs,
    WarningKind, Warnings, fraction,
};
use callgrove_source::{EventStream, FileReader, Input, Next, Projection, SourceError};

use crate::archive::Archive;
use crate::events::Event;
use crate::local_definitions::{LocalDefinitions, LocationClock};
use crate::location::{LocationReader, Pause};
use crate::metadata::of_process;
use crate::process_state::{EventPlace, ProcessState};
use crate::processes::{METRIC, Otf2Process};

/// Number of function events in a step. It is fixed, so that the labels of executions do not change.
const STEP_EVENTS: u32 = 1 << 16;

/// An open process.
pub(crate) struct Otf2Stream {
    archive: Arc<Archive>,
    rank: RankId,
    locations: Vec<(LocationReader, Input)>,
    /// The locations that have more events, by the time of the next one.
    order: BinaryHeap<Reverse<(TimeNs, usize)>>,
    num_bytes: u64,
    next_step: u32,
    projection: Projection,
    state: ProcessState,
    metadata: Vec<Metadata>,
}

impl Otf2Stream {
    pub(crate) fn open(
        archive: Arc<Archive>,
        process: Otf2Process,
        projection: &Projection,
    ) -> Result<Self, SourceError> {
        let mut stream = Self {
            rank: process.rank,
            locations: Vec::new(),
            order: BinaryHeap::new(),
            num_bytes: 0,
            next_step: 0,
            projection: *projection,
            state: ProcessState::default(),
            metadata: of_process(&archive, &process),
            archive,
        };
        for (id, thread) in process.locations {
            stream.open_location(id, thread)?;
        }
        Ok(stream)
    }

    fn open_location(&mut self, id: u64, thread: ThreadId) -> Result<(), SourceError> {
        let (archive, rank) = (Arc::clone(&self.archive), Some(self.rank));
        let location = archive.definitions.locations.get(&id);
        let sampler = location.is_some_and(|it| it.kind == METRIC).then_some(id);
        let events = archive.events_of(id);
        if !events.exists() {
            let num_events = location.map(|it| it.num_events);
            if num_events.is_some_and(|num| num > 0) {
                let place = || format!("no such file: {}", events.path().display());
                let warnings = &mut self.state.warnings;
                warnings.count(WarningKind::FileMissing, rank, place);
            }
            return Ok(());
        }
        let file = archive.file_of(id, "def");
        let open =
            |file: &Input| -> Result<BufReader<Box<dyn FileReader>>, SourceError> { file.open() };
        let opened = if file.exists() {
            Some(open(&file)?)
        } else {
            None
        };
        let chunk_bytes = archive.anchor.definition_chunk_bytes;
        let definitions = LocalDefinitions::read(opened, chunk_bytes);
        if !definitions.is_whole {
            let place = || format!("definitions: {}", file.path().display());
            self.state.warnings.count(WarningKind::BadRow, rank, place);
        }
        let clock = definitions.clock(archive.definitions.clock);
        let chunk_bytes = archive.anchor.event_chunk_bytes;
        self.num_bytes += events.num_bytes()?;
        let place = (thread, sampler);
        let reader = LocationReader::new(place, definitions, clock, open(&events)?, chunk_bytes);
        let index = self.locations.len();
        self.order.push(Reverse((TimeNs(i64::MIN), index)));
        self.locations.push((reader, events));
        self.state.by_local_id.push(Vec::new());
        Ok(())
    }

    fn read_step(&mut self) -> Result<Option<StepBatch>, SourceError> {
        let step = StepId(self.next_step);
        let mut batch = StepBatch::empty(self.projection.program, self.rank, step);
        batch.metadata = std::mem::take(&mut self.metadata);
        let mut num_calls = 0;
        while let Some(Reverse((_, index))) = self.order.pop() {
            let until = self.order.peek().map_or(TimeNs(i64::MAX), |next| next.0.0);
            let (reader, input) = &mut self.locations[index];
            let (archive, state, rank) = (&self.archive, &mut self.state, self.rank);
            let (thread, sampler) = (reader.thread, reader.sampler);
            let mut damage = Vec::new();
            let take = |definitions: &LocalDefinitions,
                        clock: &mut LocationClock,
                        time: TimeNs,
                        event: Event<'_>| {
                let mut place = EventPlace {
                    archive,
                    definitions,
                    rank,
                    thread,
                    sampler,
                    index,
                    time,
                };
                state.take_in(event, &mut place, clock, &mut batch, &mut num_calls);
                num_calls < STEP_EVENTS
            };
            let pause = reader.deliver(until, take, |chunk| damage.push(chunk.0));
            for offset in damage {
                let place = || format!("chunk at byte {offset}: {}", input.path().display());
                self.state
                    .warnings
                    .count(WarningKind::BadRow, Some(rank), place);
            }
            match pause.map_err(input.io_error())? {
                Pause::Later(time) => self.order.push(Reverse((time, index))),
                Pause::Full(time) => {
                    self.order.push(Reverse((time, index)));
                    break;
                }
                Pause::End => {}
            }
        }
        let is_first = self.next_step == 0;
        let is_empty = batch.funcs.is_empty() && batch.comms.is_empty();
        if is_empty && batch.counters.is_empty() && batch.writes.is_empty() && !is_first {
            return Ok(None);
        }
        self.next_step += 1;
        Ok(Some(batch))
    }
}

impl EventStream for Otf2Stream {
    fn next_step(&mut self, _: Duration) -> Result<Next, SourceError> {
        let batch = self.read_step()?;
        Ok(batch.map_or(Next::End, |batch| Next::Step(Box::new(batch))))
    }

    fn rank(&self) -> Option<RankId> {
        Some(self.rank)
    }

    fn num_ranks(&self) -> Option<u32> {
        u32::try_from(self.archive.processes.len()).ok()
    }

    fn position(&self) -> f32 {
        let read = self
            .locations
            .iter()
            .map(|(reader, _)| reader.num_bytes_read());
        fraction(read.sum::<u64>(), self.num_bytes.max(1)).min(1.0)
    }

    fn names(&self) -> &NameTable<FuncId> {
        &self.state.names
    }

    fn counter_names(&self) -> &NameTable<CounterId> {
        &self.state.counter_names
    }

    fn functions_only(&mut self) {
        self.state.functions_only = true;
    }

    fn take_warnings(&mut self) -> Warnings {
        std::mem::take(&mut self.state.warnings)
    }
}
