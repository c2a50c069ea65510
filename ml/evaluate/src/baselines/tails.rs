//! Tail probabilities of the numbers of a column, which COPOD and ECOD share.

use callgrove_trees::real::Real;
use std::cmp::Ordering;

/// Relative bound of rounding: a variance of at most this times the mean, squared, means that the column is constant
/// (the bound of scipy).
const RESOLUTION: f64 = 1e-15;

/// The tails of a column of n numbers.
pub(super) struct Tails {
    /// −ln(share of numbers that are at most x), for each number x.
    pub(super) left: Vec<f64>,
    /// −ln(share of numbers that are at least x).
    pub(super) right: Vec<f64>,
    /// Sign of the skewness; `Equal` for a symmetric or constant column.
    pub(super) skew: Ordering,
}

impl Tails {
    /// Computes the tails of a column of finite numbers.
    pub(super) fn new(column: &[f64]) -> Self {
        let mut order: Vec<usize> = (0..column.len()).collect();
        order.sort_unstable_by(|&a, &b| column[a].total_cmp(&column[b]));
        let mut left = vec![0.0; column.len()];
        let mut right = left.clone();
        let count = column.len().real();
        let mut num_before = 0;
        // Not total_cmp: 0 and −0 are one value.
        for tied in order.chunk_by(|&a, &b| column[a] >= column[b]) {
            let num_up_to = num_before + tied.len();
            for &row in tied {
                left[row] = -(num_up_to.real() / count).ln();
                right[row] = -((column.len() - num_before).real() / count).ln();
            }
            num_before = num_up_to;
        }
        Self {
            left,
            right,
            skew: skew_sign(column),
        }
    }

    /// Returns the tail to which the skewness points, for each number; the sum of both if the skewness is 0.
    pub(super) fn by_skew(&self, row: usize) -> f64 {
        match self.skew {
            Ordering::Less => self.left[row],
            Ordering::Greater => self.right[row],
            Ordering::Equal => self.left[row] + self.right[row],
        }
    }
}

fn skew_sign(column: &[f64]) -> Ordering {
    let count = column.len().real();
    let mean = column.iter().sum::<f64>() / count;
    let moment = |power| column.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / count;
    let is_constant = moment(2) <= (RESOLUTION * mean).powi(2);
    if is_constant {
        Ordering::Equal
    } else {
        moment(3).partial_cmp(&0.0).unwrap_or(Ordering::Equal)
    }
}
