//! Which structures a run has by design, and how rare the others are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::placement::Placement;
use crate::real::Real;
use crate::wl::SubtreeIdx;

/// Share of the trees, and trees, from which on a structure is common.
const COMMON_SHARE: f64 = 0.02;
const COMMON_TREES: f64 = 8.0;
/// Positions at either end of a lane in which set-up and end are.
const NUM_ENDS: u32 = 2;
/// Share of the lanes that do the same at once where it is by design.
const MOST_LANES: f64 = 0.5;
/// Lanes that are enough to say so.
const MIN_LANES: usize = 3;
/// Separate stretches of what recurs on most lanes.
const MIN_STRETCHES: usize = 4;
/// Stretches of what recurs on one lane at equal distances.
const MIN_REGULAR: usize = 3;
/// Largest standard deviation of equal distances, in means.
const REGULAR: f64 = 0.1;
/// Share of the run that recurring structures span.
const SPANNED: f64 = 0.5;
/// Excess that the first or last executions of most lanes have by design.
const LATE_START: f64 = 0.1;

/// What the structure of a tree is in its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StructureKind {
    /// Many trees have it.
    Common,
    /// Most lanes begin or end with a structure that is not common.
    Ends,
    /// Most lanes have it at once, again and again.
    Recurring,
    /// A lane has it at equal distances of so many trees.
    Every(u32),
    /// None of these: the fewer there are, the rarer.
    Odd,
}

/// The structures of the trees of a run; all have shape `[n_trees]`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Structures {
    /// What each is.
    pub kinds: Vec<StructureKind>,
    /// ln of the share of trees whose structures are odd and as rare or rarer, 0 for those that are not odd.
    pub ln_p: Vec<f64>,
    /// Whether a tree is one of the first or last, which take longer on most lanes.
    pub is_late_end: Vec<bool>,
}

/// What a model knows of structures.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownStructures {
    /// Structures that are odd in the training, each with the ln of its p-value; ordered.
    odd: Vec<(SubtreeIdx, f64)>,
    /// The same of a structure that the training lacks: rarer than all.
    unknown_ln_p: f64,
}

impl Structures {
    /// Of trees with these roots and excesses of the whole, in usual durations.
    ///
    /// The p-value of an odd structure is a count: W / (n + 1), with W the odd events of the run. Trees of one
    /// structure that follow each other on a lane are one event, and so are such stretches that most lanes
    /// have at once. So a run in which odd structures are many says little by one of them. `is_known` says which structures
    /// a reference has that are not odd there; these are not odd here.
    pub fn of(
        roots: &[SubtreeIdx],
        placement: &Placement,
        whole_shares: &[f64],
        is_known: impl Fn(SubtreeIdx) -> bool,
    ) -> Self {
        let mut trees_of: BTreeMap<SubtreeIdx, Vec<usize>> = BTreeMap::new();
        for (tree, &root) in roots.iter().enumerate() {
            trees_of.entry(root).or_default().push(tree);
        }
        let least = (COMMON_SHARE * roots.len().real()).max(COMMON_TREES);
        let lanes = Lanes::new(placement);
        let mut kinds = vec![StructureKind::Common; roots.len()];
        let rare: Vec<&mut Vec<usize>> = trees_of
            .iter_mut()
            .filter(|(root, trees)| trees.len().real() < least && !is_known(**root))
            .map(|(_, trees)| trees)
            .collect();
        let mut rare_at = vec![0_usize; lanes.longest];
        for &tree in rare.iter().flat_map(|trees| trees.iter()) {
            rare_at[lanes.position(tree)] += 1;
        }
        let mut num_events = 0.0;
        for trees in rare {
            trees.sort_by_key(|&tree| (placement.places[tree].lane, lanes.position(tree)));
            lanes.judge(trees, &rare_at, &mut kinds);
            let odd = trees
                .iter()
                .filter(|&&tree| kinds[tree] == StructureKind::Odd);
            num_events += lanes.num_events(&odd.copied().collect::<Vec<_>>());
        }
        let of_odd = (num_events / (roots.len().real() + 1.0)).ln().min(0.0);
        let ln_p = |&kind: &StructureKind| {
            if kind == StructureKind::Odd {
                of_odd
            } else {
                0.0
            }
        };
        let ln_p = kinds.iter().map(ln_p).collect();
        Self {
            kinds,
            ln_p,
            is_late_end: lanes.late_ends(whole_shares),
        }
    }

