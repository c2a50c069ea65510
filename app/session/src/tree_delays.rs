//! The executions that named delays lengthened, and what that changes in the decisions of a model.
//!
//! A model compares executions with like ones. That fails in two ways. Where a delay changes the structure of an
//! execution, as in a loop whose chunks go to whichever thread is free, late executions are compared with each other.
//! And where work varies by design, so do the times of those who wait. The replay of the run knows better: it follows
//! each delay to all whom it delayed. So:
//!
//! * An execution is abnormal if named delays, its own and those that it waited for, lengthened it by a third or more.
//!   Such executions come first in order, the longest delayed ones before the others.
//! * If executions that no named delay lengthened are called abnormal throughout the run and on nearly all lanes, their
//!   times vary too much. Then no execution is called abnormal for its time alone.
//! * What would be no third longer than usual without short delays such as half of the ranks have is not abnormal: the
//!   machine interrupts every rank now and then, and all ranks that wait for it are late together.
//!
//! Where nearly all ranks have named delays, these are the noise of the machine as much as faults. Then the model alone
//! decides, and of the executions that they lengthened the longest come first.

use callgrove_model::{DurationNs, Forest, TreeIdx};
use callgrove_query::RunCauses;

use crate::dismissed_alarms::{DismissedAlarms, VariedTimes};
use crate::learning::TreeScores;
use crate::short_delays::{EXPECTED, MIN_RANKS, common_short};

/// Minimum time by which named delays lengthen an abnormal execution.
const MIN_DELAY: DurationNs = DurationNs::from_us(200);
/// Minimum share of that in the rest of the execution: the minimum excess of an alarm of a model.
const MIN_SHARE: f64 = 0.35;
/// Share of the ranks that have delays if these are common: 3/4.
const COMMON_RANKS: (usize, usize) = (3, 4);
/// Number of named delays per rank from which on they are common: 3/2.
const COMMON_DELAYS: (usize, usize) = (3, 2);
/// Minimum number of such delays: fewer may all be faults.
const MIN_COMMON: usize = 16;
/// Number of parts of the run that each must have executions that vary by design.
const NUM_PARTS: usize = 5;
/// Minimum share of such executions in each part.
const MIN_PART_SHARE: f64 = 0.01;
/// Minimum number of such executions in each part.
const MIN_IN_PART: usize = 3;
/// Minimum number of executions of a lane that can show whether it has such ones.
const MIN_ON_LANE: usize = 20;
/// Minimum share of the lanes that have such executions.
const MIN_LANES: f64 = 0.8;

/// The named delays of the trees of a forest; lists have shape `[n_trees]`.
#[derive(Clone, Debug)]
pub struct TreeDelays {
    /// How much longer each tree took because of named delays.
    delays: Vec<DurationNs>,
    /// How much longer each tree took because of short delays such as half of the ranks have.
    short: Vec<DurationNs>,
    /// The median duration of the trees of each lane.
    medians: Vec<DurationNs>,
    durations: Vec<DurationNs>,
    /// The number of each tree's lane.
    lanes: Vec<usize>,
    /// The part of the run in which each tree begins.
    parts: Vec<usize>,
    /// True if nearly all ranks have named delays.
    are_common: bool,
}

impl TreeDelays {
    /// Computes the delays of all trees of a forest of the same trace. Cost: O(log n) in delays for each.
    pub fn new(causes: &RunCauses, forest: &Forest) -> Self {
        let trees = || (0..forest.len()).map(TreeIdx::from_index);
        let entry = |tree: TreeIdx| forest.tree(tree).entry()[0];
        let begin = trees().map(entry).min().unwrap_or_default();
        let span = trees().map(|tree| entry(tree).since(begin)).max();
        let span_ns = span.map_or(1, |span| span.0 + 1);
        let part = |tree: TreeIdx| {
            let part = entry(tree).since(begin).0 as f64 / span_ns as f64;
            (part * NUM_PARTS as f64) as usize
        };
        let is_short = common_short(causes);
        let is_named = |root: usize| causes.found().is_named(root);
        let durations: Vec<DurationNs> = trees().map(|it| forest.tree(it).duration()).collect();
        let lanes: Vec<usize> = (forest.trees().iter())
            .map(|it| it.root.lane.index())
            .collect();
        Self {
            delays: trees()
                .map(|it| causes.delay_by(forest, it, is_named))
                .collect(),
            short: trees()
                .map(|it| causes.delay_by(forest, it, |root| is_short[root]))
                .collect(),
            medians: medians(&durations, &lanes),
            durations,
            lanes,
            parts: trees().map(part).collect(),
            are_common: are_common(causes),
        }
    }

