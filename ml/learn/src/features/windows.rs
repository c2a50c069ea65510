//! Windows of time in a run, and the rarity of a structure in them.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{Forest, LaneIdx};
use callgrove_trees::real::Real;

/// The position of each tree in the run: every lane (program, rank, thread) is divided into windows with equal
/// numbers of its trees, in order of entry.
///
/// Counting windows instead of trees distinguishes structures that recur by design (output every hundred steps) from
/// those of one time range only, however many trees that has. The structures with which a run begins on most of its
/// lanes (set-up, warm-up) are by design, too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Lane of each tree, shape `[n_trees]`.
    lane: Vec<u32>,
    /// Window in the lane, shape `[n_trees]`.
    window: Vec<u32>,
    /// Number of windows of each lane, shape `[n_lanes]`.
    of_lane: Vec<u32>,
    /// True for the first executions on a rank, shape `[n_trees]`.
    is_first: Vec<bool>,
}

/// Number of executions of the beginning of a rank.
const NUM_FIRST: u32 = 2;
/// Minimum share of the lanes that begin with a structure that is by design.
const MIN_LANE_SHARE: f64 = 2.0 / 3.0;
/// Maximum share of a lane's windows that consecutive ones have to count as one: an anomaly may last for a third of
/// the run. From twice that on they count in full.
const MAX_JOINED_SHARE: f64 = 1.0 / 3.0;

impl Windows {
    /// Divides every lane of `forest` into `per_lane` windows; a lane with fewer trees has one for each.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a lane has at most `per_lane` windows"
    )]
    pub fn new(forest: &Forest, per_lane: u32) -> Self {
        let mut trees_of_lane: BTreeMap<LaneIdx, Vec<usize>> = BTreeMap::new();
        for (tree, place) in forest.trees().iter().enumerate() {
            trees_of_lane.entry(place.root.lane).or_default().push(tree);
        }
        let mut built = Self {
            lane: vec![0; forest.len()],
            window: vec![0; forest.len()],
            of_lane: Vec::with_capacity(trees_of_lane.len()),
            is_first: forest
                .trees()
                .iter()
                .map(|tree| tree.code.index < NUM_FIRST)
                .collect(),
        };
        for (lane, trees) in (0..).zip(trees_of_lane.into_values()) {
            let num_windows = trees.len().min(per_lane.max(1) as usize);
            for (place, &tree) in trees.iter().enumerate() {
                built.lane[tree] = lane;
                built.window[tree] = (place * num_windows / trees.len()) as u32;
            }
            built.of_lane.push(num_windows as u32);
        }
        built
    }

    /// Returns the rarity of what these trees have in common: ln(windows of the lanes that have it / windows that
    /// have it), from 0 on. A structure that a single rank has all the time is not rare, nor is one that most lanes
    /// begin with. Consecutive windows count as one, so that an anomaly that lasts long, but not for most of the run,
    /// does not become usual.
    pub fn rarity(&self, trees: &[usize]) -> f64 {
        if self.is_beginning(trees) {
            return 0.0;
        }
        let places: BTreeSet<(u32, u32)> = trees
            .iter()
            .map(|&tree| (self.lane[tree], self.window[tree]))
            .collect();
        let places: Vec<(u32, u32)> = places.into_iter().collect();
        let (mut all, mut found) = (0.0, 0.0);
        for lane in places.chunk_by(|a, b| a.0 == b.0) {
            let num_windows = f64::from(self.of_lane[lane[0].0 as usize]);
            let num_runs = lane.chunk_by(|a, b| a.1 + 1 == b.1).count().real();
            let num_found = lane.len().real();
            let share = num_found / num_windows;
            let in_full = ((share - MAX_JOINED_SHARE) / MAX_JOINED_SHARE).clamp(0.0, 1.0);
            all += num_windows;
            found += num_runs.powf(1.0 - in_full) * num_found.powf(in_full);
        }
        if found > 0.0 { (all / found).ln() } else { 0.0 }
    }

    /// Returns whether most lanes begin with one of these trees.
    fn is_beginning(&self, trees: &[usize]) -> bool {
        let begun: BTreeSet<u32> = trees
            .iter()
            .filter(|&&tree| self.is_first[tree])
            .map(|&tree| self.lane[tree])
            .collect();
        begun.len().real() > MIN_LANE_SHARE * self.of_lane.len().real()
    }

    /// Returns the rarity of a structure that occurred once, in the lane with the most windows.
    pub fn largest_rarity(&self) -> f64 {
        let most = self.of_lane.iter().max();
        most.map_or(0.0, |&windows| f64::from(windows).ln())
    }
}