    /// Of so many trees whose structures say nothing.
    pub fn none(num_trees: usize) -> Self {
        Self {
            kinds: vec![StructureKind::Common; num_trees],
            ln_p: vec![0.0; num_trees],
            is_late_end: vec![false; num_trees],
        }
    }

    /// What a model keeps of them; `roots` are those of the trees.
    pub fn known(&self, roots: &[SubtreeIdx]) -> KnownStructures {
        let mut by_root: BTreeMap<SubtreeIdx, (bool, f64)> = BTreeMap::new();
        for ((&root, &kind), &ln_p) in roots.iter().zip(&self.kinds).zip(&self.ln_p) {
            let known = by_root.entry(root).or_insert((true, 0.0));
            known.0 &= kind == StructureKind::Odd;
            known.1 = ln_p;
        }
        let odd = by_root.into_iter().filter(|(_, known)| known.0);
        let odd: Vec<_> = odd.map(|(root, known)| (root, known.1)).collect();
        let one = 1.0 / (roots.len().real() + 1.0);
        KnownStructures {
            unknown_ln_p: one.ln(),
            odd,
        }
    }
}

impl KnownStructures {
    /// ln of the p-value of a structure: one of the training, or `None`.
    pub fn ln_p(&self, root: Option<SubtreeIdx>) -> f64 {
        let Some(root) = root else {
            return self.unknown_ln_p;
        };
        let found = self.odd.binary_search_by_key(&root, |odd| odd.0);
        found.map_or(0.0, |place| self.odd[place].1)
    }

    /// Whether a structure is odd in the training.
    pub fn is_odd(&self, root: SubtreeIdx) -> bool {
        self.odd.binary_search_by_key(&root, |odd| odd.0).is_ok()
    }

    /// Whether its numbers can be those of a training.
    pub(crate) fn is_whole(&self) -> bool {
        let ln_p = self.odd.iter().map(|odd| odd.1);
        let is_ln_p = |ln_p: f64| ln_p.is_finite() && ln_p <= 0.0;
        self.odd.is_sorted_by(|a, b| a.0 < b.0) && ln_p.chain([self.unknown_ln_p]).all(is_ln_p)
    }
}

/// The lanes of a run, with how many of them reach each position.
struct Lanes<'a> {
    placement: &'a Placement,
    longest: usize,
    /// Lanes that have a tree at a position, shape `[longest]`.
    num_at: Vec<usize>,
}

impl<'a> Lanes<'a> {
    fn new(placement: &'a Placement) -> Self {
        let lens = || placement.lane_len.iter().map(|&len| len as usize);
        let longest = lens().max().unwrap_or(0);
        let mut num_at = vec![0; longest];
        for len in lens() {
            for num in &mut num_at[..len] {
                *num += 1;
            }
        }
        Self {
            placement,
            longest,
            num_at,
        }
    }

    fn position(&self, tree: usize) -> usize {
        self.placement.places[tree].position as usize
    }

    fn len_of(&self, tree: usize) -> usize {
        self.placement.lane_len[self.placement.places[tree].lane as usize] as usize
    }

    fn is_end(&self, tree: usize) -> bool {
        let place = self.placement.places[tree];
        place.position < NUM_ENDS
            || place.position as usize + NUM_ENDS as usize >= self.len_of(tree)
    }

    /// How many trees at a position are those of most lanes.
    fn most_at(&self, position: usize) -> f64 {
        (MOST_LANES * self.num_at[position].real()).max(MIN_LANES.real())
    }

    /// The same, where all of fewer lanes will do.
    fn nearly_all_at(&self, position: usize) -> f64 {
        let num = self.num_at[position].real();
        (MOST_LANES * num).max(num.min(MIN_LANES.real()))
    }