    /// Returns the named delay of a tree as a share of the rest of it; 0 if it is short.
    fn share(&self, tree: usize) -> f64 {
        let (delay, duration) = (self.delays[tree], self.durations[tree]);
        if delay < MIN_DELAY {
            return 0.0;
        }
        delay.0 as f64 / (duration - delay).0.max(1) as f64
    }

    /// Returns whether named delays lengthened each tree by a third or more.
    fn is_delayed(&self) -> Vec<bool> {
        let trees = 0..self.delays.len();
        trees.map(|tree| self.share(tree) >= MIN_SHARE).collect()
    }

    /// Returns whether a tree would be no third longer than the median of its lane without short delays such as half of the
    /// ranks have.
    fn is_short_delayed(&self, tree: usize) -> bool {
        let (short, median) = (self.short[tree], self.medians[self.lanes[tree]]);
        let rest = self.durations[tree] - short;
        short > DurationNs::ZERO && rest.0 as f64 <= (1.0 + MIN_SHARE) * median.0 as f64
    }

    /// Applies the delays to the scores and decisions of a model for the same trees.
    pub fn apply(&self, scores: &mut TreeScores) {
        let is_delayed = self.is_delayed();
        let varied = self.varied(scores, &is_delayed);
        let mut num_short = 0;
        let finite = scores.scores.iter().copied().filter(|it| it.is_finite());
        let first = finite.fold(0.0, f64::min);
        let num_trees = is_delayed.len() as f64;
        let mut lowest = first;
        for (tree, &is_delayed) in is_delayed.iter().enumerate() {
            if scores.is_by_label[tree] {
                continue;
            }
            if is_delayed {
                let cost = if self.are_common {
                    self.durations[tree]
                } else {
                    self.delays[tree]
                };
                let cost = cost.0 as f64 / MIN_DELAY.0 as f64;
                scores.scores[tree] = first - cost.ln_1p();
                lowest = lowest.min(scores.scores[tree]);
                if !self.are_common
                    && let Some(p_values) = &mut scores.p_values
                {
                    scores.abnormal[tree] = true;
                    p_values[tree] = p_values[tree].min(EXPECTED / num_trees);
                }
            } else if !scores.is_odd[tree] {
                // A known cause explains more than that short delays are usual.
                let is_short = scores.causes[tree].is_none() && self.is_short_delayed(tree);
                if varied.is_some() || is_short {
                    num_short += usize::from(is_short && scores.abnormal[tree]);
                    scores.abnormal[tree] = false;
                    scores.causes[tree] = None;
                }
            }
        }
        scores.dismissed = DismissedAlarms { varied, num_short };
        // What a person called abnormal stays first.
        for (tree, &is_by_label) in scores.is_by_label.iter().enumerate() {
            if is_by_label && scores.abnormal[tree] {
                scores.scores[tree] = scores.scores[tree].min(lowest - 1.0);
            }
        }
    }

