//! One-line rules on the trees, as the simplest methods to compare with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use callgrove_model::{DurationNs, Forest, LaneIdx, Progress, TreeIdx};

use callgrove_trees::error::Result;
use callgrove_trees::real::Real;
use callgrove_trees::wl::{WlParams, relabel};

/// Minimum number of trees of a structure with its own median; smaller ones use that of all trees.
const MIN_CLASS_SIZE: usize = 8;
/// Number of windows of a lane, with equal numbers of trees, in which the rarity of a structure is counted.
const WINDOWS_PER_LANE: usize = 16;
/// Weight of the rarity relative to the logarithm of the ratio.
const RARITY_WEIGHT: f64 = 2.0;

/// A rule that computes a number for each tree without learning anything else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// Duration of the tree.
    Duration,
    /// ln(duration / median duration of the trees of the same structure), repeats counted in powers of two;
    /// structures of fewer than 8 trees use the median of all trees.
    ClassRatio,
    /// The class ratio + 2 ln(windows of the lanes that have the structure / windows that have it), where a lane has
    /// 16 windows with equal numbers of trees.
    RatioRarity,
    /// Largest exclusive time of a vertex.
    Largest,
}

impl Rule {
    /// All rules.
    pub const ALL: &[Self] = &[
        Self::Duration,
        Self::ClassRatio,
        Self::RatioRarity,
        Self::Largest,
    ];

    /// Returns its name, which stays the same in all versions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Duration => "duration",
            Self::ClassRatio => "class-ratio",
            Self::RatioRarity => "ratio+rarity",
            Self::Largest => "largest",
        }
    }

    /// Returns the rule with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|rule| rule.name() == name)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns the scores of trees by a rule, shape `[n_trees]`: the negative of its number, so that the smallest score
/// is the most abnormal.
///
/// # Errors
/// [`callgrove_trees::MlError::EmptyForest`], [`callgrove_trees::MlError::Cancelled`].
pub fn rule_scores(rule: Rule, forest: &Forest, progress: Progress<'_>) -> Result<Vec<f64>> {
    if forest.is_empty() {
        return Err(callgrove_trees::MlError::EmptyForest);
    }
    let durations: Vec<f64> = trees(forest)
        .map(|tree| in_ns(forest.tree(tree).duration()))
        .collect();
    let anomaly = match rule {
        Rule::Duration => durations,
        Rule::Largest => trees(forest).map(|tree| largest(forest, tree)).collect(),
        Rule::ClassRatio | Rule::RatioRarity => {
            let classes = classes(forest, progress)?;
            let weight = if rule == Rule::RatioRarity {
                RARITY_WEIGHT
            } else {
                0.0
            };
            log_ratios(forest, &durations, &classes, weight)
        }
    };
    Ok(anomaly.iter().map(|anomaly: &f64| -anomaly).collect())
}

fn trees(forest: &Forest) -> impl Iterator<Item = TreeIdx> {
    (0..forest.len()).map(TreeIdx::from_index)
}

fn largest(forest: &Forest, tree: TreeIdx) -> f64 {
    let lane = forest.trace().lane(forest.trees()[tree.index()].root.lane);
    let exclusive = &lane.executions.exclusive[forest.tree(tree).rows()];
    exclusive.iter().copied().max().map_or(0.0, in_ns)
}

/// Returns the trees of each structure.
fn classes(forest: &Forest, progress: Progress<'_>) -> Result<Vec<Vec<usize>>> {
    let subtrees = relabel(forest, WlParams::default().check()?, progress)?;
    let mut classes: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (tree, &root) in subtrees.bags.roots().iter().enumerate() {
        classes.entry(root).or_default().push(tree);
    }
    Ok(classes.into_values().collect())
}

/// Returns ln(duration / median of the class) + weight · rarity of the class.
fn log_ratios(
    forest: &Forest,
    durations: &[f64],
    classes: &[Vec<usize>],
    rarity_weight: f64,
) -> Vec<f64> {
    let windows = Windows::new(forest);
    let of_all = median(durations.to_vec());
    let mut anomaly = vec![0.0; durations.len()];
    for trees in classes {
        let usual = if trees.len() < MIN_CLASS_SIZE {
            of_all
        } else {
            median(trees.iter().map(|&tree| durations[tree]).collect())
        };
        let rarity = rarity_weight * windows.rarity(trees);
        for &tree in trees {
            let ratio = durations[tree].max(1.0) / usual.max(1.0);
            anomaly[tree] = ratio.ln() + rarity;
        }
    }
    anomaly
}

/// The window and lane of each tree.
struct Windows {
    places: Vec<(LaneIdx, usize)>,
    of_lane: BTreeMap<LaneIdx, usize>,
}

impl Windows {
    fn new(forest: &Forest) -> Self {
        let lane_of = |tree: TreeIdx| forest.trees()[tree.index()].root.lane;
        let mut trees_of_lane: BTreeMap<LaneIdx, usize> = BTreeMap::new();
        for tree in trees(forest) {
            *trees_of_lane.entry(lane_of(tree)).or_default() += 1;
        }
        let mut seen: BTreeMap<LaneIdx, usize> = BTreeMap::new();
        let place = |tree| {
            let lane = lane_of(tree);
            let before = seen.entry(lane).or_default();
            let num_trees = trees_of_lane[&lane];
            let window = *before * num_trees.min(WINDOWS_PER_LANE) / num_trees;
            *before += 1;
            (lane, window)
        };
        Self {
            places: trees(forest).map(place).collect(),
            of_lane: trees_of_lane
                .iter()
                .map(|(&lane, &num_trees)| (lane, num_trees.min(WINDOWS_PER_LANE)))
                .collect(),
        }
    }

    fn rarity(&self, trees: &[usize]) -> f64 {
        let found: BTreeSet<_> = trees.iter().map(|&tree| self.places[tree]).collect();
        let lanes: BTreeSet<_> = found.iter().map(|place| place.0).collect();
        let all: usize = lanes.iter().map(|lane| self.of_lane[lane]).sum();
        let [all, found] = [all, found.len()].map(Real::real);
        (all / found).ln()
    }
}

/// Returns the upper median of at least one number.
fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn in_ns(duration: DurationNs) -> f64 {
    duration.0.real()
}
