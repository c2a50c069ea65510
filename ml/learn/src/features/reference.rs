//! Usual times and structures: median times per structure class, and how often a structure recurs.

use std::collections::BTreeMap;

use callgrove_model::TreeIdx;
use serde::{Deserialize, Serialize};

use super::windows::Windows;
use callgrove_trees::real::Real;
use callgrove_trees::wl::{Bag, Bags, SubtreeIdx};

/// Minimum number of clock ticks that a duration counts as, when something is compared with it.
const SHORTEST_TICKS: f64 = 20.0;

/// The usual times and structures of a forest: the time of each subtree in a tree (medians over the trees of the same
/// structure, that is, the same subtree of largest degree at the root), and how often in the run each structure
/// recurs.
///
/// A class smaller than the minimum uses the medians over all trees, and 0 for subtrees that fewer trees than the
/// minimum have: all time of such a subtree is excess. Times in nanoseconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    /// Rarity of an unknown structure.
    unseen_rarity: f64,
    /// The tick of the clock: the greatest common divisor of all times.
    tick_ns: f64,
    pooled: Medians,
    /// Classes ordered by root.
    classes: Vec<StructureClass>,
}

/// The usual time of a subtree in a tree.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UsualTime {
    /// Median of the subtree's total time in a tree; 0 for an unknown subtree.
    pub total_ns: f64,
    /// Median duration of the complete tree.
    pub tree_ns: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StructureClass {
    root: SubtreeIdx,
    num_trees: usize,
    /// Rarity less the median of all trees, and not below 0.
    rarity: f64,
    /// Medians of the class; `None` if it is too small.
    medians: Option<Medians>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Medians {
    duration_ns: f64,
    /// Usual times ordered by subtree; 0 for an unusual one.
    total_ns: Vec<(SubtreeIdx, f64)>,
}

impl Reference {
    /// Computes the usual times and structures in `bags`, whose trees are in `windows`.
    pub fn fit(bags: &Bags, windows: &Windows, min_class_size: usize) -> Self {
        let mut trees_of_root: BTreeMap<SubtreeIdx, Vec<usize>> = BTreeMap::new();
        for (tree, &root) in bags.roots().iter().enumerate() {
            trees_of_root.entry(root).or_default().push(tree);
        }
        let rarities: Vec<f64> = trees_of_root
            .values()
            .map(|trees| windows.rarity(trees))
            .collect();
        let mut of_trees: Vec<(f64, usize)> = rarities
            .iter()
            .copied()
            .zip(trees_of_root.values().map(Vec::len))
            .collect();
        of_trees.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let median_rarity = weighted_middle(&of_trees);
        let bag_of = |&tree: &usize| bags.bag(TreeIdx::from_index(tree));
        let classes = trees_of_root
            .into_iter()
            .zip(rarities)
            .map(|((root, trees), rarity)| StructureClass {
                root,
                num_trees: trees.len(),
                rarity: (rarity - median_rarity).max(0.0),
                medians: (trees.len() >= min_class_size)
                    .then(|| Medians::new(trees.iter().map(bag_of), 1)),
            })
            .collect();
        Self {
            unseen_rarity: (windows.largest_rarity() - median_rarity).max(0.0),
            tick_ns: tick(bags),
            pooled: Medians::new(bags.iter(), min_class_size.min(bags.len().div_ceil(2))),
            classes,
        }
    }

    /// Returns how much longer than usual the calls of `subtree` took in a tree with this structure, as a share of
    /// the tree's usual duration; negative for shorter. Differences within the clock's resolution count as zero: a
    /// tick for one call, with random errors added up for several. A duration of a few ticks counts as 20.
    pub fn excess(&self, root: SubtreeIdx, subtree: SubtreeIdx, total_ns: i64, count: u64) -> f64 {
        let usual = self.usual(root, subtree);
        let difference = total_ns.real() - usual.total_ns;
        let beyond = (difference.abs() - self.tick_ns * (count.real()).sqrt()).max(0.0);
        let duration = usual.tree_ns.max(SHORTEST_TICKS * self.tick_ns).max(1.0);
        beyond.copysign(difference) / duration
    }

    /// Returns the tick of the clock in nanoseconds: the greatest common divisor of all times.
    pub fn tick_ns(&self) -> f64 {
        self.tick_ns
    }

    /// Returns the share of the trees whose structure has too few trees for its own medians, 0..=1.
    pub fn varied_share(&self) -> f64 {
        let num_of = |of_varied: bool| -> usize {
            let classes = self.classes.iter();
            let wanted = classes.filter(|class| !of_varied || class.medians.is_none());
            wanted.map(|class| class.num_trees).sum()
        };
        num_of(true).real() / num_of(false).max(1).real()
    }

    /// Returns how much rarer than that of most trees a structure is, from 0 on: [`Windows::rarity`] less its median
    /// over all trees. So if every tree has its own structure, that is not rare. An unknown structure counts as one
    /// that occurred once.
    pub fn rarity(&self, root: SubtreeIdx) -> f64 {
        self.class(root)
            .map_or(self.unseen_rarity, |class| class.rarity)
    }

    /// Returns the usual time of `subtree` in a tree with this structure.
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
        let index = self.classes.binary_search_by_key(&root, |class| class.root);
        index.ok().map(|index| &self.classes[index])
    }
}

