//! Lag: how far a lane is behind, and which delays that consists of.

use callgrove_model::{DurationNs, FuncId, TimeNs};

use super::delay_root::{DelayRoot, RootIdx};

/// Delays that are kept apart; the ones that ended first are forgotten.
const MOST_PARTS: usize = 32;
/// A delay can make others wait for so many times its amount after the last wait for it.
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
        let at = FuncId(id.0).index();
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
        let id = LagId(u32::try_from(self.from.len() - 1).unwrap_or(u32::MAX - 1));
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

/// Forgets the delays that can make nobody wait any more at a time.
pub(super) fn keep_alive(lag: &mut Lag, time: TimeNs, roots: &[DelayRoot]) {
    lag.retain(|part| {
        let root = &roots[part.root.index()];
        let longest = DurationNs(root.amount.0.saturating_mul(ALIVE_FACTOR)) + ALIVE;
        time <= root.last_wait_end + longest
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
