//! Clocks of hosts, compared by the messages between them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use callgrove_model::{CommRef, DurationNs, LaneIdx, RankId, TimeNs, Trace, hosts_by_rank};
use petgraph::algo::min_spanning_tree;
use petgraph::data::Element;
use petgraph::graph::UnGraph;

/// Minimum number of messages without answers from which a clock offset can be estimated.
const MIN_MESSAGES: u64 = 8;
/// Divisor of the number of messages: at least a quarter of them must take about as long as the shortest.
const NEAR_PART: u64 = 4;

/// Longest plausible time of the fastest message between two hosts of one job. Without answers, a shorter time cannot
/// be distinguished from a clock offset, and is too short to matter.
const MAX_LATENCY: DurationNs = DurationNs::from_us(1_000);

/// The clock of one host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostClock {
    /// The host as the tracer names it; empty where it does not.
    pub host: String,
    /// Offset of the clock from that of the first host, positive if ahead; `None` if no messages lead there.
    pub ahead: Option<DurationNs>,
    /// Maximum error of the estimate to either side: half the shortest round trip.
    pub uncertainty: DurationNs,
    /// True if messages go in one direction only: the estimate assumes that the fastest of them takes no time, and
    /// [`HostClock::uncertainty`] does not hold.
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

/// The clocks of all hosts, as far as they can be estimated from messages.
///
/// A message takes at least no time, so the shortest time from host a to b and the shortest from b to a bound the
/// offset of their clocks. Half their difference is the estimate (Cristian 1989), and the path with the smallest half
/// sums leads from host to host. Drift within the run is not estimated: it stays in the uncertainty. TAU stamps a
/// message when the send is entered and when the receive ends, so that on one host none goes back.
///
/// Messages in one direction bound a clock from one side. The clock is corrected by the shortest of them if they go
/// back in time, or if it takes longer than `MAX_LATENCY` and a quarter of at least `MIN_MESSAGES` take nearly as long:
/// delays differ from one message to the next, a clock offset does not. The other side of the bound stays open.
#[derive(Clone, Default, Debug, Serialize, Deserialize)]
pub struct Clocks {
    hosts: Vec<HostClock>,
    host_of_lane: Vec<usize>,
    back_in_time: Vec<BackInTime>,
}

impl Clocks {
    /// Compares the clocks of all hosts. Cost: linear in messages.
    pub fn estimate(trace: &Trace) -> Self {
        Self::compare(trace, false)
    }

    /// Compares the clocks in an excerpt of a run, whose few messages may all be late: a clock is corrected only where
    /// messages went back in time.
    pub(super) fn of_excerpt(trace: &Trace) -> Self {
        Self::compare(trace, true)
    }

    fn compare(trace: &Trace, is_excerpt: bool) -> Self {
        let (names, host_of_lane) = hosts(trace);
        let mut clocks = Self {
            hosts: names
                .into_iter()
                .map(|host| HostClock {
                    host,
                    ahead: None,
                    uncertainty: DurationNs::ZERO,
                    is_one_way: false,
                })
                .collect(),
            host_of_lane,
            back_in_time: Vec::new(),
        };
        clocks.correct(&flights(trace, &clocks.host_of_lane), is_excerpt);
        clocks.count_back(trace);
        clocks
    }

    /// Returns the hosts, in order of their lowest lane.
    pub fn hosts(&self) -> &[HostClock] {
        &self.hosts
    }

    /// Returns the messages that went back in time, ordered by sender, then receiver.
    pub fn back_in_time(&self) -> &[BackInTime] {
        &self.back_in_time
    }

    /// Returns the host of a lane, as an index into [`Clocks::hosts`].
    pub fn host_of(&self, lane: LaneIdx) -> usize {
        self.host_of_lane.get(lane.index()).copied().unwrap_or(0)
    }

    /// Returns whether the clock of a lane's host is bounded from one side only.
    pub(super) fn is_one_way(&self, lane: LaneIdx) -> bool {
        let host = self.hosts.get(self.host_of(lane));
        host.is_some_and(|it| it.is_one_way)
    }

    /// Converts a time of a lane to the clock of the first host.
    pub fn common(&self, lane: LaneIdx, time: TimeNs) -> TimeNs {
        let ahead = self.hosts.get(self.host_of(lane)).and_then(|it| it.ahead);
        let DurationNs(ahead) = ahead.unwrap_or(DurationNs::ZERO);
        time + DurationNs(ahead.saturating_neg())
    }

    /// Converts a time on the clock of the first host to the lane's own clock.
    pub(super) fn local(&self, lane: LaneIdx, time: TimeNs) -> TimeNs {
        let ahead = self.hosts.get(self.host_of(lane)).and_then(|it| it.ahead);
        time + ahead.unwrap_or(DurationNs::ZERO)
    }

