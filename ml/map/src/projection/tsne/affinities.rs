//! Affinities: the similarity of rows, as probabilities.

use rayon::prelude::*;

use crate::knn::Neighbours;
use callgrove_trees::real::Real;

/// Maximum number of Newton steps; ten are usual.
const MAX_STEPS: usize = 200;
/// Tolerance of the entropy.
const TOLERANCE: f64 = 1e-11;
/// Largest |ln β|: squared distances span fewer orders of magnitude.
const MAX_LOG: f64 = 700.0;

/// The affinities p_ij of t-SNE: symmetric, sparse, of sum 1 over all pairs.
///
/// ```text
/// p_j|i = exp(−β_i d²_ij) / Σ_l exp(−β_i d²_il)     over the neighbours of i
/// p_ij  = (p_j|i + p_i|j) / 2n
/// ```
///
/// with β_i so that the entropy of p_·|i is the logarithm of the perplexity. If that is impossible (more equal rows
/// than the perplexity, or fewer neighbours), the nearest count equally.
#[derive(Clone, PartialEq, Debug)]
pub struct Affinities {
    row_start: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    betas: Vec<f64>,
}

impl Affinities {
    /// Computes the affinities between rows and their neighbours, as [`crate::knn::all_nearest`] finds them; three
    /// times the perplexity is a sufficient number of neighbours.
    ///
    /// The perplexity is at most a third of the number of other rows; larger values are reduced to that. Cost: rows ×
    /// k exponentials, ten times.
    pub fn new(neighbours: &Neighbours, perplexity: f64) -> Self {
        let num_rows = neighbours.len();
        let perplexity = perplexity
            .min(num_rows.saturating_sub(1).real() / 3.0)
            .max(1.0);
        let k = neighbours.k;
        let mut conditional = vec![0.0; num_rows * k];
        let mut betas = vec![0.0; num_rows];
        conditional
            .par_chunks_mut(k.max(1))
            .zip(&mut betas)
            .enumerate()
            .for_each(|(row, (shares, beta))| {
                *beta = fit_shares(neighbours.of(row).1, perplexity, shares);
            });
        let mut symmetric = symmetric(neighbours, &conditional);
        symmetric.betas = betas;
        symmetric
    }

    /// Returns affinities of rows without neighbours.
    pub(super) fn none(num_rows: usize) -> Self {
        Self {
            row_start: vec![0; num_rows + 1],
            columns: Vec::new(),
            values: Vec::new(),
            betas: vec![0.0; num_rows],
        }
    }

    /// Returns the number of rows.
    pub fn num_rows(&self) -> usize {
        self.row_start.len() - 1
    }

    /// Returns the rows that row `row` is near to, in ascending order, and its affinities to them.
    pub fn of(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.row_start[row]..self.row_start[row + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Returns β of each row: half the inverse variance of its Gaussian, in the inverse square of the rows' unit.
    pub fn betas(&self) -> &[f64] {
        &self.betas
    }
}

/// Writes the shares of neighbours at ascending `distances` and returns β.
pub(super) fn fit_shares(distances: &[f64], perplexity: f64, shares: &mut [f64]) -> f64 {
    let Some(&nearest) = distances.first() else {
        return 0.0;
    };
    // Only differences of squares matter.
    let squares: Vec<f64> = distances
        .iter()
        .map(|distance| (distance - nearest) * (distance + nearest))
        .collect();
    let mean_square = squares.iter().sum::<f64>() / squares.len().real();
    let wanted = perplexity.ln();
    let (mut low, mut high) = (-MAX_LOG, MAX_LOG);
    let mut log_beta = if mean_square > 0.0 {
        -mean_square.ln()
    } else {
        0.0
    };
    for _ in 0..MAX_STEPS {
        let beta = log_beta.exp();
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for (share, &square) in shares.iter_mut().zip(&squares) {
            let weight = (-beta * square).exp();
            *share = weight;
            let scaled = if weight > 0.0 { beta * square } else { 0.0 };
            sum += weight;
            first += weight * scaled;
            second += weight * scaled * scaled;
        }
        let mean = first / sum;
        let excess = sum.ln() + mean - wanted;
        if excess.abs() < TOLERANCE || high - low < 1e-12 {
            break;
        }
        if excess > 0.0 {
            low = log_beta;
        } else {
            high = log_beta;
        }
        // The slope of the entropy in ln β is the negative variance of β d².
        let newton = log_beta + excess / (second / sum - mean * mean);
        log_beta = if newton > low && newton < high {
            newton
        } else {
            f64::midpoint(low, high)
        };
    }
    let sum: f64 = shares.iter().sum();
    for share in shares {
        *share /= sum;
    }
    log_beta.exp()
}

/// Returns (P + Pᵀ) / 2n of the conditional shares of neighbours.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rows are counted in 32 bits"
)]
fn symmetric(neighbours: &Neighbours, conditional: &[f64]) -> Affinities {
    let (num_rows, k) = (neighbours.len(), neighbours.k);
    let scale = 0.5 / num_rows.max(1).real();
    // Both directions, the incoming ones in ascending order of their rows.
    let mut start = vec![0; num_rows + 1];
    for &column in &neighbours.indices {
        start[column as usize + 1] += 1;
    }
    for row in 0..num_rows {
        start[row + 1] += start[row];
    }
    let mut next = start.clone();
    let mut incoming = vec![(0_u32, 0.0); neighbours.indices.len()];
    for (index, (&column, &share)) in neighbours.indices.iter().zip(conditional).enumerate() {
        let next = &mut next[column as usize];
        incoming[*next] = ((index / k) as u32, share);
        *next += 1;
    }
    let rows: Vec<Vec<(u32, f64)>> = (0..num_rows)
        .into_par_iter()
        .map(|row| {
            let shares = &conditional[row * k..(row + 1) * k];
            let outgoing = neighbours
                .of(row)
                .0
                .iter()
                .copied()
                .zip(shares.iter().copied());
            let mut both: Vec<(u32, f64)> = outgoing.collect();
            both.extend_from_slice(&incoming[start[row]..start[row + 1]]);
            both.sort_unstable_by_key(|&(column, _)| column);
            both.dedup_by(|second, first| {
                let is_same = first.0 == second.0;
                if is_same {
                    first.1 += second.1;
                }
                is_same
            });
            both
        })
        .collect();
    let mut found = Affinities {
        row_start: vec![0],
        columns: Vec::new(),
        values: Vec::new(),
        betas: Vec::new(),
    };
    for row in rows {
        found.columns.extend(row.iter().map(|&(column, _)| column));
        found
            .values
            .extend(row.iter().map(|&(_, share)| share * scale));
        found.row_start.push(found.columns.len());
    }
    found
}
