//! The placement of trees in a run: lane, position and time.

use std::collections::BTreeMap;

use callgrove_model::{Forest, LaneIdx, TreeIdx};
use serde::{Deserialize, Serialize};

/// A lane, identified by its numbers in every run: program, rank and thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(super) struct LaneKey(pub(super) u32, pub(super) u32, pub(super) u64);

/// The place of a tree in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TreePlace {
    /// Number of the lane, in order of program, rank and thread.
    pub lane: usize,
    /// Position among the trees of the lane, from 0 on.
    pub position: usize,
    /// Index among the trees of the rank in the complete run, as in its tree code.
    pub index: u32,
    /// Entry of the root, nanoseconds; 0 for all trees if their times are unknown.
    pub entry_ns: i64,
    /// Exit of the root, nanoseconds; 0 for all trees if their times are unknown.
    pub exit_ns: i64,
}

/// The place of each tree in a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Placement {
    /// Places, shape `[n_trees]`.
    pub places: Vec<TreePlace>,
    /// Number of trees of each lane, shape `[n_lanes]`.
    pub lane_len: Vec<usize>,
    /// Lane keys, shape `[n_lanes]`.
    pub(super) keys: Vec<LaneKey>,
    /// True if these are a part of a run whose lanes begin earlier.
    pub lacks_begin: bool,
    /// True if these are a part of a run whose lanes end later.
    pub lacks_end: bool,
}

impl Placement {
    /// Returns the placement of trees without times on ranks of one thread, each with `len` trees.
    #[cfg(test)]
    pub(super) fn of_ranks(num_ranks: u32, len: u32) -> Self {
        let number = |it: u32| usize::try_from(it).unwrap();
        let places = (0..num_ranks).flat_map(|rank| (0..len).map(move |index| (rank, index)));
        let places = places.map(|(rank, index)| TreePlace {
            lane: number(rank),
            position: number(index),
            index,
            entry_ns: 0,
            exit_ns: 0,
        });
        Self {
            places: places.collect(),
            lane_len: vec![number(len); number(num_ranks)],
            keys: (0..num_ranks).map(|rank| LaneKey(0, rank, 0)).collect(),
            ..Self::default()
        }
    }

    /// Returns the placement of the trees of a forest.
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
            lacks_begin: forest.lacks_begin(),
            lacks_end: forest.lacks_end(),
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
        // Most trees of a lane cannot run at once, so such times are unknown; weights that are not times give no
        // exits.
        if !forest.unit().is_time() || 2 * num_overlapping > forest.len() {
            for place in &mut placed.places {
                (place.entry_ns, place.exit_ns) = (0, 0);
            }
        }
        placed
    }

    /// Returns the number of lanes.
    pub fn num_lanes(&self) -> usize {
        self.lane_len.len()
    }
}
