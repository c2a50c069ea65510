//! Waits that no delay explains: the program makes its ranks wait in every run.

use std::collections::BTreeSet;

use callgrove_model::{DurationNs, ExecIdx, LaneIdx, TimeNs, Trace};
use callgrove_segments::{Clocks, OperationRef, OwnWork, OwnWorkSearch, Segments, index, number};

use super::outcome::{CauseKind, WaitKind};
use super::release::Released;

/// Divisor of the number of ranks: work that at most an eighth of them do is serial.
const SERIAL_RANKS: usize = 8;
/// Divisor of the time of all ranks: causes that cost less than a hundredth of it are not listed.
const MIN_COST_DIVISOR: i64 = 100;

/// One section of work for which other lanes waited.
struct WaitFor {
    peer: LaneIdx,
    work: OwnWork,
    wait: DurationNs,
    operation: OperationRef,
}

/// Work at one call path for which others always wait.
#[derive(Debug)]
pub(super) struct DesignedWait {
    /// [`CauseKind::Serial`] or [`CauseKind::Imbalance`].
    pub(super) kind: CauseKind,
    /// The lane that did the work at the costliest time.
    pub(super) lane: LaneIdx,
    /// The innermost call of the work, at the costliest time.
    pub(super) call: ExecIdx,
    /// Time range of that work, on the common clock.
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
    /// The operations that waited for it then.
    pub(super) waits: Vec<OperationRef>,
    /// Start of the work each time, in order.
    pub(super) starts: Vec<TimeNs>,
    /// Total time that all lanes waited for it.
    pub(super) cost: DurationNs,
}

/// Sums the waits that no delay explains by the work of the late lane at that time, the costliest first.
pub(super) fn designed(
    trace: &Trace,
    clocks: &Clocks,
    segments: &Segments,
    released: &[Vec<Released>],
    waits: &[OperationRef],
) -> Vec<DesignedWait> {
    let mut search = OwnWorkSearch::new(trace, clocks, segments);
    let mut all: Vec<WaitFor> = waits
        .iter()
        .filter_map(|&it| waited_for(segments, &mut search, released, it))
        .collect();
    all.sort_unstable_by_key(|it| (it.work.path, it.peer, it.work.start, it.operation));
    let ranks = ranks_by_path(segments);
    let least = least_cost(segments);
    let of_path = all.chunk_by(|a, b| a.work.path == b.work.path);
    let mut found: Vec<DesignedWait> = of_path
        .filter_map(|it| {
            let cost: DurationNs = it.iter().map(|it| it.wait).sum();
            (cost >= least).then(|| design(segments, &ranks, it, cost))?
        })
        .collect();
    found.sort_by_key(|it| (std::cmp::Reverse(it.cost), it.lane, it.start));
    found
}

/// Returns the work that the peer did in the middle of a wait.
fn waited_for(
    segments: &Segments,
    search: &mut OwnWorkSearch<'_>,
    released: &[Vec<Released>],
    operation: OperationRef,
) -> Option<WaitFor> {
    let it = released[operation.lane.index()][operation.at()];
    let by = it.by?;
    if matches!(by.kind, WaitKind::WaitForDevice | WaitKind::WaitForThread) {
        // The host waits for a device, or a thread for another one, by design: these exist to do its work.
        return None;
    }
    let peer = by.peer;
    let wait = it.wait(segments.operation(operation));
    let middle = segments.operation(operation).start + DurationNs(wait.0 / 2);
    Some(WaitFor {
        peer,
        work: search.at(peer, middle)?,
        wait,
        operation,
    })
}

/// Returns the number of ranks that ever work at each call path.
fn ranks_by_path(segments: &Segments) -> Vec<usize> {
    let mut ranks = vec![BTreeSet::new(); segments.places.num_paths()];
    for lane in &segments.lanes {
        for gap in &lane.gaps {
            ranks[index(segments.places.path_of(gap.place))].insert(lane.process);
        }
    }
    for place in (0..segments.places.num_places()).map(number) {
        let short = segments.short.by_lane(place);
        let processes = short.map(|it| segments.lane(it.0).process);
        ranks[index(segments.places.path_of(place))].extend(processes);
    }
    ranks.iter().map(BTreeSet::len).collect()
}

/// Returns the minimum cost of a listed cause.
fn least_cost(segments: &Segments) -> DurationNs {
    let lanes = segments.lanes.iter();
    let spans = lanes.filter(|it| !it.is_device).filter_map(|it| {
        let (start, end) = it.span?;
        Some(end.since(start))
    });
    let whole: DurationNs = spans.sum();
    DurationNs(whole.0 / MIN_COST_DIVISOR)
}

fn design(
    segments: &Segments,
    ranks: &[usize],
    waits: &[WaitFor],
    cost: DurationNs,
) -> Option<DesignedWait> {
    let first = waits.first()?;
    let place = |it: &WaitFor| (it.peer, it.work.start);
    let times = || waits.chunk_by(|a, b| place(a) == place(b));
    let wait = |it: &[WaitFor]| it.iter().map(|it| it.wait).sum::<DurationNs>();
    let costliest = times().max_by_key(|it| (wait(it), std::cmp::Reverse(it[0].work.start)))?;
    let mut starts: Vec<TimeNs> = times().map(|it| it[0].work.start).collect();
    starts.sort_unstable();
    let work = costliest[0].work;
    let path = index(first.work.path);
    let is_serial = ranks[path] <= (segments.processes.len() / SERIAL_RANKS).max(1);
    Some(DesignedWait {
        kind: if is_serial && segments.processes.len() > 1 {
            CauseKind::Serial
        } else {
            CauseKind::Imbalance
        },
        lane: costliest[0].peer,
        call: work.call,
        start: work.start,
        end: work.end,
        waits: costliest.iter().map(|it| it.operation).collect(),
        starts,
        cost,
    })
}
