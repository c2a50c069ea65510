//! The share of a tree's excess that the tracer's own writes explain.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use callgrove_model::{
    DurationNs, Forest, Lane, ProgramId, RankId, TimeNs, Trace, TracerWrite, TreeIdx,
    UsualDuration, hosts_by_rank,
};

use super::spans::Spans;
use crate::features::Reference;
use callgrove_trees::wl::Bags;

/// A rank of a program.
type Rank = (ProgramId, RankId);

/// The time of a tree beyond the usual, and the part of it that the tracer's writes cover.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct WriteShare {
    /// Duration less the median of the tree's class; above 0.
    pub excess: DurationNs,
    /// Time in the tree in which the tracer wrote, beyond the expected amount; above 0. It may exceed the excess.
    pub covered: DurationNs,
}

impl WriteShare {
    /// Returns whether most of the excess is explained.
    pub fn explains(&self) -> bool {
        self.covered.0 > self.excess.0 / 2
    }
}

/// Returns the share of each tree that the tracer's writes explain, shape `[n_trees]`. `None` if the tree is no
/// longer than usual, if no rank that it depends on wrote, or if its structure is rarer than that of most trees,
/// which no write explains.
///
/// A rank that writes delays more than itself: ranks that share its cores, and those that wait for its messages. So
/// the writes of all ranks on the same host count, and those of the ranks that the tree exchanges messages with.
/// Since among many ranks there is always one that writes, the share of the run in which they write is subtracted. A
/// write counts with at most the upper fence of all writes of the run: a longer one was delayed by something else.
pub fn write_shares(
    forest: &Forest,
    bags: &Bags,
    reference: &Reference,
) -> Vec<Option<WriteShare>> {
    let writes = RunWrites::new(forest.trace());
    let share = |(tree, &root): (usize, _)| {
        let tree = TreeIdx::from_index(tree);
        let cstree = forest.tree(tree);
        let (entry, exit) = (cstree.entry()[0], cstree.exit());
        let usual = reference.usual(root, root).tree_ns;
        let excess = cstree.duration() - DurationNs::nearest(usual);
        if excess <= DurationNs::ZERO || reference.rarity(root) > 0.0 {
            return None;
        }
        let covered = writes.beyond_chance(forest.lane_of(tree), entry, exit);
        (covered > DurationNs::ZERO).then_some(WriteShare { excess, covered })
    };
    bags.roots().iter().enumerate().map(share).collect()
}

/// The times in which the ranks of a run wrote.
struct RunWrites<'a> {
    /// Length of the run.
    run: DurationNs,
    /// Host by rank, for ranks with a known host.
    host: BTreeMap<Rank, &'a str>,
    of_host: BTreeMap<&'a str, Spans>,
    of_rank: BTreeMap<Rank, Spans>,
}

impl<'a> RunWrites<'a> {
    fn new(trace: &'a Trace) -> Self {
        let lengths = trace.writes.iter().map(TracerWrite::duration);
        let longest = UsualDuration::of(lengths.collect()).map(|usual| usual.fence);
        let host = hosts_by_rank(&trace.metadata);
        let mut of_rank: BTreeMap<Rank, Vec<(TimeNs, TimeNs)>> = BTreeMap::new();
        let mut of_host: BTreeMap<&str, Vec<(TimeNs, TimeNs)>> = BTreeMap::new();
        for write in &trace.writes {
            let lane = trace.lane(write.lane);
            let length = longest.map_or(write.duration(), |most| most.min(write.duration()));
            let span = (write.start, write.start + length);
            of_rank.entry(rank_of(lane)).or_default().push(span);
            if let Some(host) = host.get(&rank_of(lane)) {
                of_host.entry(host).or_default().push(span);
            }
        }
        let run = trace.time_span();
        let run = run.map_or(DurationNs::ZERO, |(from, to)| to.since(from));
        Self {
            run,
            host,
            of_host: joined(of_host),
            of_rank: joined(of_rank),
        }
    }

    /// Returns the time between `from` and `to` in which a rank wrote that a tree on `lane` depends on, less the
    /// expected amount in a time range of this length.
    fn beyond_chance(&self, lane: &Lane, from: TimeNs, to: TimeNs) -> DurationNs {
        if self.of_rank.is_empty() {
            return DurationNs::ZERO;
        }
        let own = self.host.get(&rank_of(lane));
        let ranks = partners(lane, from, to).into_iter();
        let elsewhere = ranks.filter(|rank| own.is_none() || self.host.get(rank) != own);
        let sources: Vec<&Spans> = elsewhere
            .filter_map(|rank| self.of_rank.get(&rank))
            .chain(own.and_then(|host| self.of_host.get(host)))
            .collect();
        let parts = sources.iter().flat_map(|spans| spans.within(from, to));
        let written = Spans::join(parts.collect()).length();
        if written == DurationNs::ZERO {
            return written;
        }
        let all: DurationNs = sources.iter().map(|spans| spans.length()).sum();
        let share = all.as_secs_f64() / self.run.as_secs_f64();
        let length_ns = to.since(from).as_secs_f64() * 1e9;
        written - DurationNs::nearest(share.min(1.0) * length_ns)
    }
}

/// Returns the rank of a lane, and those that it exchanges messages with between two times.
fn partners(lane: &Lane, from: TimeNs, to: TimeNs) -> BTreeSet<Rank> {
    let comms = &lane.comms;
    let first = comms.time.partition_point(|&time| time < from);
    let end = comms.time.partition_point(|&time| time <= to);
    let partners = comms.partner[first..end].iter();
    let partners = partners.map(|&rank| (lane.program, rank));
    partners.chain([rank_of(lane)]).collect()
}

fn rank_of(lane: &Lane) -> Rank {
    (lane.program, lane.rank)
}

fn joined<K: Ord>(parts: BTreeMap<K, Vec<(TimeNs, TimeNs)>>) -> BTreeMap<K, Spans> {
    let join = |(key, parts)| (key, Spans::join(parts));
    parts.into_iter().map(join).collect()
}
