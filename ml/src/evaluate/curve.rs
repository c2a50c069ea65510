//! The learning curve: a simulated person who always knows the answer.

use callgrove_model::{Label, Progress, TreeIdx};

use super::{Quality, Truth};
use crate::detector::order_step;
use crate::error::{MlError, Result, check_param};

/// Settings of a learning curve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CurveParams {
    /// Numbers of labels at which the ranking is rated; the last one ends the curve.
    pub checkpoints: Vec<usize>,
}

/// Checked [`CurveParams`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ValidCurveParams(CurveParams);

impl Default for CurveParams {
    fn default() -> Self {
        Self {
            checkpoints: vec![0, 1, 2, 5, 10, 20, 50, 100],
        }
    }
}

impl CurveParams {
    /// Checks that there are checkpoints and that they ascend.
    ///
    /// # Errors
    /// [`MlError::InvalidParam`].
    pub fn check(self) -> Result<ValidCurveParams> {
        let count = self.checkpoints.len();
        check_param(
            "number of checkpoints",
            count as f64,
            count > 0,
            "1 or more",
        )?;
        for pair in self.checkpoints.windows(2) {
            let wanted = "more than the checkpoint before";
            check_param("checkpoint", pair[1] as f64, pair[0] < pair[1], wanted)?;
        }
        Ok(ValidCurveParams(self))
    }
}

/// What a query strategy may know when it chooses the tree to ask about.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Question<'a> {
    /// Scores after the last answer, shape `[n_trees]`; the smallest is the most abnormal.
    pub scores: &'a [f64],
    /// Answers so far, shape `[n_trees]`.
    pub labels: &'a [Option<Label>],
    /// Trees that can be asked about, in order: those without a label whose class is known.
    pub open: &'a [TreeIdx],
}

/// The strategy of the paper: the most abnormal tree that has no label; between equals the first.
pub fn most_anomalous(question: &Question<'_>) -> Option<TreeIdx> {
    let step = |tree: &TreeIdx| order_step(question.scores[tree.index()]);
    let open = question.open.iter().copied();
    open.min_by(|a, b| step(a).total_cmp(&step(b)).then(a.cmp(b)))
}

/// The state at a checkpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct CurvePoint {
    /// Labels given.
    pub num_labels: usize,
    /// Anomalies among them.
    pub num_found: usize,
    /// Quality over all trees; `None` as [`Quality::of_all`] says.
    pub all: Option<Quality>,
    /// Quality over trees without label; `None` once all of a class have one.
    pub unlabelled: Option<Quality>,
}