impl Medians {
    /// Computes medians. Subtrees that fewer than `min_trees` trees have get the usual time 0, as they are not usual.
    fn new<'a>(trees: impl Iterator<Item = Bag<'a>>, min_trees: usize) -> Self {
        let mut totals: BTreeMap<SubtreeIdx, Vec<i64>> = BTreeMap::new();
        let mut durations = Vec::new();
        for bag in trees {
            durations.push(bag.duration_ns);
            for (subtree, &total) in bag.subtree.iter().zip(bag.inclusive_ns) {
                totals.entry(*subtree).or_default().push(total);
            }
        }
        Self {
            duration_ns: median(durations),
            total_ns: totals
                .into_iter()
                .map(|(subtree, totals)| {
                    let is_usual = totals.len() >= min_trees;
                    (subtree, if is_usual { median(totals) } else { 0.0 })
                })
                .collect(),
        }
    }

    fn total_of(&self, subtree: SubtreeIdx) -> Option<f64> {
        let index = self
            .total_ns
            .binary_search_by_key(&subtree, |entry| entry.0);
        index.ok().map(|index| self.total_ns[index].1)
    }
}

/// Returns the weighted median of values in ascending order with their multiplicities; 0 without values.
fn weighted_middle(values: &[(f64, usize)]) -> f64 {
    let half = values.iter().map(|value| value.1).sum::<usize>() / 2;
    let mut seen = 0;
    let is_middle = |value: &&(f64, usize)| {
        seen += value.1;
        seen > half
    };
    values.iter().find(is_middle).map_or(0.0, |value| value.0)
}

/// Returns the median; the mean of the middle two of an even number; 0 without values.
fn median(mut values: Vec<i64>) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let is_even = values.len().is_multiple_of(2);
    let middle = values.len() / 2;
    let (below, &mut upper, _) = values.select_nth_unstable(middle);
    match below.iter().max() {
        Some(&lower) if is_even => 0.5 * (lower.real() + upper.real()),
        _ => upper.real(),
    }
}

/// Returns the tick of the clock: the greatest common divisor of all times of trees, nanoseconds; 0 without trees.
pub fn tick(bags: &Bags) -> f64 {
    let gcd = |a: u64, b: u64| {
        let (mut a, mut b) = (a, b);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let mut tick = 0;
    for bag in bags.iter() {
        for &total in bag.inclusive_ns {
            tick = gcd(tick, total.unsigned_abs());
            if tick == 1 {
                return 1.0;
            }
        }
    }
    tick.real()
}
