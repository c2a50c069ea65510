//! The events of one process, its locations merged by time, in steps of a fixed number of events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::BufReader;
use std::sync::Arc;
use std::time::Duration;

use callgrove_model::{
    CommKind, CounterId, FuncEventKind, FuncId, Metadata, NameTable, Property, RankId, StepBatch,
    StepId, ThreadId, TimeNs, WarningKind, Warnings, fraction,
};
use callgrove_source::{EventStream, FileReader, Input, Next, Projection, SourceError};

use crate::archive::Archive;
use crate::events::{Envelope, Event, metric_value};
use crate::local_definitions::{LocalDefinitions, LocationClock};
use crate::location::{LocationReader, Pause};
use crate::processes::{Process, STREAM};

/// Number of function events in a step. It is fixed, so that the labels of executions are.
const STEP_EVENTS: u32 = 1 << 16;
/// Width of the tag below the number of its communicator, in bits.
const TAG_BITS: u32 = 32;

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

/// What the events of a process build.
struct ProcessState {
    functions_only: bool,
    names: NameTable<FuncId>,
    counter_names: NameTable<CounterId>,
    /// Functions by region of the run.
    functions: BTreeMap<u32, FuncId>,
    /// Functions by location and its own id, for short.
    by_local_id: Vec<Vec<Option<FuncId>>>,
    counters: BTreeMap<u32, Vec<CounterId>>,
    /// Messages found by a probe, by id.
    probed: BTreeMap<u64, Envelope>,
    /// Ids of such messages, by request.
    requested: BTreeMap<u64, u64>,
    warnings: Warnings,
}

/// Largest id of a location that has an entry in a list.
const MAX_LISTED: usize = 1 << 16;

