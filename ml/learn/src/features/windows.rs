//! When in the run a tree happened: windows of time, and how rare in them a structure is.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{Forest, LaneIdx};
use callgrove_trees::real::Real;

/// Where each tree stands in the run: every lane (program, rank, thread) cut into windows that hold
/// equally many of its trees, in order of entry.
///
/// Counting windows instead of trees tells what comes back by design (output every hundred steps) from
/// what happened in one stretch only, however many trees that has. What a run begins with on most of
/// its lanes (set-up, warm-up) is there by design, too.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Shape `[n_trees]`.
    lane: Vec<u32>,
    /// Window in the lane, shape `[n_trees]`.
    window: Vec<u32>,
    /// Windows of each lane, shape `[n_lanes]`.
    of_lane: Vec<u32>,
    /// Whether it is one of the first executions on its rank, shape `[n_trees]`.
    is_first: Vec<bool>,
}

/// Executions that a rank begins with.
const NUM_FIRST: u32 = 2;
/// Share of the lanes that must begin with a structure, so that it is there by design.
const MOST_LANES: f64 = 2.0 / 3.0;
/// Share of a lane's windows up to which a stretch of them counts as one: what is wrong may last for a
/// third of the run. From twice that on it counts in full.
const LONGEST_STRETCH: f64 = 1.0 / 3.0;

impl Windows {
    /// Cuts every lane of `forest` into `per_lane` windows; a lane with fewer trees has one for each.
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

    /// How rare what these trees have in common is: ln(windows of the lanes that have it / windows
    /// that have it), from 0 on. What a single rank does all the time is not rare, nor what most lanes
    /// begin with. A stretch of windows one after the other counts as one window, so that what lasts
    /// long, but not for most of the run, does not become usual by that.
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
            let num_stretches = lane.chunk_by(|a, b| a.1 + 1 == b.1).count().real();
            let num_found = lane.len().real();
            let share = num_found / num_windows;
            let in_full = ((share - LONGEST_STRETCH) / LONGEST_STRETCH).clamp(0.0, 1.0);
            all += num_windows;
            found += num_stretches.powf(1.0 - in_full) * num_found.powf(in_full);
        }
        if found > 0.0 { (all / found).ln() } else { 0.0 }
    }

    /// Whether most lanes begin with one of these trees.
    fn is_beginning(&self, trees: &[usize]) -> bool {
        let begun: BTreeSet<u32> = trees
            .iter()
            .filter(|&&tree| self.is_first[tree])
            .map(|&tree| self.lane[tree])
            .collect();
        begun.len().real() > MOST_LANES * self.of_lane.len().real()
    }

    /// The rarity of what happened once, in the lane with most windows.
    pub fn largest_rarity(&self) -> f64 {
        let most = self.of_lane.iter().max();
        most.map_or(0.0, |&windows| f64::from(windows).ln())
    }
}