/// Trains, asks `strategy` for a tree, labels it with the truth, and so on to the last checkpoint.
///
/// `train` gets the labels, shape `[n_trees]`, and returns scores, shape `[n_trees]`; it is called after
/// each label. The curve ends early, with a last point, when no tree is open, or when the strategy has
/// no question left (or names a tree that is not open).
///
/// # Errors
/// Those of `train`; [`MlError::LengthMismatch`] unless it returns a score per tree;
/// [`MlError::Cancelled`].
pub fn learning_curve(
    truth: &Truth,
    params: &ValidCurveParams,
    mut strategy: impl FnMut(&Question<'_>) -> Option<TreeIdx>,
    mut train: impl FnMut(&[Option<Label>], Progress<'_>) -> Result<Vec<f64>>,
    progress: Progress<'_>,
) -> Result<Vec<CurvePoint>> {
    let checkpoints = &params.0.checkpoints;
    let num_trainings = checkpoints.last().map_or(1, |&last| last + 1) as f32;
    let mut labels = vec![None; truth.len()];
    let mut open: Vec<TreeIdx> = (0..truth.len())
        .filter(|&tree| truth.label(tree).is_some())
        .map(TreeIdx::from_index)
        .collect();
    let (mut num_labels, mut num_found) = (0, 0);
    let mut points: Vec<CurvePoint> = Vec::new();
    loop {
        let done = num_labels as f32;
        let part = progress.part(done / num_trainings, (done + 1.0) / num_trainings);
        part.at(0.0)?;
        let scores = train(&labels, part)?;
        if scores.len() != truth.len() {
            return Err(MlError::LengthMismatch {
                what: "scores",
                expected: truth.len(),
                found: scores.len(),
            });
        }
        let is_last = checkpoints
            .iter()
            .all(|&checkpoint| checkpoint <= num_labels);
        let question = Question {
            scores: &scores,
            labels: &labels,
            open: &open,
        };
        let next = Some(&question)
            .filter(|_| !is_last)
            .and_then(&mut strategy)
            .and_then(|tree| open.binary_search(&tree).ok());
        if next.is_none() || checkpoints.contains(&num_labels) {
            points.push(CurvePoint {
                num_labels,
                num_found,
                all: Quality::of_all(truth, &scores),
                unlabelled: Quality::of_unlabelled(truth, &scores, &labels),
            });
        }
        let Some(place) = next else {
            return Ok(points);
        };
        let tree = open.remove(place);
        labels[tree.index()] = truth.label(tree.index());
        num_labels += 1;
        num_found += usize::from(labels[tree.index()] == Some(Label::Abnormal));
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::super::Class;
    use super::*;

    /// Trees 0 to 9; 3 and 7 are anomalies, nothing is known of 5.
    fn truth() -> Truth {
        let classes = (0..10).map(|tree| match tree {
            3 | 7 => Class::Positive(0),
            5 => Class::Unknown,
            _ => Class::Negative,
        });
        Truth::new(classes.collect(), vec!["any".into()]).unwrap()
    }

    /// Scores that ascend with the tree, but a tree called abnormal sinks to the bottom.
    fn train(labels: &[Option<Label>], progress: Progress<'_>) -> Result<Vec<f64>> {
        progress.at(0.5)?;
        let score = |(tree, label): (usize, &Option<Label>)| match label {
            Some(Label::Abnormal) => -100.0,
            Some(Label::Normal) => 100.0,
            None => tree as f64,
        };
        Ok(labels.iter().enumerate().map(score).collect())
    }

    fn curve(checkpoints: &[usize]) -> Vec<CurvePoint> {
        let checkpoints = checkpoints.to_vec();
        let params = CurveParams { checkpoints }.check().unwrap();
        learning_curve(&truth(), &params, most_anomalous, train, Progress::none()).unwrap()
    }

    #[test]
    fn the_oracle_answers_and_the_model_learns() {
        let points = curve(&[0, 2, 4]);
        let counts: Vec<_> = points
            .iter()
            .map(|point| (point.num_labels, point.num_found))
            .collect();
        assert_eq!(counts, [(0, 0), (2, 0), (4, 1)]);
        let roc = |quality: Option<Quality>| quality.unwrap().ranking.roc_auc;
        assert!((roc(points[0].all) - 6.0 / 14.0).abs() < 1e-15);
        assert_eq!(points[0].all, points[0].unlabelled);
        // 0, 1, 2 and 3 have labels: of 4, 6, 7, 8, 9 the anomaly stands third.
        assert!((roc(points[2].unlabelled) - 0.5).abs() < 1e-15);
        assert!((roc(points[2].all) - 12.0 / 14.0).abs() < 1e-15);
    }

    #[test]
    fn the_curve_ends_when_there_is_nothing_left_to_ask() {
        let points = curve(&[0, 100]);
        let last = points.last().unwrap();
        assert_eq!((last.num_labels, last.num_found), (9, 2));
        assert_eq!(last.unlabelled, None);
        assert!((last.all.unwrap().ranking.roc_auc - 1.0).abs() < 1e-15);
    }

    #[test]
    fn a_strategy_may_choose_its_own_trees_and_may_stop() {
        let params = CurveParams::default().check().unwrap();
        let mut wanted = [7, 3].into_iter();
        let strategy = |question: &Question<'_>| {
            assert!(!question.open.contains(&TreeIdx(5)));
            wanted.next().map(TreeIdx)
        };
        let points = learning_curve(&truth(), &params, strategy, train, Progress::none()).unwrap();
        let found: Vec<_> = points.iter().map(|point| point.num_found).collect();
        assert_eq!(found, [0, 1, 2]);
    }

    #[test]
    fn mistakes_are_told() {
        let check = |checkpoints: &[usize]| {
            let checkpoints = checkpoints.to_vec();
            CurveParams { checkpoints }.check().is_err()
        };
        assert!(check(&[]) && check(&[1, 1]) && check(&[2, 1]));
        let params = CurveParams::default().check().unwrap();
        let short = |_: &[Option<Label>], _: Progress<'_>| Ok(vec![0.0]);
        let found = learning_curve(&truth(), &params, most_anomalous, short, Progress::none());
        assert!(matches!(found, Err(MlError::LengthMismatch { .. })));
        let stop = |_| ControlFlow::Break(());
        let progress = Progress::new(&stop);
        let found = learning_curve(&truth(), &params, most_anomalous, train, progress);
        assert_eq!(found, Err(MlError::Cancelled));
    }
}
