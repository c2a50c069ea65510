//! The structures that a run has by design, and the rarity of the others.

use std::collections::BTreeMap;

use super::call_sets::{CallSets, least_common};
use super::known_structures::{KnownStructures, StructureReference};
use super::lane_cycles::{EqualDistances, LaneCycles};
use super::placement::Placement;
use callgrove_trees::real::Real;
use callgrove_trees::wl::{SubtreeHash, SubtreeIdx};

/// Minimum share of the trees of a common structure that most lanes have at one time only: less may be an event.
const COMMON_ONCE_SHARE: f64 = 0.05;
/// Maximum share of trees of structures that a reference does not know, for it to decide which are common.
const MAX_UNKNOWN_SHARE: f64 = 0.1;
/// Maximum share of odd events in the trees for them to be anomalies rather than the variation of the run.
const MAX_ODD_SHARE: f64 = 0.005;
/// Number of positions at either end of a lane that are set-up and end.
const NUM_ENDS: usize = 2;
/// Minimum share of the lanes that have a structure at once for it to be by design.
const MIN_LANE_SHARE: f64 = 0.5;
/// Minimum number of such lanes.
const MIN_LANES: usize = 3;
/// Minimum number of separate times of a structure that recurs on most lanes.
const MIN_RECURRENCES: usize = 4;
/// Minimum share of the run that recurring structures span, if their distances are not exact.
const MIN_SPAN: f64 = 0.5;
/// Excess that the first or last executions of most lanes have by design.
pub(super) const LATE_START: f64 = 0.1;

/// The kind of a tree's structure in its run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StructureKind {
    /// Many trees have it.
    Common,
    /// Most lanes begin or end with a structure that is not common.
    Ends,
    /// Most lanes have it at once, repeatedly.
    Recurring,
    /// A lane has it once every this many trees.
    Every(u32),
    /// None of the other kinds: the fewer there are, the rarer.
    Odd,
}

/// The structures of the trees of a run; lists have shape `[n_trees]`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Structures {
    /// The kind of each structure.
    pub kinds: Vec<StructureKind>,
    /// ln of the share of trees whose structures are odd and at least as rare, 0 for those that are not odd.
    pub ln_p: Vec<f64>,
    /// The same for decisions: what most lanes have at once is one observation, and not one of each lane.
    pub decision_ln_p: Vec<f64>,
    /// True if a tree is one of the first or last, which take longer on most lanes.
    pub is_late_end: Vec<bool>,
    /// Number of odd structures that occur in one event only.
    pub num_seen_once: usize,
    /// Call sets with varying counts, ascending.
    varied: Vec<SubtreeHash>,
}