    fn correct(&mut self, flights: &Flights, is_excerpt: bool) {
        let mut graph = UnGraph::<(), i64>::new_undirected();
        let nodes: Vec<_> = self.hosts.iter().map(|_| graph.add_node(())).collect();
        for (&(from, to), there) in flights {
            let weight = match flights.get(&(to, from)) {
                Some(_) if to < from => continue,
                Some(back) => there.shortest.0.saturating_add(back.shortest.0) / 2,
                // Used if no path has messages in both directions.
                None if there.reveals_offset(is_excerpt) => i64::MAX,
                None => continue,
            };
            graph.add_edge(nodes[from], nodes[to], weight);
        }
        let mut links: Vec<(usize, usize)> = Vec::new();
        for element in min_spanning_tree(&graph) {
            if let Element::Edge { source, target, .. } = element {
                links.push((source, target));
            }
        }
        if let Some(first) = self.hosts.first_mut() {
            first.ahead = Some(DurationNs::ZERO);
        }
        // The links are a tree, so each round reaches one more host or ends the loop.
        while let Some(at) = links.iter().position(|&(from, to)| {
            self.hosts[from].ahead.is_some() != self.hosts[to].ahead.is_some()
        }) {
            let (from, to) = links.swap_remove(at);
            let (known, new) = match self.hosts[from].ahead {
                Some(_) => (from, to),
                None => (to, from),
            };
            let link = Link::between(flights, known, new, is_excerpt);
            let base = self.hosts[known].clone();
            let host = &mut self.hosts[new];
            host.ahead = base.ahead.map(|of_base| of_base + link.ahead);
            host.uncertainty = base.uncertainty + link.uncertainty;
            host.is_one_way = base.is_one_way || link.is_one_way;
        }
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

/// Durations of the messages from one host to another, on the clocks as recorded.
#[derive(Clone, Copy)]
struct Flight {
    shortest: DurationNs,
    num_messages: u64,
    /// Number of messages that took at most a tenth longer than the shortest.
    num_near: u64,
}

/// Flights by sending and receiving host.
type Flights = BTreeMap<(usize, usize), Flight>;

impl Flight {
    /// Returns whether messages without answers reveal the offset of two clocks.
    fn reveals_offset(&self, is_excerpt: bool) -> bool {
        let is_constant = self.num_messages >= MIN_MESSAGES
            && self.num_near.saturating_mul(NEAR_PART) >= self.num_messages;
        let is_late = is_constant && self.shortest > MAX_LATENCY;
        self.shortest < DurationNs::ZERO || (is_late && !is_excerpt)
    }
}

/// The offset of a clock from a known one.
struct Link {
    ahead: DurationNs,
    uncertainty: DurationNs,
    is_one_way: bool,
}

impl Link {
    fn between(flights: &Flights, known: usize, new: usize, is_excerpt: bool) -> Self {
        let shortest = |from, to| flights.get(&(from, to)).map(|it| it.shortest.0);
        let half = |sum: i64| DurationNs(sum / 2);
        match (shortest(known, new), shortest(new, known)) {
            (Some(there), Some(back)) => Self {
                ahead: if is_excerpt && there >= 0 && back >= 0 {
                    DurationNs::ZERO
                } else {
                    half(there.saturating_sub(back))
                },
                uncertainty: half(there.saturating_add(back)),
                is_one_way: false,
            },
            (there, back) => Self {
                ahead: DurationNs(there.unwrap_or_else(|| back.map_or(0, i64::saturating_neg))),
                uncertainty: DurationNs::ZERO,
                is_one_way: true,
            },
        }
    }
}

/// Returns the durations of the messages between hosts.
fn flights(trace: &Trace, host_of_lane: &[usize]) -> Flights {
    let mut found = Flights::new();
    let each = |visit: &mut dyn FnMut((usize, usize), DurationNs)| {
        for message in &trace.messages {
            let from = host_of_lane[message.send.lane.index()];
            let to = host_of_lane[message.recv.lane.index()];
            if from != to {
                visit((from, to), flight(trace, message.send, message.recv));
            }
        }
    };
    each(&mut |hosts, took| {
        let known = found.entry(hosts).or_insert(Flight {
            shortest: took,
            num_messages: 0,
            num_near: 0,
        });
        known.shortest = took.min(known.shortest);
        known.num_messages += 1;
    });
    each(&mut |hosts, took| {
        if let Some(known) = found.get_mut(&hosts) {
            let near = known.shortest.0.saturating_add(known.shortest.0 / 10);
            known.num_near += u64::from(took.0 <= near);
        }
    });
    found
}

fn time(trace: &Trace, event: CommRef) -> TimeNs {
    let row = callgrove_model::ExecIdx(event.row).index();
    trace.lane(event.lane).comms.time[row]
}

fn flight(trace: &Trace, send: CommRef, recv: CommRef) -> DurationNs {
    time(trace, recv).since(time(trace, send))
}
