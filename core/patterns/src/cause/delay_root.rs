//! Where delays begin, while they are being followed; and lag: how far a lane is behind, and which delays that consists of.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{DurationNs, ExecIdx, LaneIdx, TimeNs};

use super::delay::CauseKind;
use super::segments::{OperationRef, PathIdx, index, number};

/// A place among the roots that are being followed.
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

/// What of a delay was on one call path.
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
    /// The call that is named: the one with most of it on the call path with most of it.
    pub(super) call: ExecIdx,
    pub(super) start: TimeNs,
    pub(super) end: TimeNs,
    /// How much longer than usual.
    pub(super) amount: DurationNs,
    /// How long it usually takes.
    pub(super) usual: DurationNs,
    /// Number of gaps that were each longer than usual.
    pub(super) num_gaps: u32,
    /// The largest of their amounts.
    pub(super) largest: DurationNs,
    /// The same by call path.
    by_path: Vec<PathPart>,
    /// The operation in which it was; `None` for own work.
    pub(super) operation: Option<OperationRef>,
    pub(super) is_written: bool,
    /// What others waited because of it, all together.
    pub(super) cost: DurationNs,
    /// The same by rank, an index into the processes.
    pub(super) victims: BTreeMap<usize, DurationNs>,
    /// The end of the last wait for it.
    pub(super) last_wait_end: TimeNs,
    /// The lanes that its operation may have waited for.
    pub(super) peers: Arc<[LaneIdx]>,
    /// Whether its operation may have waited for any lane.
    pub(super) is_for_any: bool,
    /// The same because the trace has no messages of it.
    pub(super) is_unmatched: bool,
    /// Whether an excerpt of a run shows it only by what waited for it.
    pub(super) is_unreported: bool,
    /// Whether only the order of events says that others waited for it.
    pub(super) is_unproven: bool,
    /// From here nothing happened on its lane.
    pub(super) silent_from: TimeNs,
    /// Until here it is known to have waited for others.
    pub(super) due: TimeNs,
    /// The root that it was but a part of.
    pub(super) laid_to: Option<RootIdx>,
    /// The rank that it is if it is not this one, an index into the processes.
    pub(super) next_best: Option<usize>,
    /// By how much it came before the next best.
    pub(super) margin: Option<DurationNs>,
    pub(super) kind: CauseKind,
}

impl DelayRoot {
    /// A root of own work, or in an operation, without anything that it caused yet.
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
            laid_to: None,
            next_best: None,
            margin: None,
            kind: CauseKind::Unknown,
        }
    }

    /// Own work that an excerpt of a run does not show, without its amount.
    pub(super) fn unreported(lane: LaneIdx, call: ExecIdx, start: TimeNs, end: TimeNs) -> Self {
        Self {
            is_unreported: true,
            ..Self::new(lane, call, start, end)
        }
    }

    /// Extends own work that an excerpt does not show to a wait for it; all of it counts.
    pub(super) fn cover(&mut self, start: TimeNs, end: TimeNs) {
        self.start = self.start.min(start);
        self.end = self.end.max(end);
        self.last_wait_end = self.last_wait_end.max(end);
        self.amount = self.end.since(self.start);
        (self.silent_from, self.due) = (self.start, self.start);
        self.largest = self.amount;
    }

    /// Goes on: another piece that was too long.
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
        // Of equal ones the first.
        let most = self.by_path.iter().rev().max_by_key(|it| it.amount);
        self.call = most.map_or(self.call, |it| it.call);
    }

    /// What it cost all ranks together, its own delay among it.
    pub(super) fn whole_cost(&self) -> DurationNs {
        self.cost + self.amount
    }
}

/// The root at the end of the way from each one; `None` for one that is laid to nothing, or to a circle. Cost: linear.
pub(super) fn ends_of_ways(roots: &[DelayRoot]) -> Vec<Option<RootIdx>> {
    let mut ends: Vec<Option<usize>> = vec![None; roots.len()];
    let mut is_known = vec![false; roots.len()];
    let mut way: Vec<usize> = Vec::new();
    for from in 0..roots.len() {
        let mut at = from;
        while !is_known[at] {
            is_known[at] = true;
            way.push(at);
            match roots[at].laid_to {
                Some(next) => at = next.index(),
                None => ends[at] = Some(at),
            }
        }
        // One that was known before has its end; one of this way is in a circle and has none.
        let end = ends[at];
        for it in way.drain(..) {
            ends[it] = end;
        }
    }
    let others = ends.into_iter().enumerate();
    let others = others.map(|(it, end)| end.filter(|end| *end != it));
    others.map(|end| end.map(RootIdx::from_index)).collect()
}

