//! Clusters: roots that a person would call one event.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use callgrove_model::{DurationNs, ExecRef, FuncId, LaneIdx, RankId, TimeNs, Trace};

use super::clock::Clocks;
use super::delay::CauseKind;
use super::incident::Incident;
use super::roots::Roots;
use super::stall::{Stall, Stalls};

/// A root to which this share of all stalls of its host belongs while it lasts, in percent, stands for itself.
const DOMINANT_PERCENT: i64 = 40;

/// So many stalls of every lane of a host are an incident.
const STALLS_OF_EACH: u32 = 2;

/// The incidents, ordered by delay, and the incident of each root.
#[derive(Default)]
pub(super) struct RootClusters {
    pub(super) incidents: Vec<Incident>,
    pub(super) of_root: Vec<Option<usize>>,
}

/// What belongs to one root.
struct Part {
    root: usize,
    host: usize,
    stalls: Vec<usize>,
    /// From the first stall or the root's start, on the common clock.
    start: TimeNs,
    /// To the last.
    end: TimeNs,
    delay: DurationNs,
}

/// Joins roots to incidents, and gives those of a busy host their kind.
///
/// A root that dominates its host while it lasts is an incident of its own. The others overlap with stalls of another
/// origin, so that none explains the rest: those of one host that overlap are one incident, whose kind is
/// [`CauseKind::BusyHost`] unless the tracer's writes make up most of it. An incident counts only if it held up the
/// program by as much as if every lane of the host had stalled twice. Cost: O(n log n) in stalls.
pub(super) fn clusters(
    trace: &Trace,
    clocks: &Clocks,
    stalls: &Stalls,
    roots: &mut Roots,
) -> RootClusters {
    let parts = parts(clocks, stalls, roots);
    let loads = loads(clocks, stalls);
    let (mut joined, mut shared): (Vec<Vec<Part>>, Vec<Part>) = (Vec::new(), Vec::new());
    for part in parts {
        if is_dominant(clocks, stalls, roots, &loads, &part) {
            joined.push(vec![part]);
        } else {
            shared.push(part);
        }
    }
    joined.extend(overlapping(shared));
    let bars = bars(trace, clocks, stalls);
    let mut found: Vec<(Incident, Vec<usize>)> = Vec::new();
    for cluster in joined {
        settle_kind(roots, &cluster);
        let total: DurationNs = cluster.iter().map(|part| part.delay).sum();
        if cluster.iter().any(|part| total >= bars[part.host]) {
            let members = cluster.iter().map(|part| part.root).collect();
            if let Some(incident) = incident(trace, clocks, stalls, roots, &cluster) {
                found.push((incident, members));
            }
        }
    }
    found.sort_by_key(|(it, _)| (Reverse(it.delay), it.start, it.root.lane));
    let mut clusters = RootClusters {
        of_root: vec![None; roots.all.len()],
        ..RootClusters::default()
    };
    for (index, (incident, members)) in found.into_iter().enumerate() {
        for root in members {
            clusters.of_root[root] = Some(index);
        }
        clusters.incidents.push(incident);
    }
    clusters
}

/// The delay from which an incident counts, by host.
fn bars(trace: &Trace, clocks: &Clocks, stalls: &Stalls) -> Vec<DurationNs> {
    let mut bars = vec![DurationNs::ZERO; clocks.hosts().len()];
    for (lane, _) in trace.lanes() {
        for _ in 0..STALLS_OF_EACH {
            bars[clocks.host_of(lane)] += stalls.least;
        }
    }
    bars
}

fn parts(clocks: &Clocks, stalls: &Stalls, roots: &Roots) -> Vec<Part> {
    let part = |(index, root): (usize, &super::delay::RootCause)| Part {
        root: index,
        host: clocks.host_of(root.lane),
        stalls: Vec::new(),
        start: clocks.common(root.lane, root.start),
        end: clocks.common(root.lane, root.end),
        delay: DurationNs::ZERO,
    };
    let mut parts: Vec<Part> = roots.all.iter().enumerate().map(part).collect();
    for (index, (stall, &root)) in stalls.all().iter().zip(&roots.of_stall).enumerate() {
        let part = &mut parts[root];
        part.stalls.push(index);
        part.delay += stall.duration();
    }
    parts
}

/// The stall time of one host up to any time, from sorted starts and ends and the sums up to each.
#[derive(Default)]
struct Load {
    starts: Vec<i64>,
    ends: Vec<i64>,
    start_sums: Vec<i128>,
    end_sums: Vec<i128>,
}

impl Load {
    fn settle(&mut self) {
        let sums = |times: &mut Vec<i64>| {
            times.sort_unstable();
            let mut sum = 0;
            let add = |&time_ns: &i64| {
                sum += i128::from(time_ns);
                sum
            };
            std::iter::once(0).chain(times.iter().map(add)).collect()
        };
        self.start_sums = sums(&mut self.starts);
        self.end_sums = sums(&mut self.ends);
    }

