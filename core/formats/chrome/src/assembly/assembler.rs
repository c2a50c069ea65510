//! The ranks of a file with their lanes, made of its rows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{CommKind, Property, RankId, WarningKind};
use callgrove_source::{DecodedRun, LaneIdentity, LaneNumber, RankEvents};

use super::ranks::{AssignedRanks, CUDA, TraceWriter, jax_devices, jax_summaries};
use crate::events::{
    ChromeCallKind, FileFacts, PartnerMessage, UNSTATED_COMMUNICATOR, UNSTATED_EXCHANGE,
};
use crate::recorder::{
    AsyncCalls, ChromeRow, ChromeRowKind, EventRecorder, MessageKernel, RowName, RowNumber,
    RowPlace, hops, on_axis,
};

/// The number of events after which the profiler of JAX stops writing JSON.
const JAX_MAX_EVENTS: u64 = 1_000_000;
/// Maximum number of ranks that is plausible: beyond it the number is damaged.
const MAX_RANKS: u32 = 1 << 22;
/// Added to the number of a thread that is named by a text.
const TEXT_THREAD: u64 = 1 << 62;
/// Added to the number of the row of a thread whose number another process has too.
const OTHER_THREAD: u64 = 1 << 61;
/// The value of the metadata of rows whose calls mirror waits.
const MIRRORED_WAITS: &str = "for a GPU";

/// The ranks of a file while they are assembled.
pub(crate) struct ChromeAssembly {
    pub(crate) recorder: EventRecorder,
    pub(crate) facts: FileFacts,
    ranks: AssignedRanks,
    /// The GPUs among the processes of JAX.
    devices: BTreeMap<RowName, u64>,
    /// The rows of JAX that show the work of streams in other ways.
    summaries: BTreeSet<RowPlace>,
    pub(crate) events: BTreeMap<RankId, RankEvents>,
    /// The lane of each row that has calls.
    pub(crate) lanes: Vec<Option<(RankId, LaneNumber)>>,
    /// The main thread of each rank, and its row.
    mains: BTreeMap<RankId, (LaneNumber, RowNumber)>,
}

/// Returns the contents of a file. `assumed` is its rank if it does not state one, and `file` its name for messages.
pub(crate) fn assemble(
    mut recorder: EventRecorder,
    facts: FileFacts,
    assumed: RankId,
    file: &str,
) -> DecodedRun {
    add_async_calls(&mut recorder, file);
    let ranks = AssignedRanks::of(&recorder, &facts, assumed);
    let warnings = &mut recorder.warnings;
    if ranks.are_assumed {
        warnings.count(WarningKind::RankAssumed, None, || file.to_owned());
    }
    let is_foreign = recorder.own.is_none();
    if recorder.num_events == JAX_MAX_EVENTS && is_foreign && ranks.writer != TraceWriter::Kineto {
        warnings.count(WarningKind::StreamTruncated, None, || {
            format!(
                "exactly {JAX_MAX_EVENTS} events, at which the profiler of JAX stops writing; set \
                 TF_PROFILER_TRACE_VIEWER_MAX_EVENTS to a larger number when recording: {file}"
            )
        });
    }
    let (devices, summaries) = match ranks.writer {
        TraceWriter::Jax => (jax_devices(&recorder), jax_summaries(&recorder)),
        TraceWriter::Kineto | TraceWriter::Autograd | TraceWriter::Other => Default::default(),
    };
    let mut assembly = ChromeAssembly {
        recorder,
        facts,
        ranks,
        devices,
        summaries,
        events: BTreeMap::new(),
        lanes: Vec::new(),
        mains: BTreeMap::new(),
    };
    assembly.add_lanes();
    assembly.choose_mains();
    if is_foreign {
        assembly.describe(file);
    } else {
        assembly.add_own_events();
    }
    assembly.add_relations();
    assembly.add_calls();
    let recorder = assembly.recorder;
    DecodedRun {
        names: recorder.names,
        counter_names: recorder.counter_names,
        ranks: assembly.events,
        num_ranks: assembly.facts.num_ranks.filter(|it| *it <= MAX_RANKS),
        warnings: recorder.warnings,
    }
}