    /// Says what the trees of a class that is not common are; they are in order of lane and position.
    fn judge(&self, trees: &[usize], rare_at: &[usize], kinds: &mut [StructureKind]) {
        let has_peers = self.placement.num_lanes() >= MIN_LANES;
        for &tree in trees {
            let at = self.position(tree);
            let is_by_design = self.is_end(tree)
                && (!has_peers
                    || (self.num_at[at] >= MIN_LANES
                        && rare_at[at].real() >= MOST_LANES * self.num_at[at].real()));
            kinds[tree] = if is_by_design {
                StructureKind::Ends
            } else {
                StructureKind::Odd
            };
        }
        let recurring = self.recurring(trees);
        for &tree in trees {
            if recurring.binary_search(&self.position(tree)).is_ok() {
                kinds[tree] = StructureKind::Recurring;
            }
        }
        let lane_of = |tree: usize| self.placement.places[tree].lane;
        for of_lane in trees.chunk_by(|&a, &b| lane_of(a) == lane_of(b)) {
            if let Some(period) = self.regular(of_lane) {
                for &tree in of_lane {
                    kinds[tree] = StructureKind::Every(period);
                }
            }
        }
    }

    /// Positions at which most lanes have a class, if these are spread over the run; ascending.
    fn recurring(&self, trees: &[usize]) -> Vec<usize> {
        let mut positions: Vec<usize> = trees.iter().map(|&tree| self.position(tree)).collect();
        positions.sort_unstable();
        let together: Vec<usize> = positions
            .chunk_by(|a, b| a == b)
            .filter(|same| same.len().real() >= self.most_at(same[0]))
            .map(|same| same[0])
            .collect();
        let num_stretches = together.chunk_by(|a, b| a + 1 == *b).count();
        let span = together
            .last()
            .zip(together.first())
            .map(|(last, first)| last - first);
        let is_spread = span.is_some_and(|span| span.real() >= SPANNED * self.longest.real());
        if num_stretches >= MIN_STRETCHES && is_spread {
            together
        } else {
            Vec::new()
        }
    }

    /// The distance at which a class comes back on a lane, if it is always the same.
    fn regular(&self, of_lane: &[usize]) -> Option<u32> {
        let positions = of_lane
            .iter()
            .map(|&tree| self.position(tree))
            .collect::<Vec<_>>();
        let stretches = positions.chunk_by(|a, b| a + 1 == *b);
        let starts: Vec<usize> = stretches.map(|stretch| stretch[0]).collect();
        if starts.len() < MIN_REGULAR {
            return None;
        }
        let gaps: Vec<f64> = starts
            .windows(2)
            .map(|pair| (pair[1] - pair[0]).real())
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len().real();
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len().real();
        let span = (starts[starts.len() - 1] - starts[0]).real() + mean;
        let is_regular = variance.sqrt() <= REGULAR * mean;
        let is_spread = span >= SPANNED * self.len_of(of_lane[0]).real();
        let period = u32::try_from(crate::real::whole(mean.round())).unwrap_or(u32::MAX);
        (is_regular && is_spread).then_some(period)
    }

    /// Events among the odd trees of a class: stretches of positions, of a lane or of most lanes at once.
    fn num_events(&self, odd: &[usize]) -> f64 {
        let place = |tree: usize| (self.position(tree), self.placement.places[tree].lane);
        let mut places: Vec<(usize, u32)> = odd.iter().map(|&tree| place(tree)).collect();
        places.sort_unstable();
        let events = places.chunk_by(|a, b| a.0 + 1 >= b.0).map(|stretch| {
            let mut lanes: Vec<u32> = stretch.iter().map(|place| place.1).collect();
            lanes.sort_unstable();
            lanes.dedup();
            if lanes.len().real() >= self.nearly_all_at(stretch[0].0) {
                1.0
            } else {
                lanes.len().real()
            }
        });
        events.sum()
    }

    /// The first or last trees of lanes, where most of these take longer than usual.
    fn late_ends(&self, whole_shares: &[f64]) -> Vec<bool> {
        let mut is_late = vec![false; whole_shares.len()];
        if self.placement.num_lanes() < MIN_LANES {
            return is_late;
        }
        let is_first = |tree: &usize| self.position(*tree) == 0;
        let is_last = |tree: &usize| self.position(*tree) + 1 == self.len_of(*tree);
        let firsts: Vec<usize> = (0..whole_shares.len()).filter(is_first).collect();
        let lasts: Vec<usize> = (0..whole_shares.len()).filter(is_last).collect();
        for ends in [firsts, lasts] {
            let late = ends.iter().filter(|&&tree| whole_shares[tree] > LATE_START);
            if ends.len() >= MIN_LANES && late.count().real() >= MOST_LANES * ends.len().real() {
                for tree in ends {
                    is_late[tree] = true;
                }
            }
        }
        is_late
    }
}

