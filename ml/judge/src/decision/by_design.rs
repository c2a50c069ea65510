//! Executions that are rare or long by design, with the evidence for it: a separate class that raises no alarm.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{RankId, TreeIdx};
use serde::{Deserialize, Serialize};

use super::placement::Placement;
use super::structures::{LATE_START, StructureKind, Structures};
use callgrove_trees::wl::SubtreeIdx;

/// Executions that are rare or long by design.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ByDesign {
    classes: Vec<DesignClass>,
    /// Index into `classes`, shape `[n_trees]`; empty if structures are unknown.
    of_tree: Vec<Option<u32>>,
}

/// Executions that are rare or long for one reason.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct DesignClass {
    /// The reason.
    pub kind: DesignKind,
    /// The ranks that have such executions, ascending.
    pub ranks: Vec<RankId>,
    /// True if these are all ranks.
    pub is_everywhere: bool,
}

/// The reason why executions are rare or long by design.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum DesignKind {
    /// Most lanes begin or end with a structure that is not common.
    End {
        /// The execution, from 0 on, counted from the start of the lane or from its end.
        nth: u32,
        /// True if it is counted from the start.
        is_start: bool,
    },
    /// The first or last execution takes longer on most lanes.
    LongEnd {
        /// True if it is the first.
        is_start: bool,
    },
    /// Most lanes have the structure at the same executions.
    Together {
        /// Number of separate times.
        num_times: u32,
    },
    /// A lane has the structure at equal distances.
    Every {
        /// Distance in executions of the lane.
        period: u32,
    },
    /// Executions of a lane at equal distances take longer.
    LongEvery {
        /// Distance in executions of the lane.
        period: u32,
    },
}

impl ByDesign {
    /// Returns the classes.
    pub fn classes(&self) -> &[DesignClass] {
        &self.classes
    }

    /// Returns the class of a tree; `None` for one that is not by design.
    pub fn of(&self, tree: TreeIdx) -> Option<&DesignClass> {
        let class = self.of_tree.get(tree.index()).copied().flatten()?;
        self.classes.get(usize::try_from(class).ok()?)
    }

    /// Finds the classes of trees with these roots, total excesses in usual durations, and turns
    /// ([`Deviation::turn`](super::Deviation::turn)); all have shape `[n_trees]`.
    pub(crate) fn new(
        roots: &[SubtreeIdx],
        structures: &Structures,
        placement: &Placement,
        total_shares: &[f64],
        turns: &[Option<u32>],
    ) -> Self {
        let kinds = &structures.kinds;
        let num_times = num_times(roots, kinds, placement);
        let is_long_end = |tree: usize| {
            structures.is_late_end[tree]
                && total_shares.get(tree).is_some_and(|&it| it > LATE_START)
        };
        let mut trees_of: BTreeMap<(DesignKind, Option<SubtreeIdx>), Vec<usize>> = BTreeMap::new();
        for (tree, (&root, &kind)) in roots.iter().zip(kinds).enumerate() {
            let key = match kind {
                StructureKind::Ends => (end(placement, tree), None),
                StructureKind::Recurring => {
                    let num_times = num_times.get(&root).copied().unwrap_or(0);
                    (DesignKind::Together { num_times }, Some(root))
                }
                StructureKind::Every(period) => (DesignKind::Every { period }, Some(root)),
                StructureKind::Common if is_long_end(tree) => {
                    let is_start = placement.places[tree].position == 0;
                    (DesignKind::LongEnd { is_start }, None)
                }
                StructureKind::Common => match turns.get(tree) {
                    Some(&Some(period)) => (DesignKind::LongEvery { period }, None),
                    _ => continue,
                },
                StructureKind::Odd => continue,
            };
            trees_of.entry(key).or_default().push(tree);
        }
        let rank_of = |lane: usize| RankId(placement.keys[lane].1);
        let all: BTreeSet<RankId> = (0..placement.num_lanes()).map(rank_of).collect();
        let mut found = Self {
            classes: Vec::with_capacity(trees_of.len()),
            of_tree: vec![None; roots.len()],
        };
        for (number, ((kind, _), trees)) in (0..).zip(trees_of) {
            let ranks = trees.iter().map(|&it| rank_of(placement.places[it].lane));
            let ranks: BTreeSet<RankId> = ranks.collect();
            found.classes.push(DesignClass {
                kind,
                is_everywhere: ranks == all,
                ranks: ranks.into_iter().collect(),
            });
            for tree in trees {
                found.of_tree[tree] = Some(number);
            }
        }
        found
    }
}