/// Makes calls of the beginnings and ends of asynchronous calls.
fn add_async_calls(recorder: &mut EventRecorder, file: &str) {
    let points = std::mem::take(&mut recorder.async_points);
    let joined = AsyncCalls::of(points);
    for (row, call) in joined.calls {
        recorder.rows.push(row, &call);
        if let Some(calls) = recorder.rows.calls_mut(row) {
            calls.set_ends_exact();
        }
    }
    for (kind, (time_ns, num)) in [
        (WarningKind::ExitWithoutEntry, joined.without_begin),
        (WarningKind::Unclosed, joined.without_end),
    ] {
        let place = || {
            let time_ns = time_ns.unwrap_or_default();
            format!("asynchronous call at {time_ns} ns: {file}")
        };
        recorder.warnings.count_many(kind, None, num, place);
    }
}

impl ChromeAssembly {
    /// Assigns a lane to each row with calls.
    fn add_lanes(&mut self) {
        let mut places: BTreeMap<(RankId, LaneIdentity), RowPlace> = BTreeMap::new();
        for (index, row) in self.recorder.rows.list.iter().enumerate() {
            let process = self.recorder.rows.names(row.place).0;
            let rank = self.ranks.rank(process);
            let Some(rank) = rank.filter(|_| row.is_lane()) else {
                self.lanes.push(None);
                continue;
            };
            let mut key = self.lane_key(index, row);
            let first = *places.entry((rank, key)).or_insert(row.place);
            if first != row.place {
                key = LaneIdentity::Thread(OTHER_THREAD | number(index));
            }
            let lane = self.events.entry(rank).or_default().lane(key);
            self.lanes.push(Some((rank, lane)));
        }
    }

    /// Returns the identity of the lane of a row.
    fn lane_key(&self, index: usize, row: &ChromeRow) -> LaneIdentity {
        let track = LaneIdentity::Track(number(index));
        let ChromeRowKind::Calls(kind) = row.kind else {
            return track;
        };
        let (process, thread) = self.recorder.rows.names(row.place);
        let on_thread = LaneIdentity::Thread(match thread {
            RowName::Missing => 0,
            RowName::Number(number) => number.cast_unsigned(),
            RowName::Text(index) => TEXT_THREAD | number(index),
        });
        let stream = match thread {
            RowName::Number(stream) => u64::try_from(stream).ok(),
            RowName::Missing | RowName::Text(_) => None,
        };
        match (self.ranks.writer, kind) {
            (TraceWriter::Other, _) => on_thread,
            (TraceWriter::Autograd, _) => {
                match (self.recorder.rows.is_named(process, CUDA), stream) {
                    // The thread is the number of the GPU; streams are not stated.
                    (true, Some(device)) => LaneIdentity::Stream { device, stream: 0 },
                    (true, None) => track,
                    (false, _) => on_thread,
                }
            }
            (TraceWriter::Jax, _) if self.summaries.contains(&row.place) => track,
            (TraceWriter::Jax, _) => match (self.devices.get(&process), stream) {
                (Some(&device), Some(stream)) => LaneIdentity::Stream { device, stream },
                (Some(_), None) => track,
                (None, _) => on_thread,
            },
            (TraceWriter::Kineto, ChromeCallKind::Host | ChromeCallKind::Runtime) => {
                match process {
                    RowName::Text(_) => track,
                    RowName::Missing | RowName::Number(_) => on_thread,
                }
            }
            (TraceWriter::Kineto, ChromeCallKind::Device) => match (process, stream) {
                (RowName::Number(device), Some(stream)) if device >= 0 => LaneIdentity::Stream {
                    device: device.cast_unsigned(),
                    stream,
                },
                _ => track,
            },
            (
                TraceWriter::Kineto,
                ChromeCallKind::DeviceRange | ChromeCallKind::DeviceWait | ChromeCallKind::Span,
            ) => track,
        }
    }

    /// Chooses the main thread of each rank: that with the iterations of the training, else that with the number of its
    /// process, else that with the most calls.
    fn choose_mains(&mut self) {
        let mut best: BTreeMap<RankId, _> = BTreeMap::new();
        for (index, (row, lane)) in self.recorder.rows.list.iter().zip(&self.lanes).enumerate() {
            let Some((rank, lane)) = *lane else {
                continue;
            };
            let (process, thread) = self.recorder.rows.names(row.place);
            let is_thread = matches!(self.lane_key(index, row), LaneIdentity::Thread(_));
            let is_first = process == thread && process != RowName::Missing;
            let merit = (
                is_thread,
                row.num_steps,
                is_first,
                row.calls.len(),
                Reverse(index),
            );
            let entry = best.entry(rank).or_insert((merit, lane));
            if merit > entry.0 {
                *entry = (merit, lane);
            }
        }
        for (rank, (merit, lane)) in best {
            let Reverse(index) = merit.4;
            self.mains.insert(rank, (lane, RowNumber::of_index(index)));
            if let Some(events) = self.events.get_mut(&rank) {
                events.set_main(lane);
            }
        }
    }

