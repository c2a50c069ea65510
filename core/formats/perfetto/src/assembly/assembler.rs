//! The last phase of reading: converts times to one clock, and tracks to lanes of ranks.

use std::collections::BTreeMap;

use callgrove_model::{FuncId, RankId, TimeNs, WarningKind, Warnings};
use callgrove_source::{DecodedRun, LaneNumber, ListedCalls, RankEvents, RowCounts};

use super::flows::{PlacedPoint, connect};
use super::slices::{order, pair};
use crate::clocks::{ClockPath, ClockStamp, TraceClocks};
use crate::recorder::{TraceRecorder, TrackFlow};
use crate::tracks::{END, EventList, Processes, Track, TrackLane};

/// The rank and the lane of a track.
#[derive(Clone, Copy)]
pub(crate) struct Placed {
    pub(crate) rank: RankId,
    pub(crate) lane: LaneNumber,
    pub(crate) is_gpu: bool,
}

/// The state of the conversion.
pub(crate) struct Assembly {
    pub(crate) ranks: BTreeMap<RankId, RankEvents>,
    /// The place of each track that has events.
    pub(crate) placed: Vec<Option<Placed>>,
    paths: BTreeMap<u64, ClockPath>,
    pub(crate) warnings: Warnings,
}

/// Returns the ranks of a trace. A process that does not state its rank has that of its file.
pub(crate) fn assemble(mut recorder: TraceRecorder, of_file: RankId, file: &str) -> DecodedRun {
    close_asyncs(&mut recorder, file);
    let mut warnings = std::mem::take(&mut recorder.warnings);
    let mut processes = Processes::of(&recorder.tracks);
    let tracks_with_events = tracks_with_events(&recorder);
    for (track, has_events) in tracks_with_events.iter().enumerate() {
        if *has_events {
            processes.mark(track);
        }
    }
    processes.assign_ranks(of_file, file, &mut warnings);
    let mut assembly = Assembly {
        ranks: BTreeMap::new(),
        placed: Vec::new(),
        paths: paths(&recorder),
        warnings,
    };
    for (index, has_events) in tracks_with_events.iter().enumerate() {
        let track = recorder.tracks.tracks.get(index);
        let placed = track.filter(|_| *has_events);
        let placed = placed.map(|track| assembly.place(track, index, &processes));
        assembly.placed.push(placed);
    }
    assembly.add_slices(&mut recorder);
    assembly.add_messages(&mut recorder);
    assembly.add_own_facts(&mut recorder);
    let main = assembly.describe(&recorder, &processes);
    assembly.add_counters(&mut recorder, &processes, &main);
    DecodedRun {
        names: recorder.names,
        counter_names: recorder.counter_names,
        ranks: assembly.ranks,
        num_ranks: None,
        warnings: assembly.warnings,
    }
}

/// Removes asynchronous slices that have no end.
fn close_asyncs(recorder: &mut TraceRecorder, file: &str) {
    let num_open: usize = recorder
        .asyncs
        .drain()
        .map(|it| it.1.into_open().count())
        .sum();
    if num_open > 0 {
        let count = u64::try_from(num_open).unwrap_or(u64::MAX);
        let place = || format!("asynchronous slices: {file}");
        recorder
            .warnings
            .count_many(WarningKind::EntryWithoutExit, None, count, place);
    }
}

fn tracks_with_events(recorder: &TraceRecorder) -> Vec<bool> {
    let has_slices =
        |it: &Track| !(it.lists.is_empty() && it.complete.is_empty()) || it.own_thread().is_some();
    let tracks = &recorder.tracks.tracks;
    let mut with_events: Vec<bool> = tracks.iter().map(has_slices).collect();
    let messages = recorder.messages.iter().map(|it| it.track);
    let counters = recorder.counters.iter().filter(|it| it.counter.is_some());
    for track in messages.chain(counters.map(|it| it.track)) {
        if let Some(place) = with_events.get_mut(track.index()) {
            *place = true;
        }
    }
    // The flows of instants have a lane too, if their track has no slices.
    for flow in &recorder.flows {
        if let Some(place) = with_events.get_mut(flow.track) {
            *place = true;
        }
    }
    if !with_events.contains(&true) {
        // A trace of counters alone.
        for sample in recorder.counters.iter() {
            if let Some(place) = with_events.get_mut(sample.track.index()) {
                *place = true;
            }
        }
    }
    with_events
}

