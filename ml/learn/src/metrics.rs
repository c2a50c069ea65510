//! Ranking metrics: areas under curves, with ties handled as one threshold.

use callgrove_trees::real::Real;
/// Areas under the curves of a ranking.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RankingQuality {
    /// Area under the receiver operating characteristic: the probability that an anomaly ranks before a normal tree,
    /// ties counted half.
    pub roc_auc: f64,
    /// Average precision Σ (R_k − R_(k−1)) P_k, without interpolation: the meaning of "PR AUC" here.
    pub average_precision: f64,
    /// Area under the precision-recall curve by trapezoids, which is optimistic; for comparison with publications
    /// that use it.
    pub pr_auc_trapezoid: f64,
}

/// Rates a ranking; the largest `anomaly` number ranks first. `None` if there is no anomaly or nothing else, if
/// lengths differ, or if a number is NaN.
pub fn ranking_quality(is_anomaly: &[bool], anomaly: &[f64]) -> Option<RankingQuality> {
    if is_anomaly.len() != anomaly.len() || anomaly.iter().any(|value| value.is_nan()) {
        return None;
    }
    let num_anomalies = is_anomaly.iter().filter(|&&is_anomaly| is_anomaly).count();
    let num_normal = is_anomaly.len() - num_anomalies;
    if num_anomalies == 0 || num_normal == 0 {
        return None;
    }
    let mut order: Vec<usize> = (0..anomaly.len()).collect();
    order.sort_by(|&a, &b| anomaly[b].total_cmp(&anomaly[a]));
    let (mut roc_auc, mut average_precision, mut pr_auc_trapezoid) = (0.0, 0.0, 0.0);
    let (mut num_found, mut num_false) = (0_usize, 0_usize);
    // The precision-recall curve begins at recall 0, precision 1.
    let (mut last_recall, mut last_precision) = (0.0, 1.0);
    for tied in order.chunk_by(|&a, &b| anomaly[a].total_cmp(&anomaly[b]).is_eq()) {
        let found = tied.iter().filter(|&&index| is_anomaly[index]).count();
        let wrong = tied.len() - found;
        roc_auc += wrong.real() * (num_found.real() + 0.5 * found.real());
        num_found += found;
        num_false += wrong;
        let recall = num_found.real() / num_anomalies.real();
        let precision = num_found.real() / (num_found + num_false).real();
        average_precision += (recall - last_recall) * precision;
        pr_auc_trapezoid += (recall - last_recall) * 0.5 * (precision + last_precision);
        (last_recall, last_precision) = (recall, precision);
    }
    Some(RankingQuality {
        roc_auc: roc_auc / (num_anomalies.real() * num_normal.real()),
        average_precision,
        pr_auc_trapezoid,
    })
}

/// Returns the share of anomalies among the first `n`, the largest `anomaly` number first; if equal numbers are on
/// both sides of the end, the mean over all their orders. `None` if `n` is 0 or more than there are, if lengths
/// differ, or if a number is NaN.
pub fn precision_at(is_anomaly: &[bool], anomaly: &[f64], n: usize) -> Option<f64> {
    if is_anomaly.len() != anomaly.len() || anomaly.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut order: Vec<usize> = (0..anomaly.len()).collect();
    order.sort_by(|&a, &b| anomaly[b].total_cmp(&anomaly[a]));
    let threshold = anomaly[*order.get(n.checked_sub(1)?)?];
    let count = |indices: &[usize]| {
        indices
            .iter()
            .filter(|&&index| is_anomaly[index])
            .count()
            .real()
    };
    let above = order.partition_point(|&index| anomaly[index] > threshold);
    let up_to = order.partition_point(|&index| anomaly[index] >= threshold);
    let share = (n - above).real() / (up_to - above).real();
    Some((count(&order[..above]) + share * count(&order[above..up_to])) / n.real())
}
