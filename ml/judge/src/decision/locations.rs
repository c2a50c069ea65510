//! The excess of each tree over like executions.

use std::collections::BTreeMap;

use callgrove_model::TreeIdx;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::class_location::{ClassLocation, ClassPart, LikeCell, PartLocation};
use super::deviation::Deviation;
use super::drift::Drift;
use super::period::{Timed, period};
use super::placement::{LaneKey, Placement, TreePlace};
use super::quantiles::{ascending, quantile};
use super::tree_times::{PartTimes, TreeTimes};
use super::turns::Turns;
use callgrove_trees::real::Real;
use callgrove_trees::wl::{Bag, Bags, SubtreeIdx};

/// Minimum number of trees of a structure class with its own medians.
const MIN_CLASS: usize = 8;
/// Minimum unit of excess in usual durations.
const MIN_UNIT: f64 = 0.1;
/// Minimum number of clock ticks that a usual duration counts as.
const SHORTEST_TICKS: f64 = 20.0;
/// Tick of the clock, as a share of the median duration, above which ties are spread.
const COARSE_TICK: f64 = 0.003;
/// Minimum number of trees of a small class whose own lower third counts.
const MIN_OF_SMALL: usize = 3;
/// Factor of the scale of an unknown structure.
const UNKNOWN_STRUCTURE: f64 = 2.0;
/// Maximum number of times that turns are looked for; those of another period within turns are found the next time.
const MAX_ROUNDS: usize = 3;
/// Maximum number of cells of all parts that a model stores; beyond it the model stores the classes only.
const MAX_CELLS: usize = 200_000;

/// The usual durations of like executions: those of the same structure, lane and phase of a cycle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locations {
    /// Tick of the clock, nanoseconds.
    tick_ns: f64,
    /// Range by which times are spread to undo rounding; 0 if the tick is fine.
    spread_ns: f64,
    /// Program, rank and thread of each lane, ascending.
    lanes: Vec<LaneKey>,
    /// Classes with their own medians, ordered by root.
    classes: Vec<ClassLocation>,
    /// The other classes, ordered by root.
    small: Vec<SmallClass>,
    /// All trees together, for a forest without large classes.
    all: PartLocation,
    /// Executions that are longer in regular turns, if there are any; not stored in a model.
    #[serde(skip)]
    in_turns: Option<Box<InTurns>>,
}

/// Executions that are longer in regular turns.
#[derive(Clone, PartialEq, Debug)]
struct InTurns {
    /// The usual durations of all others.
    others: Locations,
    turns: Turns,
}

/// A class with too few trees, which uses the times of the most similar large class.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SmallClass {
    root: SubtreeIdx,
    /// Lower thirds of its own trees, from three trees on: of the complete tree, then by subtree.
    own: Option<(f64, Vec<(SubtreeIdx, f64)>)>,
}

impl Locations {
    /// Fits the trees `fitted` of `bags`; `tick_ns` is the tick of the clock.
    ///
    /// Executions that are longer in regular turns (`Turns`) are left out of another fit, by which all are compared,
    /// those in turns with each other. Each part of n trees costs sorts of n.
    pub fn fit(bags: &Bags, placement: &Placement, fitted: &[bool], tick_ns: f64) -> Self {
        let mut all = Self::fit_once(bags, placement, fitted, tick_ns);
        let mut turns = Turns::default();
        for _ in 0..MAX_ROUNDS {
            let by = all.in_turns.as_ref().map_or(&all, |found| &found.others);
            let mut found = by.deviations_from_all(bags, placement, Some);
            for (found, &place) in found.iter_mut().zip(&placement.places) {
                *found = turns.within(*found, place);
            }
            if !turns.find(&found, placement, fitted) {
                break;
            }
            let is_other = turns.without(placement, fitted);
            let others = Self::fit_once(bags, placement, &is_other, tick_ns);
            let found = others.deviations_from_all(bags, placement, Some);
            turns.compare(&found, placement, fitted);
            let turns = turns.clone();
            all.in_turns = Some(Box::new(InTurns { others, turns }));
        }
        all
    }

