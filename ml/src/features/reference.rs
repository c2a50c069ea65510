//! Usual times: medians per structure class.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::wl::{Bag, Bags, SubtreeIdx};

/// How long each subtree usually takes in a tree: medians over the trees of the same structure (the
/// same subtree of largest degree at the root) that have it.
///
/// A class smaller than the minimum takes the medians over all trees. Times in nanoseconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceTimes {
    num_trees: usize,
    /// ln(trees / trees of the same structure) of the tree in the middle.
    median_rarity: f64,
    pooled: Medians,
    /// Ordered by root.
    classes: Vec<StructureClass>,
}

/// The usual time of a subtree in a tree.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UsualTime {
    /// Median of the subtree's total time in a tree; 0 for a subtree never seen.
    pub total_ns: f64,
    /// Median duration of the whole tree.
    pub tree_ns: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StructureClass {
    root: SubtreeIdx,
    num_trees: usize,
    /// `None` if the class is too small.
    medians: Option<Medians>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Medians {
    duration_ns: f64,
    /// Ordered by subtree.
    total_ns: Vec<(SubtreeIdx, f64)>,
}

impl ReferenceTimes {
    /// Medians of `bags`.
    pub fn fit(bags: &Bags, min_class_size: usize) -> Self {
        let mut trees_of_root: BTreeMap<SubtreeIdx, Vec<Bag<'_>>> = BTreeMap::new();
        for bag in bags.iter() {
            trees_of_root.entry(bag.root).or_default().push(bag);
        }
        let mut class_sizes: Vec<usize> = trees_of_root
            .values()
            .flat_map(|trees| std::iter::repeat_n(trees.len(), trees.len()))
            .collect();
        class_sizes.sort_unstable();
        let middle = class_sizes.get(bags.len() / 2).copied().unwrap_or(1);
        let classes = trees_of_root
            .into_iter()
            .map(|(root, trees)| StructureClass {
                root,
                num_trees: trees.len(),
                medians: (trees.len() >= min_class_size).then(|| Medians::new(&trees)),
            })
            .collect();
        Self {
            num_trees: bags.len(),
            median_rarity: rarity(bags.len(), middle),
            pooled: Medians::new(&bags.iter().collect::<Vec<_>>()),
            classes,
        }
    }

    /// How much rarer than that of most trees a structure is, from 0 on: ln(number of trees / trees of
    /// this structure), less its median over all trees. So where every tree has a structure of its own,
    /// that is nothing special. A structure never seen counts as seen once.
    pub fn rarity(&self, root: SubtreeIdx) -> f64 {
        let num_like = self.num_trees_like(root).max(1);
        (rarity(self.num_trees, num_like) - self.median_rarity).max(0.0)
    }

    /// Number of trees with this structure; 0 for one never seen.
    pub fn num_trees_like(&self, root: SubtreeIdx) -> usize {
        self.class(root).map_or(0, |class| class.num_trees)
    }

    /// The usual time of `subtree` in a tree with this structure.
    pub fn usual(&self, root: SubtreeIdx, subtree: SubtreeIdx) -> UsualTime {
        let own = self.class(root).and_then(|class| class.medians.as_ref());
        let total_ns = own
            .and_then(|medians| medians.total_of(subtree))
            .or_else(|| self.pooled.total_of(subtree));
        UsualTime {
            total_ns: total_ns.unwrap_or(0.0),
            tree_ns: own.unwrap_or(&self.pooled).duration_ns,
        }
    }

    fn class(&self, root: SubtreeIdx) -> Option<&StructureClass> {
        let place = self.classes.binary_search_by_key(&root, |class| class.root);
        place.ok().map(|place| &self.classes[place])
    }
}

impl Medians {
    fn new(trees: &[Bag<'_>]) -> Self {
        let mut totals: BTreeMap<SubtreeIdx, Vec<i64>> = BTreeMap::new();
        for bag in trees {
            for (subtree, &total) in bag.subtree.iter().zip(bag.inclusive_ns) {
                totals.entry(*subtree).or_default().push(total);
            }
        }
        Self {
            duration_ns: median(trees.iter().map(|bag| bag.duration_ns).collect()),
            total_ns: totals
                .into_iter()
                .map(|(subtree, totals)| (subtree, median(totals)))
                .collect(),
        }
    }

    fn total_of(&self, subtree: SubtreeIdx) -> Option<f64> {
        let place = self
            .total_ns
            .binary_search_by_key(&subtree, |entry| entry.0);
        place.ok().map(|place| self.total_ns[place].1)
    }
}

fn rarity(num_trees: usize, num_like: usize) -> f64 {
    (num_trees.max(1) as f64 / num_like as f64).ln()
}

/// Median; the mean of the middle two of an even number; 0 of none.
fn median(mut values: Vec<i64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let is_even = values.len().is_multiple_of(2);
    let middle = values.len() / 2;
    let (below, &mut upper, _) = values.select_nth_unstable(middle);
    match below.iter().max() {
        Some(&lower) if is_even => 0.5 * (lower as f64 + upper as f64),
        _ => upper as f64,
    }
}
