//! The times of a tree, and those of a part in several trees.

use super::placement::{LaneKey, TreePlace};
use callgrove_trees::real::Real;
use callgrove_trees::wl::Bag;

/// The times of a tree with the clock's rounding undone, nanoseconds.
pub(super) struct TreeTimes {
    pub(super) whole: f64,
    /// In the order of the subtrees of the bag.
    pub(super) parts: Vec<f64>,
}

impl TreeTimes {
    /// Returns the times, with the rounding of a coarse clock undone by a fixed low-discrepancy sequence, so that
    /// ties make no steps in the tail. `spread_ns` is the range by which times are spread, 0 if the clock is fine.
    pub(super) fn of(bag: &Bag<'_>, key: LaneKey, place: TreePlace, spread_ns: f64) -> Self {
        let whole = bag.duration_ns.real();
        let parts = bag.inclusive_ns.iter().map(|time| time.real());
        if spread_ns == 0.0 {
            return Self {
                whole,
                parts: parts.collect(),
            };
        }
        let LaneKey(program, rank, thread) = key;
        let start = f64::from(place.index) * 0.618_033_988_749_894_9
            + f64::from(rank) * 0.754_877_666_246_692_7
            + thread.real() * 0.569_840_290_998_053_3
            + f64::from(program) * 0.324_717_957_244_746;
        let spread = |step: f64| spread_ns * (2.0 * step.fract() - 1.0);
        let whole = (whole + spread(start)).max(0.0);
        if let [_] = bag.subtree {
            return Self {
                whole,
                parts: vec![whole],
            };
        }
        let parts = parts.enumerate();
        let step = |at: usize| start + (at + 1).real() * 0.754_877_666_246_692_7;
        Self {
            whole,
            parts: parts.map(|(at, time)| time + spread(step(at))).collect(),
        }
    }
}

/// The times of one subtree in the trees of a class that have it.
pub(super) struct PartTimes {
    pub(super) count: u64,
    pub(super) times: Vec<f64>,
    pub(super) cell_of: Vec<usize>,
    pub(super) index: Vec<u32>,
}

impl PartTimes {
    pub(super) fn new(count: u64) -> Self {
        Self {
            count,
            times: Vec::new(),
            cell_of: Vec::new(),
            index: Vec::new(),
        }
    }
}