    fn fit_once(bags: &Bags, placement: &Placement, fitted: &[bool], tick_ns: f64) -> Self {
        let mut trees_of: BTreeMap<SubtreeIdx, Vec<usize>> = BTreeMap::new();
        for (tree, &root) in bags.roots().iter().enumerate() {
            if fitted[tree] {
                trees_of.entry(root).or_default().push(tree);
            }
        }
        let durations = trees_of
            .values()
            .flatten()
            .map(|&tree| duration(bags, tree));
        let usual = quantile(&ascending(durations.collect()), 0.5);
        let mut built = Self {
            tick_ns,
            spread_ns: if tick_ns > COARSE_TICK * usual {
                tick_ns
            } else {
                0.0
            },
            lanes: placement.keys.clone(),
            classes: Vec::new(),
            small: Vec::new(),
            all: PartLocation::fit((&[], &[]), &[], 0, 1.0, false),
            in_turns: None,
        };
        for (root, trees) in &trees_of {
            if trees.len() >= MIN_CLASS {
                let class = built.class(*root, trees, bags, placement);
                built.classes.push(class);
            } else {
                let small = built.small_class(*root, trees, bags, placement);
                built.small.push(small);
            }
        }
        if built.classes.is_empty() {
            let trees = trees_of.values().flatten();
            let times: Vec<f64> = trees
                .map(|&tree| {
                    built
                        .times(&bags.bag(TreeIdx::from_index(tree)), tree, placement)
                        .whole
                })
                .collect();
            let floor = built.floor(built.shown(usual), 1);
            built.all = PartLocation::fit((&times, &[]), &[], 0, floor, false);
        }
        built
    }

    /// Returns the locations as stored in a model: without numbers that depend on the position in the run, which a
    /// stream does not know, and without lanes if there are too many.
    #[must_use]
    pub fn stored(&self) -> Self {
        let cells_of = |class: &ClassLocation| class.cells.len() * (1 + class.parts.len());
        let mut kept = self.clone();
        kept.spread_ns = 0.0;
        kept.in_turns = None;
        let is_too_long = kept.classes.iter().map(cells_of).sum::<usize>() > MAX_CELLS;
        for class in &mut kept.classes {
            for location in class.locations() {
                location.drift = Drift::default();
            }
            if is_too_long || class.period > 1 {
                class.period = 1;
                class.cells.clear();
                class
                    .locations()
                    .for_each(|location| location.cells.clear());
            }
        }
        kept
    }

    /// Returns the deviations of all trees; `known` maps a subtree to its number in the fit, `None` for one that was
    /// not in it. Each deviation depends on its tree only.
    pub fn deviations(
        &self,
        bags: &Bags,
        placement: &Placement,
        known: impl Fn(SubtreeIdx) -> Option<SubtreeIdx> + Sync,
    ) -> Vec<Deviation> {
        let Some(in_turns) = &self.in_turns else {
            return self.deviations_from_all(bags, placement, known);
        };
        let found = in_turns.others.deviations_from_all(bags, placement, known);
        let found = found.into_iter().zip(&placement.places);
        found
            .map(|(found, &place)| in_turns.turns.within(found, place))
            .collect()
    }

    /// Returns the deviations of all trees, whether they are in turns or not.
    fn deviations_from_all(
        &self,
        bags: &Bags,
        placement: &Placement,
        known: impl Fn(SubtreeIdx) -> Option<SubtreeIdx> + Sync,
    ) -> Vec<Deviation> {
        let keys = placement.keys.iter();
        let lanes: Vec<Option<usize>> =
            keys.map(|key| self.lanes.binary_search(key).ok()).collect();
        (0..bags.len())
            .into_par_iter()
            .map(|tree| {
                let bag = bags.bag(TreeIdx::from_index(tree));
                let times = self.times(&bag, tree, placement);
                let place = placement.places[tree];
                let lane = lanes[place.lane];
                self.deviation(&bag, &times, lane, place.index, &known)
            })
            .collect()
    }

    /// Returns the large class with this structure.
    fn large(&self, root: SubtreeIdx) -> Option<&ClassLocation> {
        let found = self.classes.binary_search_by_key(&root, |class| class.root);
        found.ok().map(|place| &self.classes[place])
    }

