//! Quality of scores: how well they rank known anomalies.

use callgrove_model::{Label, TreeIdx};

use super::{Class, Truth};
use callgrove_judge::detector::{is_alarm, order_step};
use callgrove_learn::metrics::{RankingQuality, precision_at, ranking_quality};

/// The quality of the scores of some trees.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Quality {
    /// Number of anomalies among them.
    pub num_positive: usize,
    /// Number of normal trees among them.
    pub num_negative: usize,
    /// Areas under curves.
    pub ranking: RankingQuality,
    /// Share of anomalies among the first n trees, where n is the number of anomalies; for trees that are tied at the
    /// end of the n, the mean over all orders.
    pub precision_at_n: f64,
}

/// Errors of a detector's classification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Alarms {
    /// Number of anomalies that are classified as normal.
    pub num_missed: usize,
    /// Number of normal trees that are classified as abnormal.
    pub num_false: usize,
}

impl Alarms {
    /// Counts the errors in the numbers of a detector's list ([`callgrove_judge::detector::listed_scores`]), shape
    /// `[n_trees]`; trees of unknown class do not count.
    pub fn of(truth: &Truth, scores: &[f64]) -> Self {
        let count = |wanted: fn(Class, bool) -> bool| {
            let trees = truth.classes().iter().zip(scores);
            trees
                .filter(|&(&class, &score)| wanted(class, is_alarm(score)))
                .count()
        };
        Self {
            num_missed: count(|class, alarm| matches!(class, Class::Positive(_)) && !alarm),
            num_false: count(|class, alarm| class == Class::Negative && alarm),
        }
    }
}

impl Quality {
    /// Rates `scores`, shape `[n_trees]`, of all trees whose class is known; the smallest score ranks first. Scores
    /// that the list of candidates treats as equal (to 1e-9) are ties. `None` if a class does not occur, a score is
    /// NaN, or there is not one score per tree.
    pub fn of_all(truth: &Truth, scores: &[f64]) -> Option<Self> {
        Self::of(truth, scores, |_, _| true)
    }

    /// Does the same without labelled trees; `labels` has shape `[n_trees]`. Also `None` if all anomalies or all
    /// normal trees are labelled.
    pub fn of_unlabelled(truth: &Truth, scores: &[f64], labels: &[Option<Label>]) -> Option<Self> {
        Self::of(truth, scores, |tree, _| {
            labels.get(tree.index()).is_some_and(Option::is_none)
        })
    }

    /// Rates how well anomalies of one kind are separated from all normal trees. Also `None` if there is no anomaly
    /// of this kind.
    pub fn of_kind(truth: &Truth, scores: &[f64], kind: usize) -> Option<Self> {
        Self::of(truth, scores, |_, class| match class {
            Class::Positive(other) => other == kind,
            Class::Unknown | Class::Negative => true,
        })
    }

    fn of(
        truth: &Truth,
        scores: &[f64],
        is_counted: impl Fn(TreeIdx, Class) -> bool,
    ) -> Option<Self> {
        if scores.len() != truth.len() {
            return None;
        }
        let mut is_anomaly = Vec::new();
        let mut anomaly = Vec::new();
        for (tree, (&class, &score)) in truth.classes().iter().zip(scores).enumerate() {
            if class != Class::Unknown && is_counted(TreeIdx::from_index(tree), class) {
                is_anomaly.push(class != Class::Negative);
                anomaly.push(-order_step(score));
            }
        }
        let num_positive = is_anomaly.iter().filter(|&&is_anomaly| is_anomaly).count();
        Some(Self {
            num_positive,
            num_negative: is_anomaly.len() - num_positive,
            ranking: ranking_quality(&is_anomaly, &anomaly)?,
            precision_at_n: precision_at(&is_anomaly, &anomaly, num_positive)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn truth() -> Truth {
        use Class::{Negative, Positive, Unknown};
        let classes = vec![
            Positive(0),
            Negative,
            Positive(1),
            Unknown,
            Negative,
            Positive(1),
        ];
        Truth::new(classes, vec!["slow".into(), "odd".into()]).unwrap()
    }

    #[test]
    fn each_kind_is_measured_against_the_normal_trees_only() {
        let truth = truth();
        let scores = [-3.0, 0.5, -1.0, -9.0, -2.0, 1.0];
        let areas = |quality: Option<Quality>| quality.map(|quality| quality.ranking.roc_auc);
        assert_eq!(areas(Quality::of_all(&truth, &scores)), Some(0.5));
        assert_eq!(areas(Quality::of_kind(&truth, &scores, 0)), Some(1.0));
        assert_eq!(areas(Quality::of_kind(&truth, &scores, 1)), Some(0.25));
        assert_eq!(Quality::of_kind(&truth, &scores, 2), None);
        let slow = Quality::of_kind(&truth, &scores, 0).unwrap();
        assert_eq!((slow.num_positive, slow.num_negative), (1, 2));
        assert!((slow.precision_at_n - 1.0).abs() < 1e-15);
    }

    #[test]
    fn labelled_trees_can_be_left_out() {
        let truth = truth();
        let scores = [-3.0, 0.5, -1.0, -9.0, -2.0, 1.0];
        let mut labels = vec![None; 6];
        labels[5] = Some(Label::Abnormal);
        let rest = Quality::of_unlabelled(&truth, &scores, &labels).unwrap();
        assert_eq!((rest.num_positive, rest.num_negative), (2, 2));
        assert!((rest.ranking.roc_auc - 0.75).abs() < 1e-15);
        labels[0] = Some(Label::Abnormal);
        labels[2] = Some(Label::Abnormal);
        assert_eq!(Quality::of_unlabelled(&truth, &scores, &labels), None);
    }

    #[test]
    fn scores_equal_up_to_rounding_are_ties() {
        let truth = Truth::new(
            vec![Class::Positive(0), Class::Negative],
            vec!["any".into()],
        )
        .unwrap();
        let quality = Quality::of_all(&truth, &[1e-12, -1e-12]).unwrap();
        assert!((quality.ranking.roc_auc - 0.5).abs() < 1e-15);
        assert!((quality.precision_at_n - 0.5).abs() < 1e-15);
    }
}
