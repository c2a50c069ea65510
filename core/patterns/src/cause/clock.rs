//! Clocks of hosts, compared by the messages between them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use callgrove_model::{CommRef, DurationNs, LaneIdx, RankId, TimeNs, Trace};
use petgraph::algo::min_spanning_tree;
use petgraph::data::Element;
use petgraph::graph::UnGraph;

/// Smallest number of messages without answers that can show a clock.
const LEAST_MESSAGES: u64 = 8;
/// The share of messages that must take about as long as the shortest, as a divisor.
const NEAR_PART: u64 = 4;

/// The clock of one host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostClock {
    /// The host as the tracer names it; empty where it does not.
    pub host: String,
    /// How far the clock is ahead of that of the first host; `None` if no messages lead there.
    pub ahead: Option<DurationNs>,
    /// The estimate may be off by this to either side: half the shortest way there and back.
    pub uncertainty: DurationNs,
    /// Whether messages lead there, or back, only: the estimate takes the fastest of them to need no time, and
    /// [`HostClock::uncertainty`] does not hold.
    pub is_one_way: bool,
}

/// Messages that were received before they were sent, between two ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct BackInTime {
    /// The sender.
    pub from: RankId,
    /// The receiver.
    pub to: RankId,
    /// How many.
    pub num_messages: u64,
    /// The largest step back, on the clocks as they were recorded.
    pub worst: DurationNs,
    /// How many still go back once the clocks are set right.
    pub num_unexplained: u64,
}

/// The clocks of all hosts, as far as messages show them.
///
/// A message takes at least no time, so the shortest time from host a to b and the shortest from b to a bound how
/// far the clocks are apart; their half difference is the estimate (Cristian 1989), and the smallest half sums lead
/// from host to host. Drift within the run is not estimated: it stays in the uncertainty. TAU stamps a message when
/// the send is entered and when the receive ends, so that on one host none goes back.
///
/// Messages that go one way bound a clock from one side. It is set right by the shortest of them if they go back in time,
/// or if a quarter of at least [`LEAST_MESSAGES`] take nearly as long as the shortest: what delays a message differs
/// from one to the next, a clock does not. The other side of the bound stays open.
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

    /// The same of an excerpt of a run, whose few messages may all be late: a clock is set right only where messages went
    /// back in time.
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
        clocks.set_right(&flights(trace, &clocks.host_of_lane), is_excerpt);
        clocks.count_back(trace);
        clocks
    }

    /// The hosts, in order of their lowest lane.
    pub fn hosts(&self) -> &[HostClock] {
        &self.hosts
    }

    /// Messages that went back in time, ordered by sender, then receiver.
    pub fn back_in_time(&self) -> &[BackInTime] {
        &self.back_in_time
    }

    /// The host of a lane, an index into [`Clocks::hosts`].
    pub fn host_of(&self, lane: LaneIdx) -> usize {
        self.host_of_lane.get(lane.index()).copied().unwrap_or(0)
    }

    /// Whether the clock of a lane's host is bounded from one side only.
    pub(super) fn is_one_way(&self, lane: LaneIdx) -> bool {
        let host = self.hosts.get(self.host_of(lane));
        host.is_some_and(|it| it.is_one_way)
    }

    /// A time of a lane on the clock of the first host.
    pub fn common(&self, lane: LaneIdx, time: TimeNs) -> TimeNs {
        let ahead = self.hosts.get(self.host_of(lane)).and_then(|it| it.ahead);
        let DurationNs(ahead) = ahead.unwrap_or(DurationNs::ZERO);
        time + DurationNs(ahead.saturating_neg())
    }

    /// A time on the clock of the first host as the lane's own clock has it.
    pub(super) fn local(&self, lane: LaneIdx, time: TimeNs) -> TimeNs {
        let ahead = self.hosts.get(self.host_of(lane)).and_then(|it| it.ahead);
        time + ahead.unwrap_or(DurationNs::ZERO)
    }

    fn set_right(&mut self, flights: &Flights, is_excerpt: bool) {
        let mut graph = UnGraph::<(), i64>::new_undirected();
        let nodes: Vec<_> = self.hosts.iter().map(|_| graph.add_node(())).collect();
        for (&(from, to), there) in flights {
            let weight = match flights.get(&(to, from)) {
                Some(_) if to < from => continue,
                Some(back) => there.shortest.0.saturating_add(back.shortest.0) / 2,
                // The last choice.
                None if there.is_of_clocks(is_excerpt) => i64::MAX,
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
        // The links are a tree, so each round reaches one more host or ends.
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

/// The hosts in order of lane, and the host of each lane.
pub(crate) fn hosts(trace: &Trace) -> (Vec<String>, Vec<usize>) {
    let mut of_rank = BTreeMap::new();
    for it in &trace.metadata {
        if it.key == "Hostname" || (it.key == "Node Name" && !of_rank.contains_key(&it.rank)) {
            of_rank.insert(it.rank, it.value.as_str());
        }
    }
    let mut names: Vec<String> = Vec::new();
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut host_of_lane = Vec::with_capacity(trace.lanes.len());
    for lane in &trace.lanes {
        let name = of_rank.get(&lane.rank).copied().unwrap_or_default();
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
    /// Messages that took at most a tenth longer than the shortest.
    num_near: u64,
}

/// By sending and receiving host.
type Flights = BTreeMap<(usize, usize), Flight>;

impl Flight {
    /// Whether messages that have no answers show how far two clocks are apart.
    fn is_of_clocks(&self, is_excerpt: bool) -> bool {
        let is_constant = self.num_messages >= LEAST_MESSAGES
            && self.num_near.saturating_mul(NEAR_PART) >= self.num_messages;
        self.shortest < DurationNs::ZERO || (is_constant && !is_excerpt)
    }
}

/// How a clock differs from one that is known.
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

/// Durations of the messages between hosts.
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
