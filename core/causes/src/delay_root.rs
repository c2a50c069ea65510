//! Roots of delays while they are followed, and lag: the delays by which a lane is behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{DurationNs, ExecIdx, LaneIdx, TimeNs};
use callgrove_segments::{OperationRef, PathIdx, index, number};

use super::outcome::CauseKind;

/// Index of a root among those that are followed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct RootIdx(u32);

impl RootIdx {
    pub(super) fn from_index(index: usize) -> Self {
        Self(number(index))
    }

    pub(super) fn index(self) -> usize {
        index(self.0)
    }
}

/// The part of a delay on one call path.
#[derive(Clone, Copy, Debug)]
struct PathPart {
    path: PathIdx,
    amount: DurationNs,
    largest: DurationNs,
    call: ExecIdx,
}

/// Own work, or a call of the library, that took longer than usual. Times are on the common clock.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are facts that do not depend on each other"
)]
pub(super) struct DelayRoot {
    pub(super) lane: LaneIdx,
    /// The named call: the one with most of the delay on the call path with most of it.
    pub(super) call: ExecIdx,
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
    /// Excess over the usual duration.
    pub(super) amount: DurationNs,
    /// The usual duration.
    pub(super) usual: DurationNs,
    /// Number of gaps that were each longer than usual.
    pub(super) num_gaps: u32,
    /// The largest excess of a gap.
    pub(super) largest: DurationNs,
    /// The excess by call path.
    by_path: Vec<PathPart>,
    /// The operation with the delay; `None` for own work.
    pub(super) operation: Option<OperationRef>,
    pub(super) is_written: bool,
    /// True if it is at places that its lane visits so rarely that their usual duration is that of other lanes.
    pub(super) is_set_up: bool,
    /// True if all of it is own work that varies by design where it is done.
    pub(super) is_by_design: bool,
    /// Total time that others waited because of it.
    pub(super) cost: DurationNs,
    /// That time by rank, an index into the processes.
    pub(super) victims: BTreeMap<usize, DurationNs>,
    /// The end of the last wait for it.
    pub(super) last_wait_end: TimeNs,
    /// The lanes that its operation may have waited for.
    pub(super) peers: Arc<[LaneIdx]>,
    /// True if its operation may have waited for any lane.
    pub(super) is_for_any: bool,
    /// True if its operation may have waited for any lane because the trace has no messages of it.
    pub(super) is_unmatched: bool,
    /// True if an excerpt of a run shows the root only by the waits for it.
    pub(super) is_unreported: bool,
    /// True if only the order of events indicates that others waited for it.
    pub(super) is_unproven: bool,
    /// Start of the time without events on its lane.
    pub(super) silent_from: TimeNs,
    /// Time until which it is known to have waited for others.
    pub(super) due: TimeNs,
    /// The root of which it was only a part.
    pub(super) attributed_to: Option<RootIdx>,
    /// The second most likely rank, as an index into the processes.
    pub(super) next_best: Option<usize>,
    /// Lead of this root over the second most likely one.
    pub(super) margin: Option<DurationNs>,
    pub(super) kind: CauseKind,
    /// Maximum confidence in its rank, in percent, given the other delays of the run.
    pub(super) max_percent: u8,
    /// The rank, as an index into the processes, of which a message may have been late in the network instead.
    pub(super) late_sender: Option<usize>,
}

impl DelayRoot {
    /// Returns a root of own work, or in an operation, that has caused nothing yet.
    pub(super) fn new(lane: LaneIdx, call: ExecIdx, start: TimeNs, end: TimeNs) -> Self {
        Self {
            lane,
            call,
            start,
            end,
            amount: DurationNs::ZERO,
            usual: DurationNs::ZERO,
            num_gaps: 0,
            largest: DurationNs::ZERO,
            by_path: Vec::new(),
            operation: None,
            is_written: false,
            is_set_up: false,
            is_by_design: false,
            cost: DurationNs::ZERO,
            victims: BTreeMap::new(),
            last_wait_end: end,
            peers: Arc::default(),
            is_for_any: false,
            is_unmatched: false,
            is_unreported: false,
            is_unproven: false,
            silent_from: start,
            due: start,
            attributed_to: None,
            next_best: None,
            margin: None,
            kind: CauseKind::Unknown,
            max_percent: 100,
            late_sender: None,
        }
    }

