//! When in the run a tree happened: windows of time, and how rare in them a structure is.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{Forest, LaneIdx};

/// Where each tree stands in the run: every lane (program, rank, thread) cut into windows that hold
/// equally many of its trees, in order of entry.
///
/// Counting windows instead of trees tells what comes back by design (set-up, output every hundred
/// steps) from what happened in one stretch only, however many trees that has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Windows {
    /// Shape `[n_trees]`.
    lane: Vec<u32>,
    /// Window in the lane, shape `[n_trees]`.
    window: Vec<u32>,
    /// Windows of each lane, shape `[n_lanes]`.
    of_lane: Vec<u32>,
}

impl Windows {
    /// Cuts every lane of `forest` into `per_lane` windows; a lane with fewer trees has one for each.
    pub fn new(forest: &Forest, per_lane: u32) -> Self {
        let mut trees_of_lane: BTreeMap<LaneIdx, Vec<usize>> = BTreeMap::new();
        for (tree, place) in forest.trees().iter().enumerate() {
            trees_of_lane.entry(place.root.lane).or_default().push(tree);
        }
        let mut built = Self {
            lane: vec![0; forest.len()],
            window: vec![0; forest.len()],
            of_lane: Vec::with_capacity(trees_of_lane.len()),
        };
        for (lane, trees) in trees_of_lane.into_values().enumerate() {
            let num_windows = trees.len().min(per_lane.max(1) as usize);
            for (place, &tree) in trees.iter().enumerate() {
                built.lane[tree] = lane as u32;
                built.window[tree] = (place * num_windows / trees.len()) as u32;
            }
            built.of_lane.push(num_windows as u32);
        }
        built
    }

    /// How rare what these trees have in common is: ln(windows of the lanes that have it / windows
    /// that have it), from 0 on. What a single rank does all the time is not rare.
    pub fn rarity(&self, trees: &[usize]) -> f64 {
        let places: BTreeSet<(u32, u32)> = trees
            .iter()
            .map(|&tree| (self.lane[tree], self.window[tree]))
            .collect();
        let lanes: BTreeSet<u32> = places.iter().map(|place| place.0).collect();
        let of_lanes: u32 = lanes.iter().map(|&lane| self.of_lane[lane as usize]).sum();
        if places.is_empty() {
            return 0.0;
        }
        (f64::from(of_lanes) / places.len() as f64).ln()
    }

    /// The rarity of what happened once, in the lane with most windows.
    pub fn largest_rarity(&self) -> f64 {
        let most = self.of_lane.iter().max();
        most.map_or(0.0, |&windows| f64::from(windows).ln())
    }
}
