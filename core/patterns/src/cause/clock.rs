//! Clocks of hosts, compared by the messages between them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use callgrove_model::{CommRef, DurationNs, LaneIdx, RankId, TimeNs, Trace};
use petgraph::algo::min_spanning_tree;
use petgraph::data::Element;
use petgraph::graph::UnGraph;

/// The clock of one host.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HostClock {
    /// The host as the tracer names it; empty where it does not.
    pub host: String,
    /// How far the clock is ahead of that of the first host; `None` if no messages lead there.
    pub ahead: Option<DurationNs>,
    /// The estimate may be off by this to either side: half the shortest way there and back.
    pub uncertainty: DurationNs,
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

/// What messages tell of the clocks.
///
/// A message takes at least no time, so the shortest time from host a to b and the shortest from b to a bound how
/// far the clocks are apart; their half difference is the estimate (Cristian 1989), and the smallest half sums lead
/// from host to host. Drift within the run is not estimated: it stays in the uncertainty. TAU stamps a message when
/// the send is entered and when the receive ends, so that on one host none goes back.
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
                })
                .collect(),
            host_of_lane,
            back_in_time: Vec::new(),
        };
        clocks.set_right(&shortest(trace, &clocks.host_of_lane), is_excerpt);
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

    fn set_right(&mut self, shortest: &BTreeMap<(usize, usize), DurationNs>, is_excerpt: bool) {
        let mut graph = UnGraph::<(), i64>::new_undirected();
        let nodes: Vec<_> = self.hosts.iter().map(|_| graph.add_node(())).collect();
        for (&(from, to), there) in shortest {
            if let (true, Some(back)) = (from < to, shortest.get(&(to, from))) {
                graph.add_edge(nodes[from], nodes[to], there.0.saturating_add(back.0) / 2);
            }
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
        let apart = |from: usize, to: usize| {
            let there = shortest.get(&(from, to)).map_or(0, |it| it.0);
            let back = shortest.get(&(to, from)).map_or(0, |it| it.0);
            let half = |sum: i64| DurationNs(sum / 2);
            let is_possible = is_excerpt && there >= 0 && back >= 0;
            let ahead = if is_possible {
                DurationNs::ZERO
            } else {
                half(there.saturating_sub(back))
            };
            (ahead, half(there.saturating_add(back)))
        };
        // The links are a tree, so each round reaches one more host or ends.
        while let Some(at) = links.iter().position(|&(from, to)| {
            self.hosts[from].ahead.is_some() != self.hosts[to].ahead.is_some()
        }) {
            let (from, to) = links.swap_remove(at);
            let (known, new) = match self.hosts[from].ahead {
                Some(_) => (from, to),
                None => (to, from),
            };
            let (ahead, uncertainty) = apart(known, new);
            let base = self.hosts[known].clone();
            let host = &mut self.hosts[new];
            host.ahead = base.ahead.map(|of_base| of_base + ahead);
            host.uncertainty = base.uncertainty + uncertainty;
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

/// The shortest time that a message took from host to host, on the clocks as recorded.
fn shortest(trace: &Trace, host_of_lane: &[usize]) -> BTreeMap<(usize, usize), DurationNs> {
    let mut shortest = BTreeMap::new();
    for message in &trace.messages {
        let from = host_of_lane[message.send.lane.index()];
        let to = host_of_lane[message.recv.lane.index()];
        if from != to {
            let took = flight(trace, message.send, message.recv);
            let least = shortest.entry((from, to)).or_insert(took);
            *least = took.min(*least);
        }
    }
    shortest
}

fn time(trace: &Trace, event: CommRef) -> TimeNs {
    let row = callgrove_model::ExecIdx(event.row).index();
    trace.lane(event.lane).comms.time[row]
}

fn flight(trace: &Trace, send: CommRef, recv: CommRef) -> DurationNs {
    time(trace, recv).since(time(trace, send))
}
