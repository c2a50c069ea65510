//! Where in a run its trees are: lane, position and time.

use std::collections::BTreeMap;

use callgrove_model::{Forest, LaneIdx, TreeIdx};
use serde::{Deserialize, Serialize};

/// A lane by the numbers that it has in every run: program, rank and thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(super) struct LaneKey(pub(super) u32, pub(super) u32, pub(super) u64);

/// Where in a run a tree is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreePlace {
    /// Number of the lane, in order of program, rank and thread.
    pub lane: usize,
    /// Position among the trees of the lane, from 0 on.
    pub position: usize,
    /// Position among the trees of the rank in the whole run, as its name has it.
    pub index: u32,
    /// Entry of the root, nanoseconds; 0 for all trees where their times are unknown.
    pub entry_ns: i64,
    /// Exit of the root, nanoseconds; 0 for all trees where their times are unknown.
    pub exit_ns: i64,
}

/// Where in a run each of its trees is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// Shape `[n_trees]`.
    pub places: Vec<TreePlace>,
    /// Trees of each lane, shape `[n_lanes]`.
    pub lane_len: Vec<usize>,
    /// Shape `[n_lanes]`.
    pub(super) keys: Vec<LaneKey>,
}

impl Placement {
    /// Of the trees of a forest.
    pub fn of(forest: &Forest) -> Self {
        let mut trees_of: BTreeMap<LaneIdx, Vec<usize>> = BTreeMap::new();
        for (tree, found) in forest.trees().iter().enumerate() {
            trees_of.entry(found.root.lane).or_default().push(tree);
        }
        let mut lanes: Vec<(LaneKey, Vec<usize>)> = trees_of
            .into_values()
            .map(|trees| {
                let lane = forest.lane_of(TreeIdx::from_index(trees[0]));
                (
                    LaneKey(lane.program.0, lane.rank.0, lane.thread.0.into()),
                    trees,
                )
            })
            .collect();
        lanes.sort_by_key(|lane| lane.0);
        let mut placed = Self {
            places: vec![
                TreePlace {
                    lane: 0,
                    position: 0,
                    index: 0,
                    entry_ns: 0,
                    exit_ns: 0
                };
                forest.len()
            ],
            ..Self::default()
        };
        let mut num_overlapping = 0;
        for (number, (key, mut trees)) in lanes.into_iter().enumerate() {
            trees.sort_by_key(|&tree| forest.tree(TreeIdx::from_index(tree)).entry()[0]);
            for (position, &tree) in trees.iter().enumerate() {
                let grown = forest.tree(TreeIdx::from_index(tree));
                placed.places[tree] = TreePlace {
                    lane: number,
                    position,
                    index: forest.trees()[tree].code.index,
                    entry_ns: grown.entry()[0].0,
                    exit_ns: grown.exit().0,
                };
            }
            let pairs = trees
                .windows(2)
                .map(|pair| [pair[0], pair[1]].map(|it| placed.places[it]));
            num_overlapping += pairs.filter(|[a, b]| b.entry_ns < a.exit_ns).count();
            placed.keys.push(key);
            placed.lane_len.push(trees.len());
        }
        // Most trees of a lane cannot run at once, and a weight that is no time says nothing of an exit.
        if !forest.unit().is_time() || 2 * num_overlapping > forest.len() {
            for place in &mut placed.places {
                (place.entry_ns, place.exit_ns) = (0, 0);
            }
        }
        placed
    }

    /// Number of lanes.
    pub fn num_lanes(&self) -> usize {
        self.lane_len.len()
    }
}