#[cfg(test)]
mod tests {
    use super::super::placement::{LaneKey, Place};
    use super::*;

    /// Trees of `num_lanes` lanes of `len`, lane by lane; `root` gives the structure by lane and position.
    fn run(
        num_lanes: u32,
        len: u32,
        root: impl Fn(u32, u32) -> u32,
    ) -> (Vec<SubtreeIdx>, Placement) {
        let places = (0..num_lanes).flat_map(|lane| (0..len).map(move |position| (lane, position)));
        let roots = places
            .clone()
            .map(|(lane, position)| SubtreeIdx(root(lane, position)));
        let placed = places.map(|(lane, position)| Place {
            lane,
            position,
            index: position,
            entry_ns: i64::from(position) * 100,
            exit_ns: i64::from(position) * 100 + 90,
        });
        let placement = Placement {
            places: placed.collect(),
            lane_len: vec![len; num_lanes as usize],
            keys: (0..num_lanes).map(|lane| LaneKey(0, lane, 0)).collect(),
        };
        (roots.collect(), placement)
    }

    fn kinds_of(num_lanes: u32, len: u32, root: impl Fn(u32, u32) -> u32) -> Structures {
        let (roots, placement) = run(num_lanes, len, root);
        let shares = vec![0.0; roots.len()];
        Structures::of(&roots, &placement, &shares, |_| false)
    }

    #[test]
    fn set_up_output_and_checkpoints_are_by_design_and_one_odd_tree_is_not() {
        let found = kinds_of(8, 400, |lane, position| match (lane, position) {
            (_, 0) => 1,
            (_, at) if at % 100 == 50 => 2,
            (3, at) if at % 110 == 20 => 3,
            (5, 222) => 4,
            _ => 0,
        });
        let at = |lane: usize, position: usize| found.kinds[lane * 400 + position];
        assert_eq!(at(2, 0), StructureKind::Ends);
        assert_eq!(at(2, 150), StructureKind::Every(100));
        assert_eq!(at(3, 150), StructureKind::Every(100));
        assert_eq!(at(3, 20), StructureKind::Every(110));
        assert_eq!(at(5, 222), StructureKind::Odd);
        assert_eq!(at(5, 223), StructureKind::Common);
        let odd = found.ln_p[5 * 400 + 222].exp();
        assert!((odd - 1.0 / 3_201.0).abs() < 1e-12, "{odd}");
        assert_eq!(found.ln_p.iter().filter(|&&it| it < 0.0).count(), 1);
    }

    #[test]
    fn what_all_ranks_do_once_is_one_event() {
        let found = kinds_of(16, 100, |_, position| u32::from(position == 40));
        let p_value = found.ln_p[40].exp();
        assert!((p_value - 1.0 / 1_601.0).abs() < 1e-12, "{p_value}");
    }

    #[test]
    fn first_executions_that_are_late_everywhere_are_so_by_design() {
        let (roots, placement) = run(4, 50, |_, _| 0);
        let share = |tree: usize| if tree.is_multiple_of(50) { 3.0 } else { 0.0 };
        let shares: Vec<f64> = (0..200).map(share).collect();
        let found = Structures::of(&roots, &placement, &shares, |_| false);
        assert_eq!(found.is_late_end.iter().filter(|&&it| it).count(), 4);
    }

    #[test]
    fn a_model_knows_what_was_odd_in_its_training() {
        let (roots, placement) = run(4, 100, |lane, position| {
            u32::from((lane, position) == (1, 60))
        });
        let shares = vec![0.0; 400];
        let known = Structures::of(&roots, &placement, &shares, |_| false).known(&roots);
        assert!(known.is_whole());
        assert!(known.ln_p(Some(SubtreeIdx(0))).abs() < 1e-12);
        assert!(known.is_odd(SubtreeIdx(1)) && known.ln_p(Some(SubtreeIdx(1))) < -5.0);
        assert!(known.ln_p(None) < -5.0);
    }
}