impl Structures {
    /// Finds the structures of trees with these roots and total excesses, in usual durations.
    ///
    /// The p-value of an odd structure counts events: consecutive trees of one structure on a lane are one event, and
    /// so are those that most lanes have at once. An interruption shorter than the event before it does not end it.
    /// While events are few, each is as rare as one event: 1 / (n + 1). A run without anomalies has hardly any, since
    /// structures by design are not odd. If they are many, the run varies by itself, and one is not informative:
    /// W / (n + 1), with W the events of the run and n the number of trees.
    ///
    /// In decisions an event of most lanes is one observation among the positions of a lane, and not one of each lane:
    /// an output of all ranks in 2 of 100 positions has the p-value r = 2 / 101. At l positions in succession it is as
    /// improbable as l of these, r^l, but not below 1 / (n + 1).
    ///
    /// How often a path is taken may vary with the work. If it does (of the trees of a lane with the same calls, 2 %
    /// or more are of another structure than most), no structure is odd for its counts.
    ///
    /// Where structures that a lane has at equal distances coincide, it has a third one by design.
    ///
    /// A structure that is not odd in the training `reference` is not odd here. If the reference knows nine of ten
    /// trees, one that it does not know is odd however many trees have it.
    pub(crate) fn of(
        roots: &[SubtreeIdx],
        call_sets: &CallSets,
        placement: &Placement,
        total_shares: &[f64],
        reference: Option<&StructureReference<'_>>,
    ) -> Self {
        let mut trees_of: BTreeMap<SubtreeIdx, Vec<usize>> = BTreeMap::new();
        for (tree, &root) in roots.iter().enumerate() {
            trees_of.entry(root).or_default().push(tree);
        }
        let varied = call_sets.varied(&trees_of, placement);
        let is_usual = |root: SubtreeIdx| {
            let call_set = call_sets.get(root);
            varied.binary_search(&call_set).is_ok()
                || reference.is_some_and(|reference| reference.has(root, call_set))
        };
        let unusual = trees_of.iter().filter(|(root, _)| !is_usual(**root));
        let num_unusual: usize = unusual.map(|(_, trees)| trees.len()).sum();
        let has_fit =
            reference.is_some() && num_unusual.real() <= MAX_UNKNOWN_SHARE * roots.len().real();
        let least = if has_fit {
            f64::INFINITY
        } else {
            least_common(roots.len())
        };
        let lanes = Lanes::new(placement);
        for trees in trees_of.values_mut() {
            trees.sort_by_key(|&tree| (placement.places[tree].lane, lanes.position(tree)));
        }
        let cycles = LaneCycles::new(trees_of.values(), placement);
        let mut kinds = vec![StructureKind::Common; roots.len()];
        let rare: Vec<&Vec<usize>> = trees_of
            .iter()
            .filter(|(root, trees)| {
                let is_few = trees.len().real() < least || lanes.have_once(trees);
                is_few && !is_usual(**root)
            })
            .map(|(_, trees)| trees)
            .collect();
        let mut num_rare = NumRare::default();
        for &tree in rare.iter().flat_map(|trees| trees.iter()) {
            num_rare.count(&lanes, tree);
        }
        let mut num_events = NumOdd::default();
        let mut shared_len = vec![0; roots.len()];
        let mut num_seen_once = 0;
        for trees in rare {
            lanes.judge(trees, &num_rare, &mut kinds);
            for &tree in trees {
                if kinds[tree] == StructureKind::Odd
                    && let Some(period) = cycles.coincidence(placement.places[tree])
                {
                    kinds[tree] = StructureKind::Every(period);
                }
            }
            let odd = trees
                .iter()
                .filter(|&&tree| kinds[tree] == StructureKind::Odd);
            let odd: Vec<usize> = odd.copied().collect();
            let of_class = lanes.num_odd(&odd, &mut shared_len);
            num_seen_once += usize::from(of_class.shared + of_class.of_lanes == 1);
            num_events.add(&of_class);
        }
        let of_odd = ln_p_of_event(num_events.shared + num_events.of_lanes, roots.len());
        let ln_p = |(&kind, &shared_len): (&StructureKind, &usize)| match kind {
            StructureKind::Odd => (of_odd, num_events.decision_ln_p(shared_len, &lanes)),
            _ => (0.0, 0.0),
        };
        let (ln_p, decision_ln_p) = kinds.iter().zip(&shared_len).map(ln_p).unzip();
        Self {
            kinds,
            ln_p,
            decision_ln_p,
            is_late_end: lanes.late_ends(total_shares),
            num_seen_once,
            varied,
        }
    }

    /// Returns structures of `num_trees` trees without information.
    pub fn none(num_trees: usize) -> Self {
        Self {
            kinds: vec![StructureKind::Common; num_trees],
            ln_p: vec![0.0; num_trees],
            decision_ln_p: vec![0.0; num_trees],
            is_late_end: vec![false; num_trees],
            num_seen_once: 0,
            varied: Vec::new(),
        }
    }

    /// Returns the structures that a model stores; `roots` are those of the trees.
    pub fn known(&self, roots: &[SubtreeIdx]) -> KnownStructures {
        let mut by_root: BTreeMap<SubtreeIdx, (bool, f64)> = BTreeMap::new();
        for ((&root, &kind), &ln_p) in roots.iter().zip(&self.kinds).zip(&self.ln_p) {
            let known = by_root.entry(root).or_insert((true, 0.0));
            known.0 &= kind == StructureKind::Odd;
            known.1 = ln_p;
        }
        let odd = by_root.into_iter().filter(|(_, known)| known.0);
        let odd: Vec<_> = odd.map(|(root, known)| (root, known.1)).collect();
        let unknown = (self.num_seen_once + 1).real() / (roots.len() + 1).real();
        KnownStructures {
            unknown_ln_p: unknown.ln().min(0.0),
            varied: self.varied.clone(),
            odd,
        }
    }
}

