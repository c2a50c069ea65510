//! The class of each execution, by comparison with its twin.

use std::collections::BTreeMap;

use callgrove_evaluate::evaluate::Class;
use callgrove_model::{Forest, TreeIdx};

use super::injection::{Injection, InjectionKind, LaneUnit};

/// Kinds of abnormal executions; [`Class::Positive`] holds an index into them.
pub const KINDS: [&str; 4] = ["slow calls", "stall", "structure", "victim"];

/// The index of changed structure among them.
pub const STRUCTURE: usize = 2;

/// Minimum duration of an abnormal execution, as a multiple of its twin's.
const ABNORMAL_RATIO: f64 = 1.2;
/// Minimum delay of an abnormal execution, in microseconds; shorter ones are noise.
const ABNORMAL_US: i64 = 200;
/// Maximum duration of a normal execution, as a multiple of its twin's. Executions between the two do not count.
const NORMAL_RATIO: f64 = 1.05;
/// Maximum delay due to rounding, in microseconds.
const NORMAL_US: i64 = 20;

/// Returns the class of each execution and its duration as a multiple of its twin's, NaN without one; shape
/// `[n_trees]`. `lane_of` returns the lane of a rank and thread. The class is unknown if an execution is a little
/// longer than its twin, has no twin, or has an injection that shows in neither its structure nor its duration.
pub(super) fn compare(
    forest: &Forest,
    twin: &Forest,
    injections: &BTreeMap<LaneUnit, Injection>,
    lane_of: impl Fn(usize, usize) -> usize,
) -> Vec<(Class, f64)> {
    let of_twin: BTreeMap<LaneUnit, i64> = timed(twin, &lane_of).into_iter().collect();
    let of_one = |(place, taken_us): (LaneUnit, i64)| {
        let injected = injections.get(&place).map(|injection| injection.kind);
        let Some(&usual_us) = of_twin.get(&place) else {
            return (Class::Unknown, f64::NAN);
        };
        let longer_us = taken_us - usual_us;
        let ratio = taken_us as f64 / usual_us as f64;
        let is_abnormal = ratio > ABNORMAL_RATIO && longer_us > ABNORMAL_US;
        let class = match injected {
            Some(InjectionKind::Replaced | InjectionKind::Missing | InjectionKind::Extra(_)) => {
                Class::Positive(STRUCTURE)
            }
            Some(InjectionKind::Slow(_)) if is_abnormal => Class::Positive(0),
            Some(InjectionKind::Stall(_)) if is_abnormal => Class::Positive(1),
            None if is_abnormal => Class::Positive(3),
            None if ratio < NORMAL_RATIO || longer_us < NORMAL_US => Class::Negative,
            _ => Class::Unknown,
        };
        (class, ratio)
    };
    timed(forest, &lane_of).into_iter().map(of_one).collect()
}

/// Returns the lane and number of each execution and its duration in microseconds, in the order of the trees.
fn timed(forest: &Forest, lane_of: &impl Fn(usize, usize) -> usize) -> Vec<(LaneUnit, i64)> {
    let mut num_units: BTreeMap<usize, usize> = BTreeMap::new();
    let mut timed = vec![((0, 0), 0); forest.len()];
    let mut trees: Vec<TreeIdx> = (0..forest.len()).map(TreeIdx::from_index).collect();
    trees.sort_by_key(|&tree| forest.tree(tree).entry()[0]);
    for tree in trees {
        let lane = forest.lane_of(tree);
        let lane = lane_of(lane.rank.0 as usize, lane.thread.0 as usize);
        let unit = num_units.entry(lane).or_default();
        timed[tree.index()] = ((lane, *unit), forest.tree(tree).duration().as_us());
        *unit += 1;
    }
    timed
}