/// Returns the paths from all clocks to that of the run.
fn paths(recorder: &TraceRecorder) -> BTreeMap<u64, ClockPath> {
    let tracks = recorder.tracks.tracks.iter();
    let slices = tracks.flat_map(|it| {
        let complete = it.complete.iter().map(|it| it.start.clock);
        it.lists.iter().map(|it| it.clock).chain(complete)
    });
    let others = recorder.messages.iter().map(|it| it.at.clock);
    let others = others.chain(recorder.counters.iter().map(|it| it.at.clock));
    let others = others.chain(recorder.flows.iter().map(|it| it.at.clock));
    let mut paths = BTreeMap::new();
    let path = |clock| TraceClocks::path_from(&recorder.clocks, clock, recorder.first);
    for clock in slices.chain(others) {
        paths.entry(clock).or_insert_with(|| path(clock));
    }
    paths
}

impl Assembly {
    fn place(&mut self, track: &Track, index: usize, processes: &Processes) -> Placed {
        let rank = processes.get(index).map_or(RankId(0), |it| it.rank);
        let TrackLane { key, is_gpu } = TrackLane::of(track, index);
        let lane = self.ranks.entry(rank).or_default().lane(key);
        Placed { rank, lane, is_gpu }
    }

    pub(crate) fn lane(&mut self, track: usize) -> Option<(&mut RankEvents, LaneNumber)> {
        let placed = (*self.placed.get(track)?)?;
        Some((self.ranks.get_mut(&placed.rank)?, placed.lane))
    }

    pub(crate) fn rank(&self, track: usize) -> Option<RankId> {
        Some((*self.placed.get(track)?)?.rank)
    }

    pub(crate) fn time(&self, at: ClockStamp) -> TimeNs {
        let path = self.paths.get(&at.clock);
        TimeNs(on_path(path, at.time_ns))
    }

    /// Adds the messages that the writer states.
    fn add_messages(&mut self, recorder: &mut TraceRecorder) {
        let messages = std::mem::take(&mut recorder.messages);
        let placed = self.placed.iter();
        let lanes: Vec<_> = placed.map(|it| it.map(|it| (it.rank, it.lane))).collect();
        let counts = RowCounts::of(messages.iter().map(|it| it.track.index()), lanes.len());
        counts.reserve_messages(&lanes, &mut self.ranks);
        for it in messages {
            let time = self.time(it.at);
            if let Some((events, lane)) = self.lane(it.track.index()) {
                let partner = RankId(it.partner);
                events.message(lane, time, it.kind, partner, it.tag, it.num_bytes);
            }
        }
    }

    /// Adds the slices of all tracks, and the messages and launches of flows.
    fn add_slices(&mut self, recorder: &mut TraceRecorder) {
        let mut flows = std::mem::take(&mut recorder.flows);
        flows.sort_by_key(|it| it.track);
        let mut flows = flows.as_slice();
        let mut points = Vec::with_capacity(flows.len());
        for (index, track) in recorder.tracks.tracks.iter_mut().enumerate() {
            let num_own = flows.partition_point(|it| it.track <= index);
            let (own, rest) = flows.split_at(num_own);
            flows = rest;
            self.add_track(index, track, own, &mut points);
        }
        connect(points, &mut self.ranks);
    }