/// Returns ln of the p-value of one of this number of odd events among this number of observations.
fn ln_p_of_event(num_events: usize, num_observed: usize) -> f64 {
    let num_all = num_observed.real() + 1.0;
    let share = num_events.real() / num_all;
    let p_value = if share <= MAX_ODD_SHARE {
        1.0 / num_all
    } else {
        share
    };
    p_value.ln().min(0.0)
}

/// Numbers of odd events.
#[derive(Default)]
struct NumOdd {
    /// Those of most lanes at once.
    shared: usize,
    /// The positions of these.
    shared_positions: usize,
    /// Those of single lanes.
    of_lanes: usize,
}

impl NumOdd {
    fn add(&mut self, more: &Self) {
        self.shared += more.shared;
        self.shared_positions += more.shared_positions;
        self.of_lanes += more.of_lanes;
    }

    /// Returns ln of the p-value of an odd tree in decisions; `shared_len` is the number of positions of its event if
    /// most lanes have that at once, else 0.
    fn decision_ln_p(&self, shared_len: usize, lanes: &Lanes<'_>) -> f64 {
        let num_trees = lanes.placement.places.len();
        if shared_len == 0 {
            return ln_p_of_event(self.of_lanes, num_trees);
        }
        let share = self.shared_positions.real() / (lanes.longest.real() + 1.0);
        (shared_len.real() * share.ln()).clamp(ln_p_of_event(1, num_trees), 0.0)
    }
}

/// The lanes of a run, with the number of them that reach each position.
struct Lanes<'a> {
    placement: &'a Placement,
    longest: usize,
    /// Number of lanes that have a tree at a position, shape `[longest]`.
    num_at: Vec<usize>,
}

/// Numbers of trees that are not common, by position from the beginning and from the end of their lanes.
#[derive(Default)]
struct NumRare {
    first: [usize; NUM_ENDS],
    last: [usize; NUM_ENDS],
}

impl NumRare {
    fn count(&mut self, lanes: &Lanes<'_>, tree: usize) {
        for (places, at) in [
            (&mut self.first, lanes.position(tree)),
            (&mut self.last, lanes.num_after(tree)),
        ] {
            if let Some(num) = places.get_mut(at) {
                *num += 1;
            }
        }
    }
}

impl<'a> Lanes<'a> {
    fn new(placement: &'a Placement) -> Self {
        let lens = || placement.lane_len.iter().copied();
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
        self.placement.places[tree].position
    }

    /// Returns whether most lanes have the trees of a class at one time only, neither at the beginning nor at the end of the
    /// run, and no more of them than an event may have.
    fn have_once(&self, trees: &[usize]) -> bool {
        let num_trees = self.placement.places.len().real();
        if trees.len().real() >= COMMON_ONCE_SHARE * num_trees {
            return false;
        }
        let mut positions: Vec<usize> = trees.iter().map(|&tree| self.position(tree)).collect();
        positions.sort_unstable();
        let (Some(&first), Some(&last)) = (positions.first(), positions.last()) else {
            return false;
        };
        // As much as if most lanes had it at two of three positions.
        let is_dense =
            trees.len().real() >= 2.0 / 3.0 * (last - first + 1).real() * self.most_at(first);
        let [has_begin, has_end] = self.has_ends();
        is_dense && !(has_begin && first == 0) && !(has_end && last + 1 == self.longest)
    }

    fn len_of(&self, tree: usize) -> usize {
        self.placement.lane_len[self.placement.places[tree].lane]
    }

    /// Returns whether the first trees of lanes are those of the run, and whether the last ones are.
    fn has_ends(&self) -> [bool; 2] {
        [!self.placement.lacks_begin, !self.placement.lacks_end]
    }

    /// Returns the number of trees of its lane after a tree.
    fn num_after(&self, tree: usize) -> usize {
        self.len_of(tree) - self.position(tree) - 1
    }