/// Returns which of the first or last executions of its lane a tree is.
fn end(placement: &Placement, tree: usize) -> DesignKind {
    let place = placement.places[tree];
    let from_end = placement.lane_len[place.lane].saturating_sub(place.position + 1);
    let is_start = place.position <= from_end;
    let nth = if is_start { place.position } else { from_end };
    DesignKind::End {
        nth: u32::try_from(nth).unwrap_or(u32::MAX),
        is_start,
    }
}

/// Returns the number of separate times at which most lanes have a structure at once; adjacent executions are one
/// time.
fn num_times(
    roots: &[SubtreeIdx],
    kinds: &[StructureKind],
    placement: &Placement,
) -> BTreeMap<SubtreeIdx, u32> {
    let mut positions: BTreeMap<SubtreeIdx, BTreeSet<usize>> = BTreeMap::new();
    for (tree, &root) in roots.iter().enumerate() {
        if kinds[tree] == StructureKind::Recurring {
            let position = placement.places[tree].position;
            positions.entry(root).or_default().insert(position);
        }
    }
    let times = |positions: BTreeSet<usize>| {
        let starts = positions.iter().filter(|&&at| {
            let before = at.checked_sub(1);
            !before.is_some_and(|before| positions.contains(&before))
        });
        u32::try_from(starts.count()).unwrap_or(u32::MAX)
    };
    let all = positions.into_iter();
    all.map(|(root, positions)| (root, times(positions)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::call_sets::CallSets;
    use super::*;

    const NUM_RANKS: u32 = 4;
    const LEN: u32 = 300;

    fn placement() -> Placement {
        Placement::of_ranks(NUM_RANKS, LEN)
    }

    /// Returns the result if `root` gives the structure, and `share` the excess, by rank and position.
    fn found(root: impl Fn(u32, u32) -> u32, share: impl Fn(u32, u32) -> f64) -> ByDesign {
        let placement = placement();
        let places = || (0..NUM_RANKS).flat_map(|rank| (0..LEN).map(move |at| (rank, at)));
        let roots: Vec<SubtreeIdx> = places()
            .map(|(rank, at)| SubtreeIdx(root(rank, at)))
            .collect();
        let shares: Vec<f64> = places().map(|(rank, at)| share(rank, at)).collect();
        // Each structure calls other functions.
        let call_sets = CallSets::new((0..10).map(|root| (root, u128::from(root) + 1)));
        let structures = Structures::of(&roots, &call_sets, &placement, &shares, None);
        let turns: Vec<Option<u32>> = shares.iter().map(|&it| (it > 1.0).then_some(20)).collect();
        ByDesign::new(&roots, &structures, &placement, &shares, &turns)
    }

    fn class(found: &ByDesign, rank: u32, at: u32) -> Option<(DesignKind, Vec<u32>, bool)> {
        let class = found.of(TreeIdx(rank * LEN + at))?;
        let ranks = class.ranks.iter().map(|rank| rank.0).collect();
        Some((class.kind, ranks, class.is_everywhere))
    }

    #[test]
    fn periods_and_ends_have_their_ranks() {
        let root = |rank, at| match (rank, at) {
            (_, 0) => 1,
            (0, at) if at % 25 == 10 => 2,
            (1, 50) => 3,
            _ => 0,
        };
        let found = found(root, |_, _| 0.0);
        let first = DesignKind::End {
            nth: 0,
            is_start: true,
        };
        assert_eq!(class(&found, 2, 0), Some((first, vec![0, 1, 2, 3], true)));
        let every = DesignKind::Every { period: 25 };
        assert_eq!(class(&found, 0, 35), Some((every, vec![0], false)));
        assert_eq!(class(&found, 1, 50), None, "it is odd");
        assert_eq!(class(&found, 1, 51), None, "it is common");
    }

    #[test]
    fn long_executions_in_turns_are_by_design() {
        let found = found(
            |_, _| 0,
            |rank, at| f64::from(u8::from(rank > 0 && at % 20 == rank)) * 2.0,
        );
        let turn = DesignKind::LongEvery { period: 20 };
        assert_eq!(class(&found, 2, 42), Some((turn, vec![1, 2, 3], false)));
        assert_eq!(class(&found, 2, 43), None);
    }

    #[test]
    fn structures_of_most_ranks_and_long_ends_are_by_design() {
        let at_once = [21, 90, 91, 174, 270];
        let root = |rank, at| u32::from(rank != 3 && at_once.contains(&at));
        let share = |_, at| if at + 1 == LEN { 0.5 } else { 0.0 };
        let found = found(root, share);
        let together = DesignKind::Together { num_times: 4 };
        assert_eq!(class(&found, 1, 91), Some((together, vec![0, 1, 2], false)));
        let last = DesignKind::LongEnd { is_start: false };
        assert_eq!(
            class(&found, 3, LEN - 1),
            Some((last, vec![0, 1, 2, 3], true))
        );
    }
}
