//! What every rank does once: set-up, and the end. There a rank cannot be compared with itself, but with the others.

use std::collections::BTreeMap;

use callgrove_model::{DurationNs, Executions, FuncId, Trace};

/// Fewer lanes than this do not say what is usual.
const LEAST_LANES: usize = 3;
/// Up to so many times the median of all lanes is usual.
const USUAL_FACTOR: i64 = 2;

/// A place in a function that is called once on a lane: which gap of the call it is.
pub(super) type OncePlace = (FuncId, u32);

/// How long lanes stall where they are once.
pub(super) struct SetUp {
    usual: BTreeMap<OncePlace, DurationNs>,
}

impl SetUp {
    /// From the stalls at such places, in any order. Cost: linear in executions, n log n in stalls.
    pub(super) fn new(
        trace: &Trace,
        stalls: impl Iterator<Item = (OncePlace, DurationNs)>,
    ) -> Self {
        let mut by_place: BTreeMap<OncePlace, Vec<DurationNs>> = BTreeMap::new();
        for (place, length) in stalls {
            by_place.entry(place).or_default().push(length);
        }
        let mut num_lanes: BTreeMap<FuncId, usize> = BTreeMap::new();
        for lane in &trace.lanes {
            for func in once(&lane.executions) {
                *num_lanes.entry(func).or_default() += 1;
            }
        }
        let median = |((func, place), mut lengths): (OncePlace, Vec<DurationNs>)| {
            let num_lanes = num_lanes.get(&func).copied().unwrap_or(0);
            if num_lanes < LEAST_LANES {
                return None;
            }
            // Lanes that do not stall there come last.
            lengths.sort_unstable_by(|a, b| b.cmp(a));
            Some(((func, place), *lengths.get(num_lanes / 2)?))
        };
        Self {
            usual: by_place.into_iter().filter_map(median).collect(),
        }
    }

    /// Whether most lanes stall about as long at that place.
    pub(super) fn is_usual(&self, place: OncePlace, length: DurationNs) -> bool {
        let usual = self.usual.get(&place);
        usual.is_some_and(|usual| length.0 <= usual.0.saturating_mul(USUAL_FACTOR))
    }
}

/// The functions that are called just once on a lane, ascending.
pub(super) fn once(executions: &Executions) -> Vec<FuncId> {
    let mut counts: Vec<u32> = Vec::new();
    for func in &executions.func {
        if func.index() >= counts.len() {
            counts.resize(func.index() + 1, 0);
        }
        counts[func.index()] = counts[func.index()].saturating_add(1);
    }
    let numbered = counts.iter().enumerate();
    numbered
        .filter(|&(_, &count)| count == 1)
        .map(|(index, _)| FuncId::from_index(index))
        .collect()
}