/// Delays that are kept apart; the ones that ended first are forgotten.
const MOST_PARTS: usize = 32;
/// A delay can make others wait for three times its amount after the last wait for it.
const ALIVE_FACTOR: i64 = 3;
/// And for this long in any case.
const ALIVE: DurationNs = DurationNs::from_us(5_000);
/// Parts below this are forgotten.
const LEAST_PART: DurationNs = DurationNs::from_us(1);

/// One delay's part of a lag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LagPart {
    pub(super) root: RootIdx,
    pub(super) amount: DurationNs,
}

/// A lag: its parts by root, ascending.
pub(super) type Lag = Vec<LagPart>;

/// A lag that is kept, by its number; see [`LagStore`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LagId(u32);

impl LagId {
    /// No lag.
    pub(super) const NONE: Self = Self(0);
    /// Not known yet.
    pub(super) const UNKNOWN: Self = Self(u32::MAX);
}

/// All lags that lanes have been in.
#[derive(Debug)]
pub(super) struct LagStore {
    parts: Vec<LagPart>,
    /// Where each lag begins, and the end.
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

    /// Keeps a lag; `like` is returned where it is the same.
    pub(super) fn keep(&mut self, lag: &[LagPart], like: LagId) -> LagId {
        if lag.is_empty() {
            return LagId::NONE;
        }
        if self.get(like) == lag {
            return like;
        }
        let id = LagId(number(self.from.len() - 1));
        self.parts.extend_from_slice(lag);
        self.from.push(self.parts.len());
        id
    }
}

/// All delays together.
pub(super) fn total(lag: &[LagPart]) -> DurationNs {
    lag.iter().map(|part| part.amount).sum()
}

/// Adds a delay. Of too many, the one that ended first is forgotten.
pub(super) fn add(lag: &mut Lag, root: RootIdx, amount: DurationNs, roots: &[DelayRoot]) {
    match lag.binary_search_by_key(&root, |part| part.root) {
        Ok(at) => lag[at].amount += amount,
        Err(at) => lag.insert(at, LagPart { root, amount }),
    }
    if lag.len() > MOST_PARTS {
        let numbered = lag.iter().enumerate();
        let first = numbered.min_by_key(|(_, part)| (roots[part.root.index()].end, part.root));
        if let Some((at, _)) = first {
            lag.remove(at);
        }
    }
}

/// Forgets the delays that can no longer make others wait at a time.
pub(super) fn keep_alive(lag: &mut Lag, time: TimeNs, roots: &[DelayRoot]) {
    lag.retain(|part| {
        let root = &roots[part.root.index()];
        let longest = DurationNs(root.amount.0.saturating_mul(ALIVE_FACTOR)) + ALIVE;
        time <= root.last_wait_end + longest
    });
}

/// Forgets the delays that were over, with all waits for them, when an operation began: an excerpt does not show how lanes
/// catch up. One that did not wait itself may hand a delay on shortly after it ended.
pub(super) fn keep_overlapping(lag: &mut Lag, start: TimeNs, is_wait: bool, roots: &[DelayRoot]) {
    lag.retain(|part| {
        let root = &roots[part.root.index()];
        let hands_on = !is_wait && start <= root.end + DurationNs(root.amount.0 / 4);
        hands_on || start <= root.last_wait_end
    });
}

/// Takes slack off a lag, from each delay in proportion.
pub(super) fn take_off(lag: &mut Lag, slack: DurationNs) {
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
    lag.retain(|part| part.amount > LEAST_PART);
}

/// `amount` × `part` / `whole`.
pub(super) fn share(amount: DurationNs, part: DurationNs, whole: DurationNs) -> DurationNs {
    let product = i128::from(amount.0) * i128::from(part.0);
    let share = product / i128::from(whole.0.max(1));
    DurationNs(i64::try_from(share).unwrap_or(i64::MAX))
}
