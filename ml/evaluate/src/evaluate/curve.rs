//! The learning curve with a simulated person who always knows the right label.

use callgrove_model::{Label, Progress};

use super::{Alarms, Quality, Truth};
use callgrove_judge::active::{QueryStrategy, doubtful_labels, next_queries};
use callgrove_judge::detector::{Detector, Embedding, causes, listed_scores};
use callgrove_trees::error::{MlError, Result, check_param};
use callgrove_trees::real::{Real, fraction};

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
            count.real(),
            count > 0,
            "1 or more",
        )?;
        for pair in self.checkpoints.windows(2) {
            let wanted = "more than the checkpoint before";
            check_param("checkpoint", pair[1].real(), pair[0] < pair[1], wanted)?;
        }
        Ok(ValidCurveParams(self))
    }
}

/// The state at a checkpoint.
#[derive(Clone, PartialEq, Debug)]
pub struct CurvePoint {
    /// Number of labels given.
    pub num_labels: usize,
    /// Number of anomalies among them.
    pub num_found: usize,
    /// The trees that are classified as abnormal.
    pub alarms: Alarms,
    /// Number of labels that contradict their neighbourhood.
    pub num_doubtful: usize,
    /// Quality over all trees; `None` as for [`Quality::of_all`].
    pub all: Option<Quality>,
    /// Quality over trees without label; `None` once all of a class have one.
    pub unlabelled: Option<Quality>,
}

/// Trains the detector of `embedding`, asks for a tree by `query`, labels it with the truth, and repeats this up to
/// the last checkpoint.
///
/// Trees whose class is unknown are never asked about. The curve ends early, with a last point, when no other tree is
/// left.
///
/// # Errors
/// [`MlError::LengthMismatch`] if the truth has another number of trees, those of [`Detector::train`],
/// [`MlError::Cancelled`].
pub fn learning_curve(
    embedding: &Embedding,
    truth: &Truth,
    params: &ValidCurveParams,
    query: QueryStrategy,
    progress: Progress<'_>,
) -> Result<Vec<CurvePoint>> {
    if truth.len() != embedding.num_trees() {
        return Err(MlError::LengthMismatch {
            what: "classes",
            expected: embedding.num_trees(),
            found: truth.len(),
        });
    }
    let checkpoints = &params.0.checkpoints;
    let last = checkpoints.last().copied().unwrap_or(0);
    let num_unknown = truth.len() - truth.num_positive() - truth.num_negative();
    let mut labels = vec![None; truth.len()];
    let (mut num_labels, mut num_found) = (0, 0);
    let mut points: Vec<CurvePoint> = Vec::new();
    let mut warm = None;
    loop {
        let part = |step: usize| fraction(step, last + 1);
        let progress = progress.part(part(num_labels), part(num_labels + 1));
        let detector = Detector::train(embedding, &labels, warm.as_ref(), progress)?;
        let next = (num_labels < last)
            .then(|| next_queries(query, embedding, &detector, num_unknown + 1))
            .into_iter()
            .flatten()
            .find(|tree| truth.label(tree.index()).is_some());
        if next.is_none() || checkpoints.contains(&num_labels) {
            let abnormal = detector.abnormal();
            let causes = causes(abnormal, &labels, embedding.write_shares());
            let scores = &listed_scores(detector.scores(), abnormal, &causes);
            points.push(CurvePoint {
                num_labels,
                num_found,
                alarms: Alarms::of(truth, scores),
                num_doubtful: doubtful_labels(embedding, &detector).len(),
                all: Quality::of_all(truth, scores),
                unlabelled: Quality::of_unlabelled(truth, scores, &labels),
            });
        }
        let Some(tree) = next else {
            return Ok(points);
        };
        warm = Some(detector);
        labels[tree.index()] = truth.label(tree.index());
        num_labels += 1;
        num_found += usize::from(labels[tree.index()] == Some(Label::Abnormal));
    }
}