impl Otf2Stream {
    pub(crate) fn open(
        archive: Arc<Archive>,
        process: Process,
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
            metadata: metadata(&archive, &process),
            archive,
        };
        for (id, thread) in process.locations {
            stream.open_location(id, thread)?;
        }
        Ok(stream)
    }

    fn open_location(&mut self, id: u64, thread: ThreadId) -> Result<(), SourceError> {
        let (archive, rank) = (Arc::clone(&self.archive), Some(self.rank));
        let events = archive.events_of(id);
        if !events.exists() {
            let num_events = archive
                .definitions
                .locations
                .get(&id)
                .map(|it| it.num_events);
            if num_events.is_some_and(|num| num > 0) {
                let place = || format!("no such file: {}", events.path().display());
                let warnings = &mut self.state.warnings;
                warnings.count(WarningKind::StreamTruncated, rank, place);
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
        let reader = LocationReader::new(thread, definitions, clock, open(&events)?, chunk_bytes);
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
            let thread = reader.thread;
            let mut damage = Vec::new();
            let take = |definitions: &LocalDefinitions,
                        clock: &mut LocationClock,
                        time: TimeNs,
                        event: Event| {
                let mut place = EventPlace {
                    archive,
                    definitions,
                    rank,
                    thread,
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

/// Where an event is.
struct EventPlace<'a> {
    archive: &'a Archive,
    definitions: &'a LocalDefinitions,
    rank: RankId,
    thread: ThreadId,
    /// The index of the location in its process.
    index: usize,
    time: TimeNs,
}

impl Default for ProcessState {
    fn default() -> Self {
        Self {
            functions_only: false,
            names: NameTable::default(),
            counter_names: NameTable::default(),
            functions: BTreeMap::new(),
            by_local_id: Vec::new(),
            counters: BTreeMap::new(),
            probed: BTreeMap::new(),
            requested: BTreeMap::new(),
            warnings: Warnings::default(),
        }
    }
}

impl ProcessState {
    #[inline]
    fn take_in(
        &mut self,
        event: Event,
        place: &mut EventPlace<'_>,
        clock: &mut LocationClock,
        batch: &mut StepBatch,
        num_calls: &mut u32,
    ) {
        let (kind, func) = match event {
            Event::Enter(region) => (FuncEventKind::Entry, self.function(region, place)),
            Event::Leave(region) => (FuncEventKind::Exit, self.function(region, place)),
            Event::EnterContext(id) => (FuncEventKind::Entry, self.of_context(id, place)),
            Event::LeaveContext(id) => (FuncEventKind::Exit, self.of_context(id, place)),
            other => return self.take_in_other(other, place, clock, batch),
        };
        batch
            .funcs
            .push(place.thread, kind, func, place.time, *num_calls);
        *num_calls += 1;
    }

    fn take_in_other(
        &mut self,
        event: Event,
        place: &EventPlace<'_>,
        clock: &mut LocationClock,
        batch: &mut StepBatch,
    ) {
        match event {
            Event::Flush(end) => {
                let write = (place.thread, place.time, clock.time(end));
                batch.writes.push(write);
            }
            Event::Program(name, arguments) => {
                batch.metadata.extend(self.program(name, &arguments, place));
            }
            _ if self.functions_only => {}
            Event::Send(envelope, num_bytes) => {
                push_message(batch, CommKind::Send, envelope, num_bytes, place);
            }
            Event::Receive(envelope, num_bytes) => {
                push_message(batch, CommKind::Recv, envelope, num_bytes, place);
            }
            Event::Probe(envelope, message) => {
                self.probed.insert(message, envelope);
            }
            Event::RequestProbed(message, request) => {
                self.requested.insert(request, message);
            }
            Event::ReceiveProbed(message, num_bytes) => {
                if let Some(envelope) = self.probed.remove(&message) {
                    push_message(batch, CommKind::Recv, envelope, num_bytes, place);
                }
            }
            Event::ReceiveRequested(request, num_bytes) => {
                let message = self.requested.remove(&request);
                if let Some(envelope) = message.and_then(|it| self.probed.remove(&it)) {
                    push_message(batch, CommKind::Recv, envelope, num_bytes, place);
                }
            }
            Event::Metric(metric, values) => self.push_metric(metric, &values, place, batch),
            _ => {}
        }
    }

    /// Returns the function of a region by the id of its location.
    #[inline]
    fn function(&mut self, local: u32, place: &EventPlace<'_>) -> FuncId {
        let slot = usize::try_from(local).unwrap_or(usize::MAX);
        let known = self.by_local_id[place.index].get(slot).copied().flatten();
        known.unwrap_or_else(|| self.new_function(local, slot, place))
    }

    fn new_function(&mut self, local: u32, slot: usize, place: &EventPlace<'_>) -> FuncId {
        let region = place.definitions.regions.global(local);
        let func = self.of_region(region, place);
        if slot < MAX_LISTED {
            let listed = &mut self.by_local_id[place.index];
            if listed.len() <= slot {
                listed.resize(slot + 1, None);
            }
            listed[slot] = Some(func);
        }
        func
    }

    fn of_context(&mut self, local: u32, place: &EventPlace<'_>) -> FuncId {
        let context = place.definitions.calling_contexts.global(local);
        let region = place.archive.definitions.calling_contexts.get(&context);
        let region = region.copied().unwrap_or(crate::bytes::UNDEFINED);
        self.of_region(region, place)
    }

    fn of_region(&mut self, region: u32, place: &EventPlace<'_>) -> FuncId {
        if let Some(func) = self.functions.get(&region) {
            return *func;
        }
        let name = place.archive.definitions.region_name(region);
        let name = name.unwrap_or_else(|| {
            let text = || format!("region {region}");
            self.warnings
                .count(WarningKind::UnknownName, Some(place.rank), text);
            text()
        });
        let func = self.names.intern(&name);
        self.functions.insert(region, func);
        func
    }

    fn push_metric(
        &mut self,
        local: u32,
        values: &[(u8, u64)],
        place: &EventPlace<'_>,
        batch: &mut StepBatch,
    ) {
        let metric = place.definitions.metrics.global(local);
        if !self.counters.contains_key(&metric) {
            let names = place.archive.definitions.metric_names(metric);
            let names = names.unwrap_or_default().into_iter();
            let counters = names.map(|name| self.counter_names.intern(&name)).collect();
            self.counters.insert(metric, counters);
        }
        let counters = self.counters.get(&metric).map(Vec::as_slice);
        for (&counter, &(value_type, bits)) in counters.unwrap_or_default().iter().zip(values) {
            match metric_value(value_type, bits) {
                Some(value) => batch
                    .counters
                    .push(place.thread, counter, value, place.time),
                None => self
                    .warnings
                    .count(WarningKind::BadRow, Some(place.rank), || {
                        format!("a metric below zero at {} ns", place.time.0)
                    }),
            }
        }
    }

    /// Returns what the start of the program states.
    fn program(&self, name: u32, arguments: &[u32], place: &EventPlace<'_>) -> Vec<Metadata> {
        let text = |local: &u32| {
            let id = place.definitions.strings.global(*local);
            place.archive.definitions.text(id).unwrap_or_default()
        };
        let line = [&name].into_iter().chain(arguments).map(text);
        let line: Vec<&str> = line.collect();
        let facts = [
            (Property::Executable, line[0].to_owned()),
            (Property::CommandLine, line.join(" ")),
        ];
        let known = facts.into_iter().filter(|(_, value)| !value.is_empty());
        known
            .map(|(property, value)| entry(place.rank, place.thread, property, value))
            .collect()
    }
}

fn push_message(
    batch: &mut StepBatch,
    kind: CommKind,
    envelope: Envelope,
    num_bytes: u64,
    place: &EventPlace<'_>,
) {
    let communicator = place
        .definitions
        .communicators
        .global(envelope.communicator);
    let partners = &place.archive.partners;
    let (number, partner) = partners.find(communicator, envelope.partner, place.rank);
    let tag = u64::from(number) << TAG_BITS | u64::from(envelope.tag);
    let comms = &mut batch.comms;
    comms.push(place.thread, kind, tag, partner, num_bytes, place.time);
}

/// Returns what the definitions state of a process: its host, and which threads are streams of a GPU.
fn metadata(archive: &Archive, process: &Process) -> Vec<Metadata> {
    let definitions = &archive.definitions;
    let host = definitions.host(process.group).into_iter();
    let host = host.map(|host| entry(process.rank, ThreadId(0), Property::Host, host.to_owned()));
    let streams = process.locations.iter().filter_map(|(id, thread)| {
        let location = definitions.locations.get(id)?;
        (location.kind == STREAM).then_some((location, *thread))
    });
    let streams = streams.flat_map(|(location, thread)| {
        let (device, stream) = device_and_stream(definitions.location_name(location), thread);
        [
            entry(process.rank, thread, Property::GpuDevice, device),
            entry(process.rank, thread, Property::GpuStream, stream),
        ]
    });
    host.chain(streams).collect()
}

/// Returns the numbers of device and stream in a name such as `CUDA[0:7]`; without them, the thread is the stream.
fn device_and_stream(name: &str, thread: ThreadId) -> (String, String) {
    let numbers = name.split_once('[').and_then(|(_, rest)| {
        let (device, stream) = rest.strip_suffix(']')?.split_once(':')?;
        let is_number = |text: &str| text.parse::<u64>().is_ok();
        (is_number(device) && is_number(stream)).then(|| (device.to_owned(), stream.to_owned()))
    });
    numbers.unwrap_or_else(|| ("0".to_owned(), thread.0.to_string()))
}

fn entry(rank: RankId, thread: ThreadId, property: Property, value: String) -> Metadata {
    Metadata {
        rank,
        thread,
        key: property.key().to_owned(),
        value,
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
