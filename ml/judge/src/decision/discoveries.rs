//! The false discovery rate: the p-values that are discoveries.

use callgrove_trees::real::Real;

/// The decision about a set of p-values.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Discoveries {
    /// True for each discovery, shape `[n]`.
    pub is_discovery: Vec<bool>,
    /// Smallest rate at which each would be a discovery, 0..=1, shape `[n]`.
    pub q_values: Vec<f64>,
    /// ln of the largest p-value that is a discovery, or would be the first.
    pub ln_threshold: f64,
}

/// Decides about the set of p-values whose logarithms are `ln_p`, such that a share `rate` of the discoveries is
/// expected to be false (Benjamini and Hochberg 1995; for conformal p-values, which are positively dependent, Bates
/// et al. 2023). Without p-values there are no discoveries.
pub fn discoveries(ln_p: &[f64], rate: f64) -> Discoveries {
    let mut order: Vec<usize> = (0..ln_p.len()).collect();
    order.sort_by(|&a, &b| ln_p[a].total_cmp(&ln_p[b]));
    let num = ln_p.len().max(1).real();
    let mut found = Discoveries {
        is_discovery: vec![false; ln_p.len()],
        q_values: vec![1.0; ln_p.len()],
        ln_threshold: (rate / num).ln(),
    };
    let mut least = 0.0_f64;
    for (place, &at) in order.iter().enumerate().rev() {
        least = least.min(ln_p[at] + num.ln() - (place + 1).real().ln());
        found.q_values[at] = least.exp();
        // Ties with the last discovery are discoveries, too.
        if least <= rate.ln() {
            found.is_discovery[at] = true;
            found.ln_threshold = found.ln_threshold.max(ln_p[at]);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_benjamini_and_hochberg() {
        // The example of their paper of 1995: 4 of 15 at a rate of .05.
        let p_values: [f64; 15] = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let found = discoveries(&p_values.map(f64::ln), 0.05);
        assert_eq!(found.is_discovery.iter().filter(|&&it| it).count(), 4);
        assert!((found.ln_threshold - 0.0095_f64.ln()).abs() < 1e-12);
        assert!(found.q_values.is_sorted());
        assert!((found.q_values[3] - 0.0095 * 15.0 / 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_set_without_any_has_the_threshold_of_the_first() {
        let found = discoveries(&[0.5_f64.ln(), 0.2_f64.ln()], 0.1);
        assert_eq!(found.is_discovery, [false, false]);
        assert!((found.ln_threshold.exp() - 0.05).abs() < 1e-12);
        assert_eq!(discoveries(&[], 0.1).is_discovery, [false; 0]);
    }
}
