//! The state that the events of a process build: names, counters, and messages that were probed.

use std::collections::BTreeMap;

use callgrove_model::{
    CollectiveEvent, CommKind, CounterId, FuncEventKind, FuncId, NameTable, RankId, StepBatch,
    ThreadId, TimeNs, WarningKind, Warnings,
};

use crate::archive::Archive;
use crate::bytes::UNDEFINED;
use crate::events::{Envelope, Event, MetricValues, metric_value};
use crate::local_definitions::{LocalDefinitions, LocationClock};
use crate::metadata::of_program;

/// Width of the tag below the number of its communicator, in bits.
const TAG_BITS: u32 = 32;

/// The state that the events of a process build.
#[derive(Default)]
pub(crate) struct ProcessState {
    pub(crate) functions_only: bool,
    pub(crate) names: NameTable<FuncId>,
    pub(crate) counter_names: NameTable<CounterId>,
    /// Functions by region of the run.
    functions: BTreeMap<u32, FuncId>,
    /// Functions by location and its own id, as a faster lookup.
    pub(crate) by_local_id: Vec<Vec<Option<FuncId>>>,
    /// The counters of a metric, and of a location that samples it.
    counters: BTreeMap<(u32, Option<u64>), Vec<CounterId>>,
    /// The first location of each counter, by its index in the process.
    first_of_counter: BTreeMap<CounterId, usize>,
    /// The number of collectives so far, by the key of the communicator.
    collectives: BTreeMap<u64, u64>,
    /// Messages found by a probe, by id.
    probed: BTreeMap<u64, Envelope>,
    /// Ids of such messages, by request.
    requested: BTreeMap<u64, u64>,
    pub(crate) warnings: Warnings,
}

/// Maximum id of a location that has an entry in a list.
const MAX_LISTED: usize = 1 << 16;

/// The position of an event.
pub(crate) struct EventPlace<'a> {
    pub(crate) archive: &'a Archive,
    pub(crate) definitions: &'a LocalDefinitions,
    pub(crate) rank: RankId,
    pub(crate) thread: ThreadId,
    /// The location, if it samples metrics.
    pub(crate) sampler: Option<u64>,
    /// The index of the location in its process.
    pub(crate) index: usize,
    pub(crate) time: TimeNs,
}

impl ProcessState {
    #[inline]
    pub(crate) fn take_in(
        &mut self,
        event: Event<'_>,
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
        event: Event<'_>,
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
                batch.metadata.extend(of_program(
                    place.archive,
                    &place.definitions.strings,
                    (place.rank, place.thread),
                    (name, &arguments),
                ));
            }
            _ if self.functions_only => {}
            Event::Send(envelope, num_bytes) => {
                push_message(batch, CommKind::Send, envelope, num_bytes, place);
            }
            Event::Receive(envelope, num_bytes) => {
                push_message(batch, CommKind::Recv, envelope, num_bytes, place);
            }
            Event::Collective(local) => self.push_collective(local, place, batch),
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
            Event::Metric(metric, values) => self.push_metric(metric, values, place, batch),
            _ => {}
        }
    }

    /// Adds a collective, which is the next of its communicator: all members make the same collectives in the same
    /// order.
    fn push_collective(&mut self, local: u32, place: &EventPlace<'_>, batch: &mut StepBatch) {
        let communicator = place.definitions.communicators.global(local);
        let Some(key) = place.archive.partners.key(communicator, place.rank) else {
            return;
        };
        let next = self.collectives.entry(key).or_default();
        batch.collectives.push(CollectiveEvent {
            thread: place.thread,
            time: place.time,
            communicator: key,
            sequence: *next,
        });
        *next += 1;
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
        let region = region.copied().unwrap_or(UNDEFINED);
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
        values: MetricValues<'_>,
        place: &EventPlace<'_>,
        batch: &mut StepBatch,
    ) {
        let metric = place.definitions.metrics.global(local);
        let key = (metric, place.sampler);
        if !self.counters.contains_key(&key) {
            let names = place.archive.definitions.metric_names(metric);
            let names = names.unwrap_or_default().into_iter();
            let counters = names.map(|name| self.counter(&name, place)).collect();
            self.counters.insert(key, counters);
        }
        let counters = self.counters.get(&key).map(Vec::as_slice);
        let counters = counters.unwrap_or_default().iter();
        for (&counter, (value_type, bits)) in counters.zip(values.iter()) {
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

    /// Returns the counter with this name. Samples of several locations that are on one thread have counters of their
    /// own: the name then ends with that of the location.
    fn counter(&mut self, name: &str, place: &EventPlace<'_>) -> CounterId {
        let counter = self.counter_names.intern(name);
        let first = *self.first_of_counter.entry(counter).or_insert(place.index);
        let sampler = place.sampler.filter(|_| first != place.index);
        sampler.map_or(counter, |id| {
            let definitions = &place.archive.definitions;
            let location = definitions.locations.get(&id);
            let own = location.map_or("", |it| definitions.location_name(it));
            self.counter_names.intern(&match own {
                "" => format!("{name}, location {id}"),
                own => format!("{name}, {own}"),
            })
        })
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
