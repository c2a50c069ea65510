//! Correction of p-values for the number of tests.

use callgrove_model::Real;

/// Returns the corrected p-value of each test, in the same order: the smallest false discovery rate at which it is a
/// discovery.
///
/// Source: Y. Benjamini, Y. Hochberg: Controlling the false discovery rate, Journal of the Royal Statistical Society B
/// 57(1), 1995, doi:10.1111/j.2517-6161.1995.tb02031.x. The rate also holds for tests with positive dependence, as
/// those of functions that are slowed together.
pub(crate) fn corrected(p_values: &[f64]) -> Vec<f64> {
    let num_tests = p_values.len();
    let mut order: Vec<usize> = (0..num_tests).collect();
    order.sort_by(|&one, &other| p_values[one].total_cmp(&p_values[other]));
    let mut all = vec![1.0; num_tests];
    let mut smallest = 1.0_f64;
    for (place, &test) in order.iter().enumerate().rev() {
        smallest = smallest.min(p_values[test] * num_tests.real() / (place + 1).real());
        all[test] = smallest;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_corrected_by_their_place() {
        // statsmodels.stats.multitest.multipletests([.01, .04, .03, .005], method="fdr_bh")[1]
        let all = corrected(&[0.01, 0.04, 0.03, 0.005]);
        for (one, expected) in all.iter().zip([0.02, 0.04, 0.04, 0.02]) {
            assert!((one - expected).abs() < 1e-12, "{all:?}");
        }
        assert!(corrected(&[]).is_empty());
    }
}