    fn deviation(
        &self,
        bag: &Bag<'_>,
        times: &TreeTimes,
        lane: Option<usize>,
        index: u32,
        known: &impl Fn(SubtreeIdx) -> Option<SubtreeIdx>,
    ) -> Deviation {
        let root = known(bag.root);
        let own_class = root.and_then(|root| self.large(root));
        let like = own_class.or_else(|| self.most_similar(bag, known));
        let Some(class) = like else {
            let (location, scale) = self.all.at(None, index);
            let usual = self.shown(location);
            return Deviation {
                statistic: (times.whole - location) / (UNKNOWN_STRUCTURE * scale),
                total_share: (times.whole - location) / usual,
                part_share: (times.whole - location) / usual,
                turn: None,
            };
        };
        let small = root.filter(|_| own_class.is_none()).and_then(|root| {
            let found = self.small.binary_search_by_key(&root, |small| small.root);
            self.small[found.ok()?].own.as_ref()
        });
        let widened = if own_class.is_some() {
            1.0
        } else {
            UNKNOWN_STRUCTURE
        };
        let cell = class.cell(lane, index);
        let excess = |value: f64, location: &PartLocation, own: Option<f64>| {
            let (at, scale) = location.at(cell, index);
            let excess = value - own.map_or(at, |own| at.max(own));
            (excess / (widened * scale), excess / class.usual_ns)
        };
        let (whole, total_share) = excess(times.whole, &class.whole, small.map(|small| small.0));
        let mut part: Option<(f64, f64)> = None;
        let mut from = 0;
        for (&subtree, &time) in bag.subtree.iter().zip(&times.parts) {
            let Some(subtree) = known(subtree) else {
                continue;
            };
            let Some(found) = class.find(subtree, &mut from) else {
                continue;
            };
            let own = small.and_then(|small| {
                let place = small.1.binary_search_by_key(&subtree, |own| own.0);
                place.ok().map(|place| small.1[place].1)
            });
            let found = excess(time, found, own);
            if part.is_none_or(|part| found.0 > part.0) {
                part = Some(found);
            }
        }
        let (mut part, part_share) = part.unwrap_or((whole, total_share));
        if own_class.is_none() {
            part = part.max(whole);
        }
        Deviation {
            statistic: f64::midpoint(whole, part),
            total_share,
            part_share,
            turn: None,
        }
    }

    /// Returns the large class whose trees are the most similar to a bag; among equal ones the first.
    fn most_similar(
        &self,
        bag: &Bag<'_>,
        known: &impl Fn(SubtreeIdx) -> Option<SubtreeIdx>,
    ) -> Option<&ClassLocation> {
        let unknown = SubtreeIdx(u32::MAX);
        let counts = || {
            let counts = bag.subtree.iter().zip(bag.count);
            counts.map(|(&subtree, &count)| (known(subtree).unwrap_or(unknown), count))
        };
        let mut best: Option<(f64, &ClassLocation)> = None;
        for class in &self.classes {
            let similarity = class.similarity(counts());
            if best.is_none_or(|best| similarity > best.0) {
                best = Some((similarity, class));
            }
        }
        best.map(|(_, class)| class)
    }

    /// Returns the smallest significant difference.
    fn floor(&self, usual_ns: f64, count: u64) -> f64 {
        (MIN_UNIT * usual_ns).max(self.tick_ns * count.real().sqrt())
    }

    /// Returns a usual duration of at least 20 ticks of the clock.
    fn shown(&self, usual_ns: f64) -> f64 {
        usual_ns.max(SHORTEST_TICKS * self.tick_ns).max(1.0)
    }

    fn times(&self, bag: &Bag<'_>, tree: usize, placement: &Placement) -> TreeTimes {
        let place = placement.places[tree];
        TreeTimes::of(bag, placement.keys[place.lane], place, self.spread_ns)
    }

