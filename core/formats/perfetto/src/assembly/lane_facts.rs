//! The known facts about lanes and processes: names, numbers, command lines, and which thread is the main one.

use std::collections::BTreeMap;

use callgrove_model::{Property, RankId, TimeNs};
use callgrove_source::LaneNumber;

use super::assembler::{Assembly, Placed};
use crate::own::OwnFactKind;
use crate::recorder::TraceRecorder;
use crate::tracks::{Processes, Track};

impl Assembly {
    /// States the main thread of each rank, the names of threads, and the known facts about processes. Returns the
    /// main threads.
    pub(crate) fn describe(
        &mut self,
        recorder: &TraceRecorder,
        processes: &Processes,
    ) -> BTreeMap<RankId, LaneNumber> {
        let mut best: BTreeMap<RankId, ((u8, usize), LaneNumber)> = BTreeMap::new();
        for (index, placed) in self.placed.iter().enumerate() {
            let (Some(placed), Some(track)) = (placed, recorder.tracks.tracks.get(index)) else {
                continue;
            };
            let Some(events) = self.ranks.get_mut(&placed.rank) else {
                continue;
            };
            if let Some(name) = track.label().filter(|_| track.own.is_none()) {
                events.property(placed.lane, Property::ThreadName, name);
            }
            let num_calls = events.num_calls(placed.lane);
            let weight = (likelihood_of_main(track, placed), num_calls);
            let known = best.get(&placed.rank);
            if known.is_none_or(|known| known.0 < weight) {
                best.insert(placed.rank, (weight, placed.lane));
            }
        }
        for (rank, (_, lane)) in &best {
            if let Some(events) = self.ranks.get_mut(rank) {
                events.set_main(*lane);
            }
        }
        self.describe_processes(recorder, processes, &best);
        for (track, key, value) in &recorder.metadata {
            let rank = processes.get(*track).map(|it| it.rank);
            let Some(rank) = rank else { continue };
            if let (Some(events), Some((_, lane))) = (self.ranks.get_mut(&rank), best.get(&rank)) {
                events.metadata(*lane, key, value);
            }
        }
        best.into_iter()
            .map(|(rank, (_, lane))| (rank, lane))
            .collect()
    }

    fn describe_processes(
        &mut self,
        recorder: &TraceRecorder,
        processes: &Processes,
        main: &BTreeMap<RankId, ((u8, usize), LaneNumber)>,
    ) {
        let stated = processes.all.iter();
        for process in stated.filter(|it| it.has_rank && !it.is_own) {
            let (Some(events), Some(&(_, lane))) =
                (self.ranks.get_mut(&process.rank), main.get(&process.rank))
            else {
                continue;
            };
            let Some(pid) = process.pid else {
                continue;
            };
            events.property(lane, Property::ProcessId, pid.to_string());
            let of_list = recorder.command_lines.get(&pid);
            if let Some(line) = process.command_line.as_ref().or(of_list) {
                events.property(lane, Property::CommandLine, line.as_str());
            }
            if let Some(host) = &recorder.host {
                events.property(lane, Property::Host, host.as_str());
            }
        }
    }
}

impl Assembly {
    /// Adds the facts about lanes in a file that Callgrove wrote.
    pub(crate) fn add_own_facts(&mut self, recorder: &mut TraceRecorder) {
        let mut streams = BTreeMap::new();
        for (index, track) in recorder.tracks.tracks.iter().enumerate() {
            if let (Some(thread), Some((events, lane))) = (track.own_thread(), self.lane(index)) {
                events.set_thread(lane, thread);
                streams.insert((self.rank(index), thread), lane);
            }
        }
        for fact in std::mem::take(&mut recorder.own_facts) {
            let (time, rank) = (self.time(fact.at), self.rank(fact.track));
            let Some((events, lane)) = self.lane(fact.track) else {
                continue;
            };
            match fact.kind {
                OwnFactKind::Collective(communicator, sequence) => {
                    events.collective(lane, time, communicator, sequence);
                }
                OwnFactKind::Size(num_bytes) => events.size(lane, time, num_bytes),
                OwnFactKind::DeviceWait(stream) => {
                    let stream = match stream {
                        Some(stream) => match streams.get(&(rank, stream)) {
                            Some(stream) => Some(*stream),
                            None => continue,
                        },
                        None => None,
                    };
                    events.device_wait(lane, time, stream);
                }
                OwnFactKind::TracerWrite(duration_ns) => {
                    let end = TimeNs(time.0.saturating_add(duration_ns));
                    events.tracer_write(lane, time, end);
                }
                OwnFactKind::Metadata(key, value) => events.metadata(lane, key, value),
            }
        }
    }
}

/// Returns the likelihood that a track is the main thread: by its number, by its name, or because it is a thread.
fn likelihood_of_main(track: &Track, placed: &Placed) -> u8 {
    let is_first = |name: &str| {
        let name = name.to_ascii_lowercase();
        name == "main" || name == "main thread" || name.ends_with("cpu thread 0")
    };
    match &track.thread {
        _ if placed.is_gpu => 0,
        Some(thread) if thread.pid == thread.tid => 4,
        _ if track.label().is_some_and(is_first) => 3,
        Some(_) => 2,
        None if track.is_async => 0,
        None => 1,
    }
}