    /// Returns a root of own work that an excerpt of a run does not show, without its amount.
    pub(super) fn unreported(lane: LaneIdx, call: ExecIdx, start: TimeNs, end: TimeNs) -> Self {
        Self {
            is_unreported: true,
            ..Self::new(lane, call, start, end)
        }
    }

    /// Extends own work that an excerpt does not show over a wait for it; all of that time counts.
    pub(super) fn cover(&mut self, start: TimeNs, end: TimeNs) {
        self.start = self.start.min(start);
        self.end = self.end.max(end);
        self.last_wait_end = self.last_wait_end.max(end);
        self.amount = self.end.since(self.start);
        (self.silent_from, self.due) = (self.start, self.start);
        self.largest = self.amount;
    }

    /// Adds another section that took too long.
    pub(super) fn extend(
        &mut self,
        path: PathIdx,
        call: ExecIdx,
        end: TimeNs,
        usual: DurationNs,
        amount: DurationNs,
    ) {
        self.end = self.end.max(end);
        self.last_wait_end = self.last_wait_end.max(end);
        self.num_gaps = self.num_gaps.saturating_add(1);
        self.usual += usual;
        self.amount += amount;
        self.largest = self.largest.max(amount);
        let known = self.by_path.iter().position(|it| it.path == path);
        let at = known.unwrap_or(self.by_path.len());
        if known.is_none() {
            self.by_path.push(PathPart {
                path,
                amount: DurationNs::ZERO,
                largest: DurationNs::ZERO,
                call,
            });
        }
        let part = &mut self.by_path[at];
        part.amount += amount;
        if amount > part.largest {
            (part.largest, part.call) = (amount, call);
        }
        // Among equal ones the first.
        let most = self.by_path.iter().rev().max_by_key(|it| it.amount);
        self.call = most.map_or(self.call, |it| it.call);
    }

    /// Returns its cost to all ranks, including its own delay.
    pub(super) fn total_cost(&self) -> DurationNs {
        self.cost + self.amount
    }
}

/// Returns the final root of each root; `None` for one that is not attributed to another, or that leads to a cycle.
/// Cost: linear.
pub(super) fn final_roots(roots: &[DelayRoot]) -> Vec<Option<RootIdx>> {
    let mut ends: Vec<Option<usize>> = vec![None; roots.len()];
    let mut is_known = vec![false; roots.len()];
    let mut way: Vec<usize> = Vec::new();
    for from in 0..roots.len() {
        let mut at = from;
        while !is_known[at] {
            is_known[at] = true;
            way.push(at);
            match roots[at].attributed_to {
                Some(next) => at = next.index(),
                None => ends[at] = Some(at),
            }
        }
        // A root of an earlier path has its final root; one of this path is in a cycle and has none.
        let end = ends[at];
        for it in way.drain(..) {
            ends[it] = end;
        }
    }
    let others = ends.into_iter().enumerate();
    let others = others.map(|(it, end)| end.filter(|end| *end != it));
    others.map(|end| end.map(RootIdx::from_index)).collect()
}

/// Maximum number of delays that are kept separately; the ones that ended first are dropped.
const MAX_PARTS: usize = 32;
/// Multiple of its amount for which a delay can make others wait after the last wait for it.
const ALIVE_FACTOR: i64 = 3;
/// Minimum time for which a delay can make others wait after the last wait for it.
const ALIVE: DurationNs = DurationNs::from_us(5_000);
/// Minimum part that is kept.
const MIN_PART: DurationNs = DurationNs::from_us(1);

/// One delay's part of a lag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LagPart {
    pub(super) root: RootIdx,
    pub(super) amount: DurationNs,
}