    /// Returns whether a tree is one of the first or last of its lane, and most lanes begin or end with structures
    /// that are not common. Lanes may have different numbers of trees: their ends are counted from the end.
    fn is_end_by_design(&self, tree: usize, num_rare: &NumRare) -> bool {
        let has_peers = self.placement.num_lanes() >= MIN_LANES;
        let is_of_most = |at: usize, num_rare: &[usize; NUM_ENDS]| {
            let Some(&num_rare) = num_rare.get(at) else {
                return false;
            };
            let num_lanes = self.num_at[at];
            !has_peers
                || (num_lanes >= MIN_LANES && num_rare.real() >= MIN_LANE_SHARE * num_lanes.real())
        };
        let [has_begin, has_end] = self.has_ends();
        (has_begin && is_of_most(self.position(tree), &num_rare.first))
            || (has_end && is_of_most(self.num_after(tree), &num_rare.last))
    }

    /// Returns the number of trees at a position that is most lanes.
    fn most_at(&self, position: usize) -> f64 {
        (MIN_LANE_SHARE * self.num_at[position].real()).max(MIN_LANES.real())
    }

    /// Returns that number, capped so that all of fewer lanes suffice.
    fn nearly_all_at(&self, position: usize) -> f64 {
        let num = self.num_at[position].real();
        (MIN_LANE_SHARE * num).max(num.min(MIN_LANES.real()))
    }

