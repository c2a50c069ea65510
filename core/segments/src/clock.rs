//! Clocks of hosts, compared by the order of their events.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use callgrove_model::{
    CommRef, DurationNs, LaneIdx, ProgramId, RankId, TimeNs, Trace, hosts_by_rank,
};

use super::clock_bounds::OffsetBounds;

/// The clock of one host, or of a rank whose host is not stated.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostClock {
    /// The host as the tracer names it; empty where it does not.
    pub host: String,
    /// Offset of the clock from the common clock, which most hosts have, positive if ahead. It is 0 as long as the
    /// bounds allow 0, else the nearest allowed value. `None` if no message or collective links the host to another
    /// one.
    pub ahead: Option<DurationNs>,
    /// Maximum error of the offset: the distance to the farther bound. The first host of the common clock has 0.
    /// Where there is only one bound, it is the distance to that one, and the other side is open.
    pub uncertainty: DurationNs,
    /// True if the clock is corrected and only one side of the offset is bounded: [`HostClock::uncertainty`] does not
    /// hold.
    pub is_one_way: bool,
}

/// Messages between two ranks that were received before they were sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BackInTime {
    /// The sender.
    pub from: RankId,
    /// The receiver.
    pub to: RankId,
    /// Number of messages.
    pub num_messages: u64,
    /// The largest step back, on the recorded clocks.
    pub worst: DurationNs,
    /// Number of messages that still go back after the clocks are corrected.
    pub num_unexplained: u64,
}

/// The clocks of all hosts, as far as the order of events bounds them.
///
/// A message is not received before it is sent, and no rank leaves a collective of all with all before the last one has
/// entered it. A recorded clock counts as right unless that contradicts it, and is then corrected by the least that
/// resolves the contradiction. A late receive is not a contradiction: it ends when the *wait* ends, so the fastest
/// message may take as long as the work between its send and the wait. The middle between the fastest messages of both
/// directions (Cristian 1989) bends right clocks by half of that work. Drift within the run is not estimated: it stays
/// in the uncertainty. Ranks whose host is not stated may be on several, so each has a clock of its own. TAU stamps a
/// message when the send is entered and when the receive ends, so that on one host none goes back.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Clocks {
    hosts: Vec<HostClock>,
    clock_of_lane: Vec<usize>,
    /// The first clock of the lane's host.
    host_of_lane: Vec<usize>,
    back_in_time: Vec<BackInTime>,
}

impl HostClock {
    fn recorded(host: String) -> Self {
        Self {
            host,
            ahead: None,
            uncertainty: DurationNs::ZERO,
            is_one_way: false,
        }
    }
}

impl Clocks {
    /// Returns the clocks as recorded, compared by nothing.
    pub(crate) fn recorded(trace: &Trace) -> Self {
        let (names, host_of_lane) = hosts(trace);
        let mut clocks = Self {
            hosts: names.into_iter().map(HostClock::recorded).collect(),
            clock_of_lane: host_of_lane.clone(),
            host_of_lane,
            back_in_time: Vec::new(),
        };
        clocks.divide_unstated(trace);
        clocks
    }

    /// Gives each rank whose host is not stated a clock of its own.
    fn divide_unstated(&mut self, trace: &Trace) {
        let Some(unstated) = self.hosts.iter().position(|it| it.host.is_empty()) else {
            return;
        };
        let mut of_rank: BTreeMap<(ProgramId, RankId), usize> = BTreeMap::new();
        for (lane, clock) in trace.lanes.iter().zip(&mut self.clock_of_lane) {
            if *clock != unstated {
                continue;
            }
            let next = if of_rank.is_empty() {
                unstated
            } else {
                self.hosts.len()
            };
            *clock = *of_rank.entry((lane.program, lane.rank)).or_insert(next);
            if *clock == self.hosts.len() {
                self.hosts.push(HostClock::recorded(String::new()));
            }
        }
    }

    /// Returns these recorded clocks, corrected as far as the bounds between hosts demand it.
    pub(crate) fn corrected(mut self, trace: &Trace, bounds: &OffsetBounds) -> Self {
        let offsets = bounds.offsets(self.hosts.len());
        for (host, offset) in self.hosts.iter_mut().zip(offsets) {
            host.ahead = offset.ahead;
            host.uncertainty = offset.uncertainty;
            host.is_one_way = offset.is_one_way;
        }
        self.count_back(trace);
        self
    }

