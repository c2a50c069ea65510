//! The items of a lane in order of time: entries and exits of calls, and the events between them.

use callgrove_model::{
    CallSize, CollectiveMember, CommKind, CommRef, DeviceWait, ExecIdx, Lane, LaneIdx, Launch,
    TimeNs, Trace, TracerWrite,
};

use super::sink::LaneItem;

/// The numbers of flows: those of messages, of launches, and further ones.
pub(super) struct FlowNumbers {
    /// Number of message events of the lanes before each.
    comms_before: Vec<u64>,
    num_comms: u64,
    /// Launches by the lane that launched, then time: indices into those of the trace.
    by_launcher: Vec<u32>,
    num_launches: u64,
}

impl FlowNumbers {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut num_comms = 0;
        let comms_before = trace.lanes.iter().map(|lane| {
            let before = num_comms;
            num_comms += number(lane.comms.len());
            before
        });
        let comms_before = comms_before.collect();
        let launch = |index: &u32| {
            usize::try_from(*index)
                .ok()
                .and_then(|it| trace.launches.get(it))
        };
        let mut by_launcher: Vec<u32> = (0..).take(trace.launches.len()).collect();
        by_launcher.sort_by_key(|index| launch(index).map(|it| (it.by, it.launched)));
        Self {
            comms_before,
            num_comms,
            by_launcher,
            num_launches: number(trace.launches.len()),
        }
    }

    /// Returns the number of the flow of a message by its SEND.
    fn of_message(&self, send: CommRef) -> Option<u64> {
        Some(1 + self.comms_before.get(send.lane.index())? + u64::from(send.row))
    }

    fn of_launch(&self, index: usize) -> u64 {
        1 + self.num_comms + number(index)
    }

    /// Returns the first number that no message or launch has.
    pub(super) fn first_free(&self) -> u64 {
        1 + self.num_comms + self.num_launches
    }

    /// Returns the launches by a lane, in order of time: the time and the flow of each.
    fn launched_by(&self, trace: &Trace, lane: LaneIdx) -> Vec<(TimeNs, u64)> {
        let launch = |index: &u32| {
            let index = usize::try_from(*index).ok()?;
            Some((index, trace.launches.get(index)?))
        };
        let lane_of = |index: &u32| launch(index).map(|it| it.1.by);
        let from = self
            .by_launcher
            .partition_point(|it| lane_of(it) < Some(lane));
        let to = self
            .by_launcher
            .partition_point(|it| lane_of(it) <= Some(lane));
        let own = self.by_launcher.get(from..to).unwrap_or_default().iter();
        own.filter_map(launch)
            .map(|(index, it)| (it.launched, self.of_launch(index)))
            .collect()
    }
}

/// Passes the items of a lane to `each`, in the order in which a reader nests them: items other than calls come after
/// entries and before exits of the same time.
///
/// # Errors
/// Those of `each`.
pub(super) fn lane_items<E>(
    trace: &Trace,
    lane_idx: LaneIdx,
    flows: &FlowNumbers,
    mut each: impl FnMut(TimeNs, LaneItem) -> Result<(), E>,
) -> Result<(), E> {
    let lane = trace.lane(lane_idx);
    let mut points = Points::of(trace, lane_idx, flows);
    let calls = &lane.executions;
    let num_open_at_end = num_open_at_end(lane);
    let mut open: Vec<ExecIdx> = Vec::new();
    for row in 0..calls.len() {
        let exec = ExecIdx::from_index(row);
        while let Some(ended) = open.pop_if(|it| calls.subtree_end[it.index()] <= exec) {
            let exit = calls.exit(ended);
            points.pass(Limit::Until(exit), &mut each)?;
            each(exit, LaneItem::End)?;
        }
        let entry = calls.entry[row];
        points.pass(Limit::Before(entry), &mut each)?;
        let launch = points.launch_at(entry);
        let func = calls.func[row];
        each(entry, LaneItem::Begin { func, launch })?;
        open.push(exec);
    }
    while open.len() > num_open_at_end
        && let Some(ended) = open.pop()
    {
        let exit = calls.exit(ended);
        points.pass(Limit::Until(exit), &mut each)?;
        each(exit, LaneItem::End)?;
    }
    points.pass(Limit::All, &mut each)
}

/// Returns the number of calls that had not ended when the lane did: a viewer shows them as open.
fn num_open_at_end(lane: &Lane) -> usize {
    let calls = &lane.executions;
    let mut stack = Vec::new();
    let mut last = calls.len().checked_sub(1).map(ExecIdx::from_index);
    while let Some(exec) = last {
        stack.push(exec);
        last = calls.parent(exec);
    }
    let is_open = |exec: &&ExecIdx| !calls.closed[exec.index()];
    stack.iter().rev().take_while(is_open).count()
}

/// The time up to which points are passed on.
#[derive(Clone, Copy)]
enum Limit {
    /// Before an entry.
    Before(TimeNs),
    /// Until an exit. Calls that are launched then are not in the call that ends.
    Until(TimeNs),
    All,
}