    fn add_track(
        &mut self,
        index: usize,
        track: &mut Track,
        flows: &[TrackFlow],
        points: &mut Vec<PlacedPoint>,
    ) {
        let Some(&Some(placed)) = self.placed.get(index) else {
            return;
        };
        let (is_own, is_async) = (track.own.is_some(), track.is_async);
        let mut lists = std::mem::take(&mut track.lists);
        for list in &mut lists {
            let path = self.paths.get(&list.clock);
            for event in &mut list.events {
                event.time_ns = on_path(path, event.time_ns);
            }
        }
        let positions: Vec<Option<Vec<u32>>> = lists.iter_mut().map(order).collect();
        join(&mut lists);
        let unmatched = lists.iter_mut().map(|list| pair(&mut list.events)).sum();
        self.warn_of_ends(placed.rank, unmatched);
        for flow in flows {
            let event = slice_of(flow, &positions, &lists);
            let time = self.time(flow.at);
            points.push(PlacedPoint {
                id: flow.id,
                time,
                ends: flow.ends,
                rank: placed.rank,
                lane: placed.lane,
                // Callgrove writes launches as flows on any lane.
                is_gpu: placed.is_gpu || (is_own && flow.ends),
                slice_end: event,
            });
        }
        let complete = std::mem::take(&mut track.complete);
        let is_shared = !complete.is_empty();
        let complete: Vec<_> = complete
            .into_iter()
            .map(|it| {
                let end = ClockStamp {
                    clock: it.start.clock,
                    time_ns: it.end_ns,
                };
                (FuncId(it.func), self.time(it.start), self.time(end))
            })
            .collect();
        let Some(events) = self.ranks.get_mut(&placed.rank) else {
            return;
        };
        let is_shared = is_shared || events.num_calls(placed.lane) > 0;
        for list in lists {
            if is_shared {
                add_complete(&list, (events, placed.lane));
            } else {
                events.add_calls(placed.lane, calls_of(list));
            }
        }
        if is_async {
            events.set_ends_exact(placed.lane);
        }
        for (func, start, end) in complete {
            events.call(placed.lane, func, start, end);
        }
    }

    fn warn_of_ends(&mut self, rank: RankId, num_unmatched: u64) {
        if num_unmatched > 0 {
            let place = || "ends of slices".to_owned();
            let kind = WarningKind::ExitWithoutEntry;
            self.warnings
                .count_many(kind, Some(rank), num_unmatched, place);
        }
    }
}

/// Joins the lists of several clocks.
fn join(lists: &mut Vec<EventList>) {
    if lists.len() < 2 {
        return;
    }
    let clock = lists.first().map_or(0, |it| it.clock);
    let events = lists
        .iter_mut()
        .flat_map(|it| std::mem::take(&mut it.events));
    let mut events: Vec<_> = events.collect();
    events.sort_by_key(|it| it.time_ns);
    *lists = vec![EventList {
        clock,
        events,
        is_sorted: true,
    }];
}

/// Returns the end of the slice that begins with a flow. It is unknown on tracks with times of several clocks.
fn slice_of(
    flow: &TrackFlow,
    positions: &[Option<Vec<u32>>],
    lists: &[EventList],
) -> Option<TimeNs> {
    let [list] = lists else {
        return None;
    };
    let event = usize::try_from(flow.event).ok()?;
    let event = match positions {
        [Some(positions)] => usize::try_from(*positions.get(event)?).ok()?,
        [None] => event,
        _ => return None,
    };
    let begun = list.events.get(event)?;
    let end = list.events.get(usize::try_from(begun.partner).ok()?)?;
    Some(TimeNs(end.time_ns))
}

/// Returns a time on the clock to which a path leads, bounded so that times and their differences fit in an exported
/// trace.
fn on_path(path: Option<&ClockPath>, time_ns: i64) -> i64 {
    let time_ns = path.map_or(time_ns, |path| path.apply(time_ns));
    TimeNs(time_ns).bounded().0
}

/// Returns paired events as beginnings and ends, in the memory of the list. Ends without a beginning are left out.
fn calls_of(list: EventList) -> ListedCalls {
    let mut next = 0;
    ListedCalls::of_ends(list.events, |event| {
        let index = next;
        next += 1;
        let time = TimeNs(event.time_ns);
        match event.func {
            END if event.partner == index => None,
            END => Some((time, None)),
            func => Some((time, Some(FuncId(func)))),
        }
    })
}

/// Adds paired events to a lane on which others are too, as calls.
fn add_complete(list: &EventList, (events, lane): (&mut RankEvents, LaneNumber)) {
    for event in &list.events {
        let (func, time) = (FuncId(event.func), TimeNs(event.time_ns));
        let end = usize::try_from(event.partner).ok();
        match end.and_then(|it| list.events.get(it)) {
            _ if event.func == END => {}
            Some(end) => events.call(lane, func, time, TimeNs(end.time_ns)),
            None => events.begin(lane, func, time),
        }
    }
}