    /// Returns whether no clock is corrected.
    pub(crate) fn are_recorded(&self) -> bool {
        let mut offsets = self.hosts.iter().filter_map(|it| it.ahead);
        offsets.all(|ahead| ahead == DurationNs::ZERO)
    }

    /// Returns the clocks of the hosts, in order of their lowest lane, then those of further ranks whose host is not
    /// stated.
    pub fn hosts(&self) -> &[HostClock] {
        &self.hosts
    }

    /// Returns the messages that went back in time, ordered by sender, then receiver.
    pub fn back_in_time(&self) -> &[BackInTime] {
        &self.back_in_time
    }

    /// Returns the clock of a lane, as an index into [`Clocks::hosts`].
    pub(crate) fn clock_of(&self, lane: LaneIdx) -> usize {
        self.clock_of_lane.get(lane.index()).copied().unwrap_or(0)
    }

    /// Returns the host of a lane, as the index of its first clock in [`Clocks::hosts`]. All lanes whose host is not stated
    /// have one.
    pub fn host_of(&self, lane: LaneIdx) -> usize {
        self.host_of_lane.get(lane.index()).copied().unwrap_or(0)
    }

    /// Returns whether the clock of a lane is corrected, and bounded from one side only.
    pub fn is_one_way(&self, lane: LaneIdx) -> bool {
        let clock = self.hosts.get(self.clock_of(lane));
        clock.is_some_and(|it| it.is_one_way)
    }

    /// Converts a time of a lane to the common clock.
    pub fn common(&self, lane: LaneIdx, time: TimeNs) -> TimeNs {
        let ahead = self.hosts.get(self.clock_of(lane)).and_then(|it| it.ahead);
        let DurationNs(ahead) = ahead.unwrap_or(DurationNs::ZERO);
        time + DurationNs(ahead.saturating_neg())
    }

    /// Converts a time on the common clock to the lane's own clock.
    pub fn local(&self, lane: LaneIdx, time: TimeNs) -> TimeNs {
        let ahead = self.hosts.get(self.clock_of(lane)).and_then(|it| it.ahead);
        time + ahead.unwrap_or(DurationNs::ZERO)
    }

    fn count_back(&mut self, trace: &Trace) {
        let mut found: BTreeMap<(RankId, RankId), (u64, DurationNs, u64)> = BTreeMap::new();
        for message in &trace.messages {
            let took = flight(trace, message.send, message.recv);
            let (send, recv) = (message.send.lane, message.recv.lane);
            let common = self
                .common(recv, time(trace, message.recv))
                .since(self.common(send, time(trace, message.send)));
            let back = DurationNs(took.0.saturating_neg());
            if back > DurationNs::ZERO || common < DurationNs::ZERO {
                let pair = (trace.lane(send).rank, trace.lane(recv).rank);
                let entry = found.entry(pair).or_default();
                entry.0 += u64::from(back > DurationNs::ZERO);
                entry.1 = entry.1.max(back);
                entry.2 += u64::from(common < DurationNs::ZERO);
            }
        }
        let plain = |((from, to), (num_messages, worst, num_unexplained))| BackInTime {
            from,
            to,
            num_messages,
            worst,
            num_unexplained,
        };
        self.back_in_time = found.into_iter().map(plain).collect();
    }
}

/// Returns the names of the hosts in order of their lowest lane, and the host of each lane as an index into them. A
/// lane whose host is not stated has the host with the empty name.
pub fn hosts(trace: &Trace) -> (Vec<String>, Vec<usize>) {
    let of_rank = hosts_by_rank(&trace.metadata);
    let mut names: Vec<String> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut host_of_lane = Vec::with_capacity(trace.lanes.len());
    for lane in &trace.lanes {
        let name = of_rank
            .get(&(lane.program, lane.rank))
            .copied()
            .unwrap_or_default();
        let place = *places.entry(name).or_insert_with(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        host_of_lane.push(place);
    }
    (names, host_of_lane)
}

/// Returns the recorded time of a message event.
pub(crate) fn time(trace: &Trace, event: CommRef) -> TimeNs {
    let row = callgrove_model::ExecIdx(event.row).index();
    trace.lane(event.lane).comms.time[row]
}

fn flight(trace: &Trace, send: CommRef, recv: CommRef) -> DurationNs {
    time(trace, recv).since(time(trace, send))
}