    /// Returns the trees that vary by design, if they come evenly over the run and its lanes.
    fn varied(&self, scores: &TreeScores, is_delayed: &[bool]) -> Option<VariedTimes> {
        let is_varied = |&tree: &usize| {
            let is_open = scores.causes[tree].is_none() && !scores.is_by_label[tree];
            let is_long = !is_delayed[tree] && !self.is_short_delayed(tree);
            scores.abnormal[tree] && !scores.is_odd[tree] && is_open && is_long
        };
        let varied: Vec<usize> = (0..is_delayed.len()).filter(is_varied).collect();
        // Of each part and lane: how many vary, and all that could.
        let mut parts = [(0, 0); NUM_PARTS];
        let num_lanes = self.lanes.iter().max().map_or(0, |last| last + 1);
        let mut lanes = vec![(0, 0); num_lanes];
        for &tree in &varied {
            parts[self.parts[tree]].0 += 1;
            lanes[self.lanes[tree]].0 += 1;
        }
        for tree in (0..is_delayed.len()).filter(|&tree| !is_delayed[tree]) {
            parts[self.parts[tree]].1 += 1;
            lanes[self.lanes[tree]].1 += 1;
        }
        let is_in_all_parts = parts
            .iter()
            .all(|&(num, all)| num >= MIN_IN_PART && num as f64 >= MIN_PART_SHARE * all as f64);
        lanes.retain(|&(_, all)| all >= MIN_ON_LANE);
        let num_with = lanes.iter().filter(|it| it.0 > 0).count();
        if !is_in_all_parts || (num_with as f64) < MIN_LANES * lanes.len() as f64 {
            return None;
        }
        let mut durations: Vec<DurationNs> =
            varied.iter().map(|&tree| self.durations[tree]).collect();
        durations.sort_unstable();
        let tenth = durations.len() / 10;
        Some(VariedTimes {
            num_trees: varied.len(),
            durations: (durations[tenth], durations[durations.len() - 1 - tenth]),
        })
    }
}

/// Returns the median duration of the trees of each lane.
fn medians(durations: &[DurationNs], lanes: &[usize]) -> Vec<DurationNs> {
    let num_lanes = lanes.iter().max().map_or(0, |last| last + 1);
    let mut of_lanes = vec![Vec::new(); num_lanes];
    for (&duration, &lane) in durations.iter().zip(lanes) {
        of_lanes[lane].push(duration);
    }
    let median = |mut of: Vec<DurationNs>| {
        let middle = of.len() / 2;
        of.sort_unstable();
        of.get(middle).copied().unwrap_or_default()
    };
    of_lanes.into_iter().map(median).collect()
}