    /// Assigns kinds to the trees of a class that is not common; they are in order of lane and position.
    fn judge(&self, trees: &[usize], num_rare: &NumRare, kinds: &mut [StructureKind]) {
        for &tree in trees {
            kinds[tree] = if self.is_end_by_design(tree, num_rare) {
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

    /// Returns the positions at which most lanes have a class, if these are spread over the run or at exactly equal
    /// distances; ascending.
    fn recurring(&self, trees: &[usize]) -> Vec<usize> {
        let mut positions: Vec<usize> = trees.iter().map(|&tree| self.position(tree)).collect();
        positions.sort_unstable();
        let together: Vec<usize> = positions
            .chunk_by(|a, b| a == b)
            .filter(|same| same.len().real() >= self.most_at(same[0]))
            .map(|same| same[0])
            .collect();
        let starts = together.chunk_by(|a, b| a + 1 == *b).map(|run| run[0]);
        let starts: Vec<usize> = starts.collect();
        let is_exact = EqualDistances::of(&starts).is_some_and(|found| found.is_exact);
        let span = together
            .last()
            .zip(together.first())
            .map(|(last, first)| last - first);
        let is_spread = span.is_some_and(|span| span.real() >= MIN_SPAN * self.longest.real());
        if is_exact || (starts.len() >= MIN_RECURRENCES && is_spread) {
            together
        } else {
            Vec::new()
        }
    }

    /// Returns the distance at which a class recurs on a lane, if it is always the same.
    fn regular(&self, of_lane: &[usize]) -> Option<u32> {
        let positions = of_lane
            .iter()
            .map(|&tree| self.position(tree))
            .collect::<Vec<_>>();
        let runs = positions.chunk_by(|a, b| a + 1 == *b);
        let starts: Vec<usize> = runs.map(|run| run[0]).collect();
        let found = EqualDistances::of(&starts)?;
        let span = (starts[starts.len() - 1] - starts[0]).real() + found.distance;
        let is_spread = span >= MIN_SPAN * self.len_of(of_lane[0]).real();
        (found.is_exact || is_spread).then_some(found.period())
    }

    /// Returns the numbers of events among the odd trees of a class: runs of consecutive positions, of a lane or of
    /// most lanes at once. Sets the number of positions of the latter for each of their trees.
    fn num_odd(&self, odd: &[usize], shared_len: &mut [usize]) -> NumOdd {
        let place = |tree: usize| (self.position(tree), self.placement.places[tree].lane, tree);
        let mut places: Vec<_> = odd.iter().map(|&tree| place(tree)).collect();
        places.sort_unstable();
        let mut num = NumOdd::default();
        let mut first = places.first().map_or(0, |place| place.0);
        let is_one_event = |a: &(usize, _, _), b: &(usize, _, _)| {
            let num_before = a.0 - first + 1;
            let is_one = b.0 - a.0 <= num_before;
            if !is_one {
                first = b.0;
            }
            is_one
        };
        for run in places.chunk_by(is_one_event) {
            let mut lanes: Vec<usize> = run.iter().map(|place| place.1).collect();
            lanes.sort_unstable();
            lanes.dedup();
            if lanes.len().real() >= self.nearly_all_at(run[0].0) {
                let len = run.chunk_by(|a, b| a.0 == b.0).count();
                num.shared += 1;
                num.shared_positions += len;
                for place in run {
                    shared_len[place.2] = len;
                }
            } else {
                num.of_lanes += lanes.len();
            }
        }
        num
    }

    /// Returns the first or last trees of lanes, if most of these take longer than usual.
    fn late_ends(&self, total_shares: &[f64]) -> Vec<bool> {
        let mut is_late = vec![false; total_shares.len()];
        if self.placement.num_lanes() < MIN_LANES {
            return is_late;
        }
        let is_first = |tree: &usize| self.position(*tree) == 0;
        let is_last = |tree: &usize| self.position(*tree) + 1 == self.len_of(*tree);
        let firsts: Vec<usize> = (0..total_shares.len()).filter(is_first).collect();
        let lasts: Vec<usize> = (0..total_shares.len()).filter(is_last).collect();
        let ends = [firsts, lasts].into_iter().zip(self.has_ends());
        for (ends, _) in ends.filter(|it| it.1) {
            let late = ends.iter().filter(|&&tree| total_shares[tree] > LATE_START);
            if ends.len() >= MIN_LANES && late.count().real() >= MIN_LANE_SHARE * ends.len().real()
            {
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
    use super::super::placement::{LaneKey, TreePlace};
    use super::*;

    /// Returns trees of `num_lanes` lanes of `len`, lane by lane; `root` gives the structure by lane and position.
    fn run(
        num_lanes: u32,
        len: u32,
        root: impl Fn(u32, u32) -> u32,
    ) -> (Vec<SubtreeIdx>, Placement) {
        let places = (0..num_lanes).flat_map(|lane| (0..len).map(move |position| (lane, position)));
        let roots = places
            .clone()
            .map(|(lane, position)| SubtreeIdx(root(lane, position)));
        let placed = places.map(|(lane, index)| TreePlace {
            lane: usize::try_from(lane).unwrap(),
            position: usize::try_from(index).unwrap(),
            index,
            entry_ns: i64::from(index) * 100,
            exit_ns: i64::from(index) * 100 + 90,
        });
        let keys: Vec<LaneKey> = (0..num_lanes).map(|lane| LaneKey(0, lane, 0)).collect();
        let placement = Placement {
            places: placed.collect(),
            lane_len: vec![usize::try_from(len).unwrap(); keys.len()],
            keys,
            ..Placement::default()
        };
        (roots.collect(), placement)
    }

    fn kinds_of(num_lanes: u32, len: u32, root: impl Fn(u32, u32) -> u32) -> Structures {
        let (roots, placement) = run(num_lanes, len, root);
        let shares = vec![0.0; roots.len()];
        Structures::of(&roots, &CallSets::default(), &placement, &shares, None)
    }

    #[test]
    fn recurring_structures_are_by_design_and_one_odd_tree_is_not() {
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
    fn a_cycle_in_half_of_the_run_and_where_two_cycles_coincide_are_by_design() {
        // Rank 0 logs in every 7th step and writes in every 20th; all have another structure in the second half.
        let (roots, placement) = run(16, 240, |lane, position| match (lane, position) {
            (0, 139) => 5,
            (0, at) if at % 7 == 6 => 1,
            (0, at) if at % 20 == 19 => 2,
            (_, at) if at % 30 == 29 && at >= 100 => 3,
            (3, 50) => 4,
            (_, at) if at >= 120 => 6,
            _ => 0,
        });
        let call_sets = CallSets::new((0..7).map(|root| (root, u128::from(root) + 1)));
        let shares = vec![0.0; roots.len()];
        let found = Structures::of(&roots, &call_sets, &placement, &shares, None);
        let at = |lane: usize, position: usize| found.kinds[lane * 240 + position];
        assert_eq!(at(0, 6), StructureKind::Every(7));
        assert_eq!(at(0, 19), StructureKind::Every(20));
        assert_eq!(at(0, 139), StructureKind::Every(140));
        assert_eq!(at(2, 149), StructureKind::Every(30));
        let odd = found.kinds.iter().filter(|it| **it == StructureKind::Odd);
        assert_eq!((at(3, 50), odd.count()), (StructureKind::Odd, 1));
    }

    #[test]
    fn what_most_lanes_have_once_is_odd_though_not_rare_and_a_phase_is_not() {
        let call_sets = CallSets::new((0..4).map(|root| (root, u128::from(root) + 1)));
        let found = |lacks_end: bool, root: fn(u32, u32) -> u32| {
            let (roots, placement) = run(8, 300, root);
            let placement = Placement {
                lacks_end,
                ..placement
            };
            let shares = vec![0.0; roots.len()];
            Structures::of(&roots, &call_sets, &placement, &shares, None)
        };
        // Three in a hundred trees at one time, and three at five times.
        let of_run = found(false, |_, position| match position {
            100..109 => 1,
            at if at % 61 < 2 => 2,
            200.. => 3,
            _ => 0,
        });
        let at = |lane: usize, position: usize| of_run.kinds[lane * 300 + position];
        assert_eq!(at(3, 104), StructureKind::Odd);
        assert_eq!(at(3, 122), StructureKind::Common);
        assert_eq!(at(3, 250), StructureKind::Common);
        // At the end of the run it is the last phase, but not at the end of a part of it.
        let last = |lacks_end| found(lacks_end, |_, at| u32::from(at >= 291)).kinds[295];
        assert_eq!(last(false), StructureKind::Common);
        assert_eq!(last(true), StructureKind::Odd);
    }

    #[test]
    fn a_part_of_a_run_does_not_begin_by_design() {
        let (roots, placement) = run(8, 200, |_, _| 0);
        let late: Vec<f64> = (0..roots.len())
            .map(|tree| if tree % 200 == 0 { 5.0 } else { 0.0 })
            .collect();
        let is_late_begin = |lacks_begin: bool| {
            let placement = Placement {
                lacks_begin,
                ..placement.clone()
            };
            let calls = CallSets::default();
            Structures::of(&roots, &calls, &placement, &late, None).is_late_end[0]
        };
        assert_eq!([false, true].map(is_late_begin), [true, false]);
    }

    #[test]
    fn lanes_of_different_lengths_end_by_design() {
        let (roots, placement) = run(8, 200, |lane, position| {
            u32::from(position + 1 == 100 + lane * 10)
        });
        let is_run = |tree: &usize| {
            let place = placement.places[*tree];
            place.position < 100 + place.lane * 10
        };
        let kept: Vec<usize> = (0..roots.len()).filter(is_run).collect();
        let placement = Placement {
            places: kept.iter().map(|&tree| placement.places[tree]).collect(),
            lane_len: (0..8).map(|lane| 100 + lane * 10).collect(),
            ..placement
        };
        let roots: Vec<SubtreeIdx> = kept.iter().map(|&tree| roots[tree]).collect();
        let shares = vec![0.0; roots.len()];
        let found = Structures::of(&roots, &CallSets::default(), &placement, &shares, None);
        let num = |kind| found.kinds.iter().filter(|it| **it == kind).count();
        assert_eq!((num(StructureKind::Ends), num(StructureKind::Odd)), (8, 0));
    }

    #[test]
    fn simultaneous_trees_of_all_ranks_are_one_event_in_the_executions_of_a_rank() {
        let root = |lane, position| match (lane, position) {
            (_, 40 | 80) => 1,
            (3, 20) => 2,
            _ => 0,
        };
        let found = kinds_of(16, 400, root);
        let is_p_value = |ln_p: f64, expected: f64| {
            assert!(
                (ln_p.exp() - expected).abs() < 1e-12,
                "{} {expected}",
                ln_p.exp()
            );
        };
        is_p_value(found.ln_p[40], 1.0 / 6_401.0);
        is_p_value(found.decision_ln_p[40], 2.0 / 401.0);
        is_p_value(found.decision_ln_p[3 * 400 + 20], 1.0 / 6_401.0);
        // An interruption of two executions does not make two events of one.
        let window = |_, at| u32::from(matches!(at, 40..=45 | 48));
        let found = kinds_of(16, 400, window);
        is_p_value(found.decision_ln_p[48], 1.0 / 6_401.0);
    }

    #[test]
    fn first_executions_that_are_late_everywhere_are_so_by_design() {
        let (roots, placement) = run(4, 50, |_, _| 0);
        let share = |tree: usize| if tree.is_multiple_of(50) { 3.0 } else { 0.0 };
        let shares: Vec<f64> = (0..200).map(share).collect();
        let found = Structures::of(&roots, &CallSets::default(), &placement, &shares, None);
        assert_eq!(found.is_late_end.iter().filter(|&&it| it).count(), 4);
    }

    #[test]
    fn a_model_stores_the_odd_structures_of_its_training() {
        let (roots, placement) = run(4, 100, |lane, position| {
            u32::from((lane, position) == (1, 60))
        });
        let shares = vec![0.0; roots.len()];
        let known =
            Structures::of(&roots, &CallSets::default(), &placement, &shares, None).known(&roots);
        assert!(known.is_valid());
        assert!(known.ln_p(Some(SubtreeIdx(0)), None).abs() < 1e-12);
        assert!(known.ln_p(Some(SubtreeIdx(1)), None) < -5.0);
        // One structure occurred once: an unknown one is as likely as that.
        assert!((known.unknown_ln_p() - (2.0_f64 / 401.0).ln()).abs() < 1e-12);
        assert!((known.ln_p(None, None) - known.unknown_ln_p()).abs() < 1e-12);
    }

    #[test]
    fn what_a_reference_lacks_is_odd_in_a_whole_part_of_a_run() {
        // All ranks call something else in 5 % of the run.
        let root = |_, position| u32::from((200..220).contains(&position));
        let (roots, placement) = run(16, 400, root);
        let call_sets = CallSets::new((0..2).map(|root| (root, u128::from(root) + 1)));
        let shares = vec![0.0; roots.len()];
        let odd_with = |reference: Option<&StructureReference<'_>>| {
            let found = Structures::of(&roots, &call_sets, &placement, &shares, reference);
            found
                .kinds
                .iter()
                .filter(|&&it| it == StructureKind::Odd)
                .count()
        };
        let plain = run(16, 400, |_, _| 0);
        let known = Structures::of(&plain.0, &call_sets, &plain.1, &shares, None).known(&plain.0);
        let odd_if_known = |root: u32| {
            odd_with(Some(&StructureReference {
                structures: &known,
                known: &|it| (it.0 == root).then_some(it),
            }))
        };
        assert_eq!(odd_with(None), 0);
        assert_eq!(odd_if_known(0), 320);
        assert_eq!(
            odd_if_known(1),
            0,
            "another input: it knows few of these trees"
        );
    }

    /// Structures 0 to 49 differ in counts only; 60 calls another function.
    fn call_sets() -> CallSets {
        CallSets::new((0..50).map(|root| (root, 1)).chain([(60, 2)]))
    }

    #[test]
    fn structures_with_varying_counts_are_odd_only_for_their_calls() {
        let root = |lane: u32, position: u32| match (lane, position) {
            (3, 111) => 60,
            (_, position) if position % 20 < 12 => 0,
            (lane, position) => 1 + (lane * 7 + position) % 40,
        };
        let (roots, placement) = run(8, 200, root);
        let shares = vec![0.0; roots.len()];
        let found = Structures::of(&roots, &call_sets(), &placement, &shares, None);
        let odd: Vec<usize> = (0..roots.len())
            .filter(|&tree| found.kinds[tree] == StructureKind::Odd)
            .collect();
        assert_eq!(odd, [3 * 200 + 111]);
        // In a run that never varied, the reference determines that counts may.
        let known = found.known(&roots);
        let steady = run(8, 200, |lane, position| {
            5 * u32::from((lane, position) == (2, 50))
        });
        let odd_with = |reference: Option<&StructureReference<'_>>| {
            let found = Structures::of(&steady.0, &call_sets(), &steady.1, &shares, reference);
            found.kinds.contains(&StructureKind::Odd)
        };
        let reference = StructureReference {
            structures: &known,
            known: &|_| None,
        };
        assert!(odd_with(None) && !odd_with(Some(&reference)));
    }
}
