//! The supervised SVM: the result of a model that knows all labels.

use callgrove_model::Progress;
use linfa::prelude::{Dataset, Fit};
use linfa_svm::Svm;
use ndarray::{Array1, Array2, ArrayView1};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::ValidBaselineParams;
use callgrove_judge::decision::normal_norm;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::{MlError, Result};
use callgrove_trees::real::{Real, fraction, whole};

/// Tolerance at which the solver stops, in units of the decision value.
const TOLERANCE: f64 = 1e-3;

/// Returns the decision value of each row, shape `[num_rows]`, by a two-class SVM that was not trained on it; the
/// larger, the more anomalous, with the decision boundary at 0.
///
/// The rows are randomly divided into folds, each class evenly, and each fold is scored by an SVM that learned from
/// the others. Kernel exp(−γ d²) with [`super::BaselineParams::svm_gamma`]. C of a class is `svm_c` · n / (2
/// n_class), so that both classes have the same total weight. If there are more than `max_training` rows, it learns
/// from a random sample with each class in proportion, because linfa-svm stores the full kernel matrix. Rows without
/// truth are scored and never learned from. With fewer examples of a class than folds, there are as many folds as
/// examples.
///
/// This is the row "SVM" of Table 3 of the paper. Solver: linfa-svm's C-SVC, without shrinking (which is broken
/// there), to a tolerance of 1e-3 as in libsvm.
///
/// # Errors
/// [`MlError::LengthMismatch`] unless `is_anomaly` has an entry per row, [`MlError::TooFewExamples`] if
/// a class has fewer than two rows, [`MlError::PeerFailed`], [`MlError::Cancelled`] between folds.
pub fn supervised_svm(
    rows: &Rows,
    is_anomaly: &[Option<bool>],
    params: &ValidBaselineParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Vec<f64>> {
    if is_anomaly.len() != rows.len() {
        return Err(MlError::LengthMismatch {
            what: "known labels",
            expected: rows.len(),
            found: is_anomaly.len(),
        });
    }
    let settings = params.get();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let classes = [Some(false), Some(true), None].map(|class| {
        let mut of_class: Vec<usize> = (0..rows.len())
            .filter(|&row| is_anomaly[row] == class)
            .collect();
        of_class.shuffle(&mut rng);
        of_class
    });
    let (num_normal, num_anomalies) = (classes[0].len(), classes[1].len());
    if num_normal.min(num_anomalies) < 2 {
        return Err(MlError::TooFewExamples {
            num_positive: num_anomalies,
            num_negative: num_normal,
            needed: 2,
        });
    }
    let num_folds = settings.num_folds.min(num_normal).min(num_anomalies);
    let matrix = dense(rows);
    let norm = normal_norm(&rows.norms(), &vec![0.0; rows.len()], 0.99);
    let gamma = settings.svm_gamma.gamma(rows, norm);
    let mut scores = vec![0.0; rows.len()];
    for fold in 0..num_folds {
        progress.at(fraction(fold, num_folds))?;
        let training = [0, 1].map(|class: usize| {
            let rows = classes[class].iter().enumerate();
            let other_folds = rows.filter(|(index, _)| index % num_folds != fold);
            other_folds.map(|(_, &row)| row).collect::<Vec<_>>()
        });
        let training = limited(training, settings.max_training);
        let model = train(&matrix, &training, settings.svm_c, gamma)?;
        let held_out: Vec<usize> = classes
            .iter()
            .flat_map(|class| class.iter().skip(fold).step_by(num_folds).copied())
            .collect();
        let decide = |&row: &usize| model.weighted_sum(&matrix.row(row)) - model.rho;
        let decisions: Vec<f64> = held_out.par_iter().map(decide).collect();
        for (row, decision) in held_out.into_iter().zip(decisions) {
            scores[row] = decision;
        }
    }
    Ok(scores)
}

fn dense(rows: &Rows) -> Array2<f64> {
    let mut matrix = Array2::zeros((rows.len(), rows.num_columns()));
    for row in 0..rows.len() {
        for (column, value) in rows.row(row).entries() {
            matrix[[row, column]] = value;
        }
    }
    matrix
}

/// Returns about `max_rows` rows at most, with the classes in proportion and neither of them empty.
fn limited(classes: [Vec<usize>; 2], max_rows: usize) -> [Vec<usize>; 2] {
    let total = classes[0].len() + classes[1].len();
    if total <= max_rows {
        return classes;
    }
    classes.map(|mut class| {
        let share = class.len().real() / total.real();
        let num_rows = whole((share * max_rows.real()).round());
        class.truncate(num_rows.max(1));
        class
    })
}

/// Trains an SVM that separates normal rows (first) from anomalies (second). Anomalies have positive decision values.
fn train(
    matrix: &Array2<f64>,
    classes: &[Vec<usize>; 2],
    c: f64,
    gamma: f64,
) -> Result<Svm<f64, bool>> {
    let chosen = classes.concat();
    let records: Vec<ArrayView1<'_, f64>> = chosen.iter().map(|&row| matrix.row(row)).collect();
    let records = ndarray::stack(ndarray::Axis(0), &records)
        .map_err(|error| MlError::PeerFailed(error.to_string()))?;
    let targets = (0..chosen.len()).map(|index| index >= classes[0].len());
    let c_of = |class: usize| c * chosen.len().real() / (2.0 * classes[class].len().real());
    Svm::<f64, bool>::params()
        .shrinking(false)
        .eps(TOLERANCE)
        .pos_neg_weights(c_of(1), c_of(0))
        // linfa's kernel is exp(−d² / width).
        .gaussian_kernel(1.0 / gamma)
        .fit(&Dataset::new(records, targets.collect::<Array1<bool>>()))
        .map_err(|error| MlError::PeerFailed(error.to_string()))
}