/// Returns whether nearly all ranks have named delays.
fn are_common(causes: &RunCauses) -> bool {
    let lanes = causes.trace().lanes.iter();
    let mut ranks: Vec<_> = lanes.map(|it| (it.program, it.rank)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let incidents = causes.incidents().iter();
    let named = incidents.filter(|it| it.kind.names_a_fault() && it.kind.is_of_a_rank());
    let mut of_ranks: Vec<_> = named
        .map(|it| (causes.trace().lane(it.root.lane).program, it.root.rank))
        .collect();
    let num_delays = of_ranks.len();
    of_ranks.sort_unstable();
    of_ranks.dedup();
    num_delays >= MIN_COMMON
        && ranks.len() >= MIN_RANKS
        && of_ranks.len() * COMMON_RANKS.1 >= ranks.len() * COMMON_RANKS.0
        && num_delays * COMMON_DELAYS.1 >= ranks.len() * COMMON_DELAYS.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: DurationNs = DurationNs::from_us(1_000);

    /// Returns the trees of `num_lanes` lanes of `len` executions of 10 ms, lane by lane, with these named delays.
    fn delays(num_lanes: usize, len: usize, delays: &[(usize, DurationNs)]) -> TreeDelays {
        let num = num_lanes * len;
        let mut found = TreeDelays {
            delays: vec![DurationNs::ZERO; num],
            short: vec![DurationNs::ZERO; num],
            medians: vec![DurationNs(10 * MS.0); num_lanes],
            durations: vec![DurationNs(10 * MS.0); num],
            lanes: (0..num).map(|tree| tree / len).collect(),
            parts: (0..num).map(|tree| tree % len * NUM_PARTS / len).collect(),
            are_common: false,
        };
        for &(tree, delay) in delays {
            found.delays[tree] = delay;
        }
        found
    }

    fn scores(num: usize, is_abnormal: impl Fn(usize) -> bool) -> TreeScores {
        let abnormal: Vec<bool> = (0..num).map(is_abnormal).collect();
        let score = |it: &bool| if *it { -3.0 } else { 0.5 };
        TreeScores {
            scores: abnormal.iter().map(score).collect(),
            abnormal,
            p_values: Some(vec![0.5; num]),
            causes: vec![None; num],
            is_odd: vec![false; num],
            is_by_label: vec![false; num],
            ..TreeScores::default()
        }
    }

    fn abnormal(scores: &TreeScores) -> Vec<usize> {
        let trees = 0..scores.abnormal.len();
        trees.filter(|&tree| scores.abnormal[tree]).collect()
    }

    #[test]
    fn what_named_delays_lengthened_by_a_third_is_abnormal_and_first() {
        let delays = delays(
            4,
            50,
            &[
                (7, DurationNs(8 * MS.0)),
                (9, DurationNs(3 * MS.0)),
                (11, MS),
            ],
        );
        let mut found = scores(200, |tree| tree == 20);
        delays.apply(&mut found);
        assert_eq!(abnormal(&found), [7, 9, 20]);
        let order = [7, 9, 20, 11].map(|tree| found.scores[tree]);
        assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
        assert!(found.p_values.unwrap()[7] < 1.0 / 200.0);
    }

    #[test]
    fn what_short_delays_explain_that_half_of_the_ranks_have_is_not_abnormal() {
        let mut delays = delays(4, 50, &[]);
        for tree in [7, 9, 11] {
            delays.durations[tree] = DurationNs(14 * MS.0);
        }
        delays.short[7] = DurationNs(4 * MS.0);
        delays.short[9] = DurationNs(MS.0 / 4);
        delays.short[11] = DurationNs(4 * MS.0);
        let mut found = scores(200, |tree| matches!(tree, 7 | 9 | 11));
        found.is_odd[11] = true;
        delays.apply(&mut found);
        // The rest of 9 is still a third longer than usual, and 11 has an odd structure.
        assert_eq!(abnormal(&found), [9, 11]);
        let words: Vec<String> = found.dismissed.sentences(200).collect();
        assert_eq!(words.len(), 1);
        assert!(
            words[0].starts_with("1 execution is longer only because"),
            "{words:?}"
        );
    }

    #[test]
    fn a_label_outweighs_a_delay() {
        let delays = delays(4, 50, &[(7, DurationNs(8 * MS.0))]);
        let mut found = scores(200, |_| false);
        found.is_by_label[7] = true;
        let before = found.clone();
        delays.apply(&mut found);
        assert_eq!(found, before);
    }

    #[test]
    fn delays_that_nearly_all_ranks_have_only_order() {
        let mut delays = delays(4, 50, &[(7, DurationNs(8 * MS.0))]);
        delays.are_common = true;
        let mut found = scores(200, |tree| tree == 20);
        delays.apply(&mut found);
        assert_eq!(abnormal(&found), [20]);
        assert!(found.scores[7] < found.scores[20]);
    }

    #[test]
    fn times_that_vary_throughout_the_run_are_not_abnormal() {
        // A tenth of the executions, and an odd structure.
        let varied = |tree: usize| tree.is_multiple_of(10) || tree == 33;
        let mut found = scores(400, varied);
        found.is_odd[33] = true;
        let delayed = delays(4, 100, &[(7, DurationNs(8 * MS.0))]);
        delayed.apply(&mut found);
        assert_eq!(abnormal(&found), [7, 33]);
        let words = found.dismissed.sentences(400).next().unwrap();
        assert!(
            words.starts_with("40 of 400 executions take 10 ms to 10 ms"),
            "{words}"
        );
        // The same number in one part of the run, or on one lane, are faults.
        for is_fault in [|tree: usize| tree % 100 < 10, |tree: usize| tree < 40] {
            let mut found = scores(400, is_fault);
            delays(4, 100, &[]).apply(&mut found);
            let found = (abnormal(&found).len(), found.dismissed);
            assert_eq!(found, (40, DismissedAlarms::default()));
        }
    }
}