    fn class(
        &self,
        root: SubtreeIdx,
        trees: &[usize],
        bags: &Bags,
        placement: &Placement,
    ) -> ClassLocation {
        let bag_of = |tree: usize| bags.bag(TreeIdx::from_index(tree));
        let times: Vec<TreeTimes> = trees
            .iter()
            .map(|&tree| self.times(&bag_of(tree), tree, placement))
            .collect();
        let whole: Vec<f64> = times.iter().map(|times| times.whole).collect();
        let usual_ns = self.shown(quantile(&ascending(whole.clone()), 0.5));
        let place_of = |tree: usize| -> TreePlace { placement.places[tree] };
        let timed = trees.iter().zip(&whole).map(|(&tree, &value)| Timed {
            lane: place_of(tree).lane,
            index: place_of(tree).index,
            value,
        });
        let period = period(&timed.collect::<Vec<_>>());
        let cell_at = |tree: usize| LikeCell {
            lane: place_of(tree).lane,
            phase: place_of(tree).index % period,
        };
        let mut cells: Vec<LikeCell> = trees.iter().map(|&tree| cell_at(tree)).collect();
        cells.sort_unstable();
        cells.dedup();
        let cell_of: Vec<usize> = trees
            .iter()
            .filter_map(|&tree| cells.binary_search(&cell_at(tree)).ok())
            .collect();
        let index: Vec<u32> = trees.iter().map(|&tree| place_of(tree).index).collect();
        let mut columns: BTreeMap<SubtreeIdx, PartTimes> = BTreeMap::new();
        for ((&tree, times), &cell) in trees.iter().zip(&times).zip(&cell_of) {
            let bag = bag_of(tree);
            for ((&subtree, &count), &time) in bag.subtree.iter().zip(bag.count).zip(&times.parts) {
                let column = columns
                    .entry(subtree)
                    .or_insert_with(|| PartTimes::new(count));
                column.times.push(time);
                column.cell_of.push(cell);
                column.index.push(place_of(tree).index);
            }
        }
        let columns: Vec<(SubtreeIdx, PartTimes)> = columns.into_iter().collect();
        let floor = self.floor(usual_ns, 1);
        let whole = PartLocation::fit((&whole, &index), &cell_of, cells.len(), floor, true);
        let is_followed = whole.drift.is_followed();
        let fit = |(subtree, column): (SubtreeIdx, PartTimes)| ClassPart {
            subtree,
            count: column.count,
            location: (column.times.len() >= MIN_CLASS).then(|| {
                let floor = self.floor(usual_ns, column.count);
                let times = (column.times.as_slice(), column.index.as_slice());
                PartLocation::fit(times, &column.cell_of, cells.len(), floor, is_followed)
            }),
        };
        ClassLocation {
            root,
            usual_ns,
            period,
            whole,
            parts: columns.into_par_iter().map(fit).collect(),
            cells,
        }
    }

    fn small_class(
        &self,
        root: SubtreeIdx,
        trees: &[usize],
        bags: &Bags,
        placement: &Placement,
    ) -> SmallClass {
        if trees.len() < MIN_OF_SMALL {
            return SmallClass { root, own: None };
        }
        let mut whole = Vec::new();
        let mut parts: BTreeMap<SubtreeIdx, Vec<f64>> = BTreeMap::new();
        for &tree in trees {
            let bag = bags.bag(TreeIdx::from_index(tree));
            let times = self.times(&bag, tree, placement);
            whole.push(times.whole);
            for (&subtree, &time) in bag.subtree.iter().zip(&times.parts) {
                parts.entry(subtree).or_default().push(time);
            }
        }
        let third = |times: Vec<f64>| quantile(&ascending(times), 0.33);
        let parts = parts
            .into_iter()
            .map(|(subtree, times)| (subtree, third(times)));
        SmallClass {
            root,
            own: Some((third(whole), parts.collect())),
        }
    }

    /// Returns whether its numbers can be the result of a fit to a vocabulary of this length.
    pub fn is_valid(&self, vocabulary_len: usize) -> bool {
        let numbers = [
            self.tick_ns,
            self.spread_ns,
            self.all.location,
            self.all.scale,
        ];
        numbers
            .into_iter()
            .all(|number| number.is_finite() && number >= 0.0)
            && self.lanes.is_sorted_by(|a, b| a < b)
            && self.classes.is_sorted_by(|a, b| a.root < b.root)
            && self.small.is_sorted_by(|a, b| a.root < b.root)
            && self
                .classes
                .iter()
                .all(|class| class.is_valid(vocabulary_len))
    }
}

impl ClassLocation {
    /// Returns the times of a subtree; `from` is the index of the last one found, since bags and parts have the same
    /// order.
    fn find(&self, subtree: SubtreeIdx, from: &mut usize) -> Option<&PartLocation> {
        if self
            .parts
            .get(*from)
            .is_none_or(|part| part.subtree != subtree)
        {
            *from = self
                .parts
                .binary_search_by_key(&subtree, |part| part.subtree)
                .ok()?;
        }
        let found = self.parts[*from].location.as_ref();
        *from += 1;
        found
    }
}

fn duration(bags: &Bags, tree: usize) -> f64 {
    bags.bag(TreeIdx::from_index(tree)).duration_ns.real()
}
