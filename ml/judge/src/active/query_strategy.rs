//! Query strategies: which tree a person should label next.

use callgrove_model::{Label, TreeIdx};
use serde::{Deserialize, Serialize};

use crate::detector::{Detector, Embedding, order_by_score};
use callgrove_learn::ocsvm::exp_of_negative;
use callgrove_trees::real::Real;

/// The order in which unlabelled trees are asked about. Equal trees come in order of tree.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryStrategy {
    /// The most anomalous tree until a label confirms that an outlying tree is abnormal, then the most uncertain. On
    /// a run without anomalies the first trees are false alarms, and labels for them clear all similar ones; on a run
    /// with many anomalies the first trees add no information.
    #[default]
    Automatic,
    /// The lowest score. It finds anomalies soonest. On a good ranking its labels add the least information, since
    /// the first trees are all abnormal (section 5.1 of the paper).
    MostAnomalous,
    /// The score nearest to the threshold of the decision (uncertainty sampling, Lewis and Gale 1994).
    MostUncertain,
    /// Near the threshold and dissimilar to all labelled trees: one question for each kind of tree.
    Diverse,
}

/// Share of the mean distance to the threshold below which all trees count as equally uncertain.
const UNCERTAIN_SHARE: f64 = 0.4;

impl QueryStrategy {
    /// All strategies.
    pub const ALL: [Self; 4] = [
        Self::Automatic,
        Self::MostAnomalous,
        Self::MostUncertain,
        Self::Diverse,
    ];

    /// Returns its name in commands and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::MostAnomalous => "most-anomalous",
            Self::MostUncertain => "most-uncertain",
            Self::Diverse => "diverse",
        }
    }
}

/// Returns the next trees to ask about, at most `count`, in order.
///
/// [`QueryStrategy::Diverse`] takes abnormal trees while there are any, then the most uncertain. Among the abnormal
/// ones it takes the tree with the largest (1 − k) / (|s − t| + b), with k its kernel with the nearest labelled or
/// chosen tree (the label kernel, see [`crate::decision::LabelReach`]), s its score, t the threshold and b 0.4 of the
/// mean |s − t|.
pub fn next_queries(
    query: QueryStrategy,
    embedding: &Embedding,
    detector: &Detector,
    count: usize,
) -> Vec<TreeIdx> {
    let labels = detector.labels();
    let is_open = |tree: &TreeIdx| labels[tree.index()].is_none();
    match query {
        QueryStrategy::Automatic => {
            let query = if labels.contains(&Some(Label::Abnormal)) {
                QueryStrategy::MostUncertain
            } else {
                QueryStrategy::MostAnomalous
            };
            next_queries(query, embedding, detector, count)
        }
        QueryStrategy::MostAnomalous => order_by_score(detector.scores())
            .into_iter()
            .filter(is_open)
            .take(count)
            .collect(),
        QueryStrategy::MostUncertain => by_uncertainty(detector)
            .into_iter()
            .filter(is_open)
            .take(count)
            .collect(),
        QueryStrategy::Diverse => {
            let mut chosen = diverse(embedding, detector, count);
            if chosen.len() < count {
                let rest = by_uncertainty(detector).into_iter().filter(is_open);
                let is_alarm = |tree: &TreeIdx| detector.abnormal()[tree.index()];
                let rest = rest.filter(|tree| !is_alarm(tree));
                chosen.extend(rest.take(count - chosen.len()));
            }
            chosen
        }
    }
}

fn by_uncertainty(detector: &Detector) -> Vec<TreeIdx> {
    order_by_score(&distances(detector))
}

/// Returns the distances of scores to the threshold.
fn distances(detector: &Detector) -> Vec<f64> {
    let scores = detector.scores().iter();
    scores
        .map(|score| (score - detector.threshold()).abs())
        .collect()
}

/// Returns diverse abnormal trees, at most `count`.
fn diverse(embedding: &Embedding, detector: &Detector, count: usize) -> Vec<TreeIdx> {
    let (far, labels) = (distances(detector), detector.labels());
    let near = UNCERTAIN_SHARE * far.iter().sum::<f64>() / far.len().max(1).real();
    let candidates: Vec<usize> = (0..far.len())
        .filter(|&tree| labels[tree].is_none() && detector.abnormal()[tree])
        .collect();
    // Kernel with the nearest tree that has been asked about.
    let rows = embedding.rows().select(&candidates);
    let gamma = embedding.label_gamma();
    let mut known = vec![0.0_f64; candidates.len()];
    let learn = |known: &mut [f64], tree: usize| {
        let distances = rows.squared_distances(embedding.rows().row(tree));
        for (known, distance) in known.iter_mut().zip(distances) {
            *known = known.max(exp_of_negative(-gamma * distance));
        }
    };
    let asked: Vec<usize> = (0..far.len())
        .filter(|&tree| labels[tree].is_some())
        .collect();
    for tree in asked {
        learn(&mut known, tree);
    }
    let mut chosen = Vec::new();
    while chosen.len() < count.min(candidates.len()) {
        let value = |index: usize| (1.0 - known[index]) / (far[candidates[index]] + near);
        let best = (0..candidates.len())
            .filter(|index| !chosen.contains(index))
            .reduce(|best, index| {
                if value(index) > value(best) {
                    index
                } else {
                    best
                }
            });
        let Some(best) = best else {
            break;
        };
        learn(&mut known, candidates[best]);
        chosen.push(best);
    }
    chosen
        .into_iter()
        .map(|index| TreeIdx::from_index(candidates[index]))
        .collect()
}