/// The items of a lane other than calls, each kind in order of time.
struct Points<'a> {
    lane: &'a Lane,
    trace: &'a Trace,
    flows: &'a FlowNumbers,
    next_comm: usize,
    next_counter: usize,
    collectives: &'a [CollectiveMember],
    sizes: &'a [CallSize],
    device_waits: &'a [DeviceWait],
    writes: &'a [TracerWrite],
    /// Launches of calls of this lane.
    launched: &'a [Launch],
    /// Index of the first of them among those of the trace.
    first_launched: usize,
    /// Launches by this lane: the time and the flow of each.
    launches: std::iter::Peekable<std::vec::IntoIter<(TimeNs, u64)>>,
}

impl<'a> Points<'a> {
    fn of(trace: &'a Trace, lane: LaneIdx, flows: &'a FlowNumbers) -> Self {
        Self {
            lane: trace.lane(lane),
            trace,
            flows,
            next_comm: 0,
            next_counter: 0,
            collectives: trace.collectives_on(lane),
            sizes: trace.sizes_on(lane),
            device_waits: trace.device_waits_on(lane),
            writes: trace.writes_on(lane),
            launched: trace.launches_on(lane),
            first_launched: trace.launches.partition_point(|it| it.lane < lane),
            launches: flows.launched_by(trace, lane).into_iter().peekable(),
        }
    }

    /// Passes points on, in order of time.
    fn pass<E>(
        &mut self,
        limit: Limit,
        each: &mut impl FnMut(TimeNs, LaneItem) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(time) = self.next_time(limit) {
            let item = self.take(time);
            each(time, item)?;
        }
        Ok(())
    }

    /// Returns the flow to a call that begins, if there is one.
    fn launch_at(&mut self, entry: TimeNs) -> Option<u64> {
        let is_here = self.launched.first().is_some_and(|it| it.time == entry);
        is_here.then(|| self.take_launched())
    }

    fn take_launched(&mut self) -> u64 {
        let flow = self.flows.of_launch(self.first_launched);
        self.first_launched += 1;
        self.launched = self.launched.get(1..).unwrap_or_default();
        flow
    }

    fn next_time(&mut self, limit: Limit) -> Option<TimeNs> {
        let times = [
            self.lane.comms.time.get(self.next_comm).copied(),
            self.lane.counters.time.get(self.next_counter).copied(),
            self.collectives.first().map(|it| it.time),
            self.sizes.first().map(|it| it.time),
            self.device_waits.first().map(|it| it.time),
            self.writes.first().map(|it| it.start),
            self.launches.peek().map(|it| it.0),
        ];
        let next = times.into_iter().flatten().min();
        let next = next.filter(|it| match limit {
            Limit::Before(end) => *it < end,
            Limit::Until(end) => *it <= end,
            Limit::All => true,
        });
        let launched = self.launched.first().map(|it| it.time);
        let launched = launched.filter(|it| match limit {
            Limit::Before(end) | Limit::Until(end) => *it < end,
            Limit::All => true,
        });
        next.into_iter().chain(launched).min()
    }

    /// Returns the first of the points at a time.
    fn take(&mut self, time: TimeNs) -> LaneItem {
        let (comms, counters) = (&self.lane.comms, &self.lane.counters);
        if comms.time.get(self.next_comm) == Some(&time) {
            let row = self.next_comm;
            self.next_comm += 1;
            return self.message(row);
        }
        if counters.time.get(self.next_counter) == Some(&time) {
            let row = self.next_counter;
            self.next_counter += 1;
            return LaneItem::Counter {
                counter: counters.counter[row],
                value: counters.value[row],
            };
        }
        if let [it, rest @ ..] = self.collectives
            && it.time == time
        {
            self.collectives = rest;
            return LaneItem::Collective {
                communicator: it.communicator,
                sequence: it.sequence,
            };
        }
        if let Some(item) = self.take_gpu_fact(time) {
            return item;
        }
        if let [it, rest @ ..] = self.writes
            && it.start == time
        {
            self.writes = rest;
            return LaneItem::TracerWrite { end: it.end };
        }
        match self.launches.next_if(|it| it.0 == time) {
            Some((_, flow)) => LaneItem::Launch { flow },
            None => LaneItem::Launched {
                flow: self.take_launched(),
            },
        }
    }

    /// Returns the size or wait of a call at a time.
    fn take_gpu_fact(&mut self, time: TimeNs) -> Option<LaneItem> {
        if let [it, rest @ ..] = self.sizes
            && it.time == time
        {
            self.sizes = rest;
            return Some(LaneItem::Size {
                num_bytes: it.bytes,
            });
        }
        if let [it, rest @ ..] = self.device_waits
            && it.time == time
        {
            self.device_waits = rest;
            return Some(LaneItem::DeviceWait {
                stream: it.stream.map(|it| self.trace.lane(it).thread),
            });
        }
        None
    }

    fn message(&self, row: usize) -> LaneItem {
        let comms = &self.lane.comms;
        let kind = comms.kind[row];
        // The number of a message is that of its SEND.
        let send = comms.mate[row].and_then(|mate| match kind {
            CommKind::Recv => Some(mate),
            CommKind::Send => {
                let usize_row = |it: CommRef| usize::try_from(it.row).ok();
                let other = self.trace.lanes.get(mate.lane.index())?;
                *other.comms.mate.get(usize_row(mate)?)?
            }
        });
        LaneItem::Message {
            kind,
            partner: comms.partner[row],
            tag: comms.tag[row],
            num_bytes: comms.size_bytes[row],
            flow: send.and_then(|send| self.flows.of_message(send)),
        }
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