    /// Adds the known facts about ranks and lanes.
    fn describe(&mut self, file: &str) {
        let recorder = &self.recorder;
        let thread_names: BTreeMap<_, _> = recorder.thread_names.iter().cloned().collect();
        for (row, lane) in recorder.rows.list.iter().zip(&self.lanes) {
            let Some((rank, lane)) = *lane else {
                continue;
            };
            let Some(events) = self.events.get_mut(&rank) else {
                continue;
            };
            let name = thread_names.get(&row.place);
            let name = match (row.kind, name) {
                (ChromeRowKind::Asynchronous(category), _) => {
                    recorder.rows.texts.get(category).cloned()
                }
                (ChromeRowKind::Calls(ChromeCallKind::DeviceRange), Some(name)) => {
                    Some(format!("{name} (ranges)"))
                }
                (ChromeRowKind::Calls(ChromeCallKind::DeviceWait), Some(name)) => {
                    Some(format!("{name} (waits)"))
                }
                (ChromeRowKind::Calls(_), name) => name.cloned(),
            };
            if row.kind == ChromeRowKind::Calls(ChromeCallKind::DeviceWait) {
                events.property(lane, Property::MirrorsWaits, MIRRORED_WAITS);
            }
            if let Some(name) = name {
                events.property(lane, Property::ThreadName, name);
            }
            if let (ChromeRowKind::Calls(ChromeCallKind::Device), RowName::Number(device)) =
                (row.kind, recorder.rows.names(row.place).0)
                && let Some(name) = self.facts.devices.get(&device)
            {
                events.metadata(lane, "GPU Name", name.clone());
            }
        }
        let process_names: BTreeMap<_, _> = recorder.process_names.iter().cloned().collect();
        for (rank, (lane, row)) in &self.mains {
            let (Some(events), Some(row)) = (
                self.events.get_mut(rank),
                recorder.rows.list.get(row.index()),
            ) else {
                continue;
            };
            let process = recorder.rows.names(row.place).0;
            if let Some(name) = process_names.get(&process) {
                events.metadata(*lane, "Process Name", name.clone());
            }
            let RowName::Number(process) = process else {
                continue;
            };
            events.property(*lane, Property::ProcessId, process.to_string());
            let host = self.facts.host.clone();
            if let Some(host) = host.or_else(|| host_in_name(file, process)) {
                events.property(*lane, Property::Host, host);
            }
        }
    }

    /// Adds launches, collectives, messages and counters.
    fn add_relations(&mut self) {
        let base_ns = self.facts.base_ns;
        let mut launches = std::mem::take(&mut self.recorder.launches);
        if !launches.are_stated() {
            let is_autograd = self.ranks.writer == TraceWriter::Autograd;
            let rows = &self.recorder.rows;
            let row_of = |point: &crate::recorder::FlowPoint| {
                let kind = if point.is_start() {
                    ChromeCallKind::Host
                } else {
                    ChromeCallKind::Device
                };
                let row = rows.find(point.place, kind);
                row.or_else(|| {
                    rows.find(point.place, ChromeCallKind::Host)
                        .filter(|_| is_autograd)
                })
            };
            launches.calls.clear();
            launches.add_flows(&self.recorder.launch_flows, row_of);
        }
        let synchronized = self.recorder.gpu_facts.synchronized(&launches.calls);
        let pairs = launches.pairs();
        self.add_gpu_facts(&synchronized, &pairs);
        for pair in &pairs {
            let (work, by) = (self.lane(pair.work.row), self.lane(pair.by.row));
            if let (Some((rank, work)), Some((other, by))) = (work, by)
                && rank == other
                && let Some(events) = self.events.get_mut(&rank)
            {
                let times = [pair.work.start_ns, pair.by.start_ns].map(|it| on_axis(it, base_ns));
                events.launch(work, times[0], by, times[1]);
            }
        }
        let collectives = std::mem::take(&mut self.recorder.collectives);
        for MessageKernel {
            row,
            time_ns,
            message,
        } in collectives.messages()
        {
            if let Some((rank, lane)) = self.lane(row)
                && let Some(events) = self.events.get_mut(&rank)
            {
                let PartnerMessage { kind, partner, tag } = message;
                events.message(lane, on_axis(time_ns, base_ns), kind, partner, tag, 0);
            }
        }
        for it in collectives.numbered(&pairs) {
            if matches!(it.communicator, UNSTATED_COMMUNICATOR | UNSTATED_EXCHANGE) {
                let warnings = &mut self.recorder.warnings;
                warnings.count(WarningKind::CommunicatorAssumed, None, String::new);
            }
            if let Some((rank, lane)) = self.lane(it.row)
                && let Some(events) = self.events.get_mut(&rank)
            {
                let start = on_axis(it.start_ns, base_ns);
                events.collective(lane, start, it.communicator, it.sequence);
            }
        }
        if self.ranks.writer == TraceWriter::Other {
            self.add_messages();
        }
        for sample in std::mem::take(&mut self.recorder.counters) {
            let of_process = self.ranks.rank(sample.process);
            let rank = of_process.or_else(|| self.mains.keys().next().copied());
            let main = rank.and_then(|rank| Some((rank, self.mains.get(&rank)?.0)));
            if let Some((rank, lane)) = main
                && let Some(events) = self.events.get_mut(&rank)
            {
                let time = on_axis(sample.time_ns, base_ns);
                events.counter(lane, time, sample.counter, sample.value);
            }
        }
    }