/// A lag: its parts by root, ascending.
pub(super) type Lag = Vec<LagPart>;

/// The number of a stored lag; see [`LagStore`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LagId(u32);

impl LagId {
    /// The number of the empty lag.
    pub(super) const NONE: Self = Self(0);
    /// The number of a lag that is not known yet.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);
}

/// All lags of all lanes.
#[derive(Debug)]
pub(super) struct LagStore {
    parts: Vec<LagPart>,
    /// Start of each lag in `parts`, and the end.
    from: Vec<usize>,
}

impl LagStore {
    pub(super) fn new() -> Self {
        Self {
            parts: Vec::new(),
            from: vec![0, 0],
        }
    }

    pub(super) fn get(&self, id: LagId) -> &[LagPart] {
        let at = index(id.0);
        match (self.from.get(at), self.from.get(at + 1)) {
            (Some(&from), Some(&to)) => &self.parts[from..to],
            _ => &[],
        }
    }

    /// Stores a lag; returns `previous` if that lag is equal.
    pub(super) fn keep(&mut self, lag: &[LagPart], previous: LagId) -> LagId {
        if lag.is_empty() {
            return LagId::NONE;
        }
        if self.get(previous) == lag {
            return previous;
        }
        let id = LagId(number(self.from.len() - 1));
        self.parts.extend_from_slice(lag);
        self.from.push(self.parts.len());
        id
    }
}

/// Returns the sum of all delays.
pub(super) fn total(lag: &[LagPart]) -> DurationNs {
    lag.iter().map(|part| part.amount).sum()
}

/// Adds a delay. If there are too many, the one that ended first is dropped.
pub(super) fn add(lag: &mut Lag, root: RootIdx, amount: DurationNs, roots: &[DelayRoot]) {
    match lag.binary_search_by_key(&root, |part| part.root) {
        Ok(at) => lag[at].amount += amount,
        Err(at) => lag.insert(at, LagPart { root, amount }),
    }
    if lag.len() > MAX_PARTS {
        let numbered = lag.iter().enumerate();
        let first = numbered.min_by_key(|(_, part)| (roots[part.root.index()].end, part.root));
        if let Some((at, _)) = first {
            lag.remove(at);
        }
    }
}

/// Drops the delays that can no longer make others wait at a time.
pub(super) fn keep_alive(lag: &mut Lag, time: TimeNs, roots: &[DelayRoot]) {
    lag.retain(|part| {
        let root = &roots[part.root.index()];
        let longest = DurationNs(root.amount.0.saturating_mul(ALIVE_FACTOR)) + ALIVE;
        time <= root.last_wait_end + longest
    });
}

/// Drops the delays that were over, with all waits for them, when an operation began: an excerpt does not show how
/// lanes catch up. A delay of an operation that did not wait itself may be handed on shortly after it ended.
pub(super) fn keep_overlapping(lag: &mut Lag, start: TimeNs, is_wait: bool, roots: &[DelayRoot]) {
    lag.retain(|part| {
        let root = &roots[part.root.index()];
        let hands_on = !is_wait && start <= root.end + DurationNs(root.amount.0 / 4);
        hands_on || start <= root.last_wait_end
    });
}

/// Subtracts slack from a lag, from each delay in proportion.
pub(super) fn subtract_slack(lag: &mut Lag, slack: DurationNs) {
    if slack <= DurationNs::ZERO {
        return;
    }
    let whole = total(lag);
    if slack >= whole {
        lag.clear();
        return;
    }
    for part in lag.iter_mut() {
        part.amount = share(part.amount, whole - slack, whole);
    }
    lag.retain(|part| part.amount > MIN_PART);
}

/// Returns `amount` × `part` / `whole`.
pub(super) fn share(amount: DurationNs, part: DurationNs, whole: DurationNs) -> DurationNs {
    let product = i128::from(amount.0) * i128::from(part.0);
    let share = product / i128::from(whole.0.max(1));
    DurationNs(i64::try_from(share).unwrap_or(i64::MAX))
}