    fn until(&self, time: TimeNs) -> i128 {
        let passed = |times: &[i64], sums: &[i128]| {
            let count = times.partition_point(|&it| it < time.0);
            i128::from(time.0) * i128::try_from(count).unwrap_or(0) - sums[count]
        };
        passed(&self.starts, &self.start_sums) - passed(&self.ends, &self.end_sums)
    }
}

fn loads(clocks: &Clocks, stalls: &Stalls) -> Vec<Load> {
    let mut loads: Vec<Load> = clocks.hosts().iter().map(|_| Load::default()).collect();
    for stall in stalls.all() {
        let load = &mut loads[clocks.host_of(stall.lane())];
        load.starts.push(stall.start.0);
        load.ends.push(stall.end.0);
    }
    loads.iter_mut().for_each(Load::settle);
    loads
}

fn is_dominant(
    clocks: &Clocks,
    stalls: &Stalls,
    roots: &Roots,
    loads: &[Load],
    part: &Part,
) -> bool {
    let root = &roots.all[part.root];
    let (from, to) = (
        clocks.common(root.lane, root.start),
        clocks.common(root.lane, root.end),
    );
    let all = loads[part.host].until(to) - loads[part.host].until(from);
    let within =
        |stall: &Stall| i128::from(stall.end.min(to).since(stall.start.max(from)).0.max(0));
    let of_host = part.stalls.iter().map(|&it| &stalls.all()[it]);
    let of_host = of_host.filter(|stall| clocks.host_of(stall.lane()) == part.host);
    let own: i128 = of_host.map(within).sum();
    own * 100 >= all * i128::from(DOMINANT_PERCENT)
}

/// Parts of one host that overlap, one after another.
fn overlapping(mut parts: Vec<Part>) -> Vec<Vec<Part>> {
    parts.sort_by_key(|part| (part.host, part.start, part.root));
    let mut clusters: Vec<Vec<Part>> = Vec::new();
    let mut last: Option<(usize, TimeNs)> = None;
    for part in parts {
        let next = (part.host, part.end);
        match (last, clusters.last_mut()) {
            (Some((host, end)), Some(cluster)) if host == part.host && part.start < end => {
                cluster.push(part);
                last = last.max(Some(next));
            }
            _ => {
                clusters.push(vec![part]);
                last = Some(next);
            }
        }
    }
    clusters
}

/// Several roots that overlap are the host's doing, unless most of it is the tracer's.
fn settle_kind(roots: &mut Roots, cluster: &[Part]) {
    if cluster.len() < 2 {
        return;
    }
    let total: DurationNs = cluster.iter().map(|part| part.delay).sum();
    let is_written = |part: &&Part| roots.all[part.root].kind == CauseKind::TracerWrite;
    let written: DurationNs = cluster.iter().filter(is_written).map(|it| it.delay).sum();
    if written.0.saturating_mul(2) >= total.0 {
        return;
    }
    for part in cluster {
        let root = &mut roots.all[part.root];
        if root.kind != CauseKind::TracerWrite {
            root.kind = CauseKind::BusyHost;
        }
    }
}

fn incident(
    trace: &Trace,
    clocks: &Clocks,
    stalls: &Stalls,
    roots: &Roots,
    cluster: &[Part],
) -> Option<Incident> {
    let largest = cluster
        .iter()
        .max_by_key(|part| (part.delay, Reverse(part.root)))?;
    let root = roots.all[largest.root];
    let mut by_kind: BTreeMap<CauseKind, DurationNs> = BTreeMap::new();
    for part in cluster {
        *by_kind.entry(roots.all[part.root].kind).or_default() += part.delay;
    }
    let kind = by_kind
        .into_iter()
        .max_by_key(|&(kind, delay)| (delay, Reverse(kind)))?
        .0;
    let of_cluster = || cluster.iter().flat_map(|part| &part.stalls);
    let mut members: Vec<ExecRef> = of_cluster().map(|&it| stalls.all()[it].call).collect();
    members.extend(cluster.iter().map(|part| roots.all[part.root].call));
    members.sort_unstable();
    members.dedup();
    let mut ranks: Vec<RankId> = members.iter().map(|it| trace.lane(it.lane).rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let local = |time| clocks.local(root.lane, time);
    let starts = of_cluster().map(|&it| local(stalls.all()[it].start));
    let ends = of_cluster().map(|&it| local(stalls.all()[it].end));
    Some(Incident {
        start: starts.chain([root.start]).min()?,
        end: ends.chain([root.end]).max()?,
        kind,
        root,
        call_path: call_path(trace, root.lane, root.call),
        members,
        ranks,
        delay: cluster.iter().map(|part| part.delay).sum(),
        like: 0,
    })
}

fn call_path(trace: &Trace, lane: LaneIdx, call: ExecRef) -> Vec<FuncId> {
    let executions = &trace.lane(lane).executions;
    let stack = std::iter::successors(Some(call.exec), |&it| executions.parent(it));
    let mut path: Vec<FuncId> = stack.map(|it| executions.func[it.index()]).collect();
    path.reverse();
    path
}