    /// Returns the lane of a row.
    pub(crate) fn lane(&self, row: RowNumber) -> Option<(RankId, LaneNumber)> {
        self.lanes.get(row.index()).copied().flatten()
    }

    /// Adds the flows between ranks as messages.
    fn add_messages(&mut self) {
        let base_ns = self.facts.base_ns;
        for hop in hops(&std::mem::take(&mut self.recorder.flows)) {
            let lane_of = |place| {
                let rows = &self.recorder.rows;
                let row = rows.find(place, ChromeCallKind::Host);
                row.and_then(|row| self.lane(row)).or_else(|| {
                    let rank = self.ranks.rank(rows.names(place).0)?;
                    Some((rank, self.mains.get(&rank)?.0))
                })
            };
            let (Some(from), Some(to)) = (lane_of(hop.from.place), lane_of(hop.to.place)) else {
                continue;
            };
            if from.0 == to.0 {
                continue;
            }
            // Each message has a tag of its own, so that both of its ends are found. The upper half is the
            // communicator.
            let tag = hop.number & u64::from(u32::MAX);
            let ends = [
                (from, to.0, CommKind::Send, hop.from.time_ns),
                (to, from.0, CommKind::Recv, hop.to.time_ns),
            ];
            for ((rank, lane), partner, kind, time_ns) in ends {
                if let Some(events) = self.events.get_mut(&rank) {
                    let time = on_axis(time_ns, base_ns);
                    events.message(lane, time, kind, partner, tag, 0);
                }
            }
        }
    }

    /// Moves the calls of the rows to their lanes, without copying them.
    fn add_calls(&mut self) {
        let base_ns = self.facts.base_ns;
        let rows = std::mem::take(&mut self.recorder.rows.list);
        for (row, lane) in rows.into_iter().zip(&self.lanes) {
            let Some((rank, lane)) = *lane else {
                continue;
            };
            let Some(events) = self.events.get_mut(&rank) else {
                continue;
            };
            let mut calls = row.calls;
            calls.map_times(|time| on_axis(time.0, base_ns));
            events.add_calls(lane, calls);
        }
    }
}

fn number(index: usize) -> u64 {
    u64::try_from(index).unwrap_or(u64::MAX)
}

/// Returns the host in the name that the handler of TensorBoard gives: `HOST_PROCESS.TIME.pt.trace.json`.
fn host_in_name(file: &str, process: i64) -> Option<String> {
    let name = file.rsplit(['/', '\\']).next()?;
    let at = name.find(&format!("_{process}."))?;
    let rest = name.get(at..)?;
    let is_of_handler = rest.contains(".pt.trace.json");
    let host = name.get(..at)?;
    (is_of_handler && !host.is_empty()).then(|| host.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_in_names_with_the_number_of_the_process() {
        let host = |file| host_in_name(file, 4711);
        let expected = Some("node-3".to_owned());
        assert_eq!(host("run/node-3_4711.169.pt.trace.json.gz"), expected);
        assert_eq!(host("run/rank_3.169.pt.trace.json"), None);
        assert_eq!(host("run/node_4711.json"), None);
    }
}
