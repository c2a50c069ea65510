//! Training on anchors, and scores of all rows.

use std::collections::BTreeMap;

use callgrove_model::Progress;

use super::anchors::Anchors;
use super::model::{Trained, TrainingState, train};
use super::params::ValidOcsvmParams;
use super::problem::check_weights;
use super::row_sums::RowSums;
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;

/// Does the same as [`train`] with only the `anchors` of `rows`, each with the weights of the rows that it
/// represents. The rows `apart` (ascending, each once) represent themselves: their weight has changed since the
/// anchors were chosen, because they were labelled.
///
/// The scores of all rows are exact for the support vectors found. `warm` saves time and does not change the result,
/// not even the last bit.
///
/// Cost: a cold start on the anchors, and rows × columns for each support vector, with a warm start for each whose α
/// changed.
///
/// # Errors
/// See [`train`].
pub fn train_on_anchors(
    rows: &Rows,
    weights: &[f64],
    anchors: &Anchors,
    apart: &[usize],
    params: &ValidOcsvmParams,
    warm: Option<&Trained>,
    progress: Progress<'_>,
) -> Result<Trained> {
    check_weights(weights, rows.len())?;
    let seen = anchors.seen(apart);
    let indices = anchors.indices(apart);
    let mut seen_weights = vec![0.0; seen.len()];
    for (&index, weight) in indices.iter().zip(weights) {
        seen_weights[index as usize] += weight;
    }
    let seen_rows = rows.select(&seen);
    let found = train(
        &seen_rows,
        &seen_weights,
        params,
        None,
        progress.part(0.0, 0.4),
    )?;
    let support = found.support().into_iter();
    let alpha: BTreeMap<usize, f64> = support.map(|(index, alpha)| (seen[index], alpha)).collect();
    let mut sums = warm
        .filter(|warm| warm.is_of(rows, params))
        .and_then(|warm| match &warm.state {
            TrainingState::OnAnchors(sums) => Some(sums.clone()),
            TrainingState::Exact { .. } => None,
        })
        .unwrap_or_else(|| RowSums::zero(rows.len()));
    sums.change_to(alpha, rows, params.gamma(), progress.part(0.4, 1.0))?;
    let f: Vec<f64> = sums.all_f();
    let share = |(&index, &weight): (&u32, &f64)| {
        let index = index as usize;
        if weight > 0.0 {
            found.alpha[index] * (weight / seen_weights[index])
        } else {
            0.0
        }
    };
    Ok(Trained {
        params: *params,
        rho: found.rho,
        scores: f.iter().map(|f| f - found.rho).collect(),
        alpha: indices.iter().zip(weights).map(share).collect(),
        state: TrainingState::OnAnchors(sums),
    })
}
