//! The two largest eigenvalues of a symmetric matrix, by subspace iteration.

use callgrove_trees::dataset::dot;
use callgrove_trees::real::Real;

/// Number of iterated vectors: more than the two wanted, which widens the gap to the other eigenvalues.
const BLOCK: usize = 6;
/// Maximum number of iterations.
const MAX_ITERATIONS: usize = 3_000;
/// Relative change of the eigenvalues at which the iteration ends.
const TOLERANCE: f64 = 1e-13;

/// An eigenvalue with its unit eigenvector.
pub(super) type EigenPair = (f64, Vec<f64>);

/// Returns the two largest eigenvalues (by magnitude) with their eigenvectors; `matrix` is symmetric, row by row.
pub(super) fn two_largest(matrix: &[f64], num_rows: usize) -> [EigenPair; 2] {
    let block = BLOCK.min(num_rows.max(2));
    // Cosines of different frequencies are never orthogonal to everything, and need no random numbers.
    let mut basis: Vec<Vec<f64>> = (0..block)
        .map(|vector| {
            let angle = |row: usize| ((row + 1) * (2 * vector + 1)).real();
            (0..num_rows)
                .map(|row| (angle(row) * 0.734).cos())
                .collect()
        })
        .collect();
    orthonormalise(&mut basis);
    let mut values = vec![0.0; block];
    for _ in 0..MAX_ITERATIONS {
        let images: Vec<Vec<f64>> = basis
            .iter()
            .map(|vector| multiply(matrix, vector))
            .collect();
        // Rayleigh-Ritz: diagonalise the matrix within the subspace, then rotate its image there.
        let inner: Vec<f64> = basis
            .iter()
            .flat_map(|a| images.iter().map(move |b| dot(a, b)))
            .collect();
        let (found, rotation) = jacobi(inner, block);
        basis = (0..block)
            .map(|column| combine(&images, |row| rotation[row * block + column]))
            .collect();
        orthonormalise(&mut basis);
        let scale = found.first().map_or(0.0, |value| value.abs());
        let change = |index: usize| (found[index] - values[index]).abs();
        let is_done = change(0).max(change(1)) <= TOLERANCE * TOLERANCE.max(scale);
        values = found;
        if is_done {
            break;
        }
    }
    let mut pairs = values.into_iter().zip(basis);
    [(); 2].map(|()| pairs.next().unwrap_or_else(|| (0.0, vec![0.0; num_rows])))
}

fn multiply(matrix: &[f64], vector: &[f64]) -> Vec<f64> {
    matrix
        .chunks_exact(vector.len())
        .map(|row| dot(row, vector))
        .collect()
}

fn combine(vectors: &[Vec<f64>], weight: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut sum = vec![0.0; vectors[0].len()];
    for (index, vector) in vectors.iter().enumerate() {
        for (sum, value) in sum.iter_mut().zip(vector) {
            *sum += weight(index) * value;
        }
    }
    sum
}

/// Orthonormalises by Gram-Schmidt, twice because of rounding. A vector within the span of those before it becomes
/// zero.
fn orthonormalise(basis: &mut [Vec<f64>]) {
    for index in 0..basis.len() {
        let (before, rest) = basis.split_at_mut(index);
        let vector = &mut rest[0];
        let first_norm = dot(vector, vector).sqrt();
        for _ in 0..2 {
            for other in before.iter() {
                let share = dot(vector, other);
                for (value, other) in vector.iter_mut().zip(other) {
                    *value -= share * other;
                }
            }
        }
        let norm = dot(vector, vector).sqrt();
        let scale = if norm > 1e-14 * first_norm && norm > 0.0 {
            1.0 / norm
        } else {
            0.0
        };
        for value in vector {
            *value *= scale;
        }
    }
}

/// Returns the eigenvalues of a small symmetric matrix by Jacobi rotations, largest magnitude first, and the
/// eigenvectors as columns.
fn jacobi(mut matrix: Vec<f64>, num_rows: usize) -> (Vec<f64>, Vec<f64>) {
    const MAX_SWEEPS: usize = 60;
    let mut vectors = vec![0.0; num_rows * num_rows];
    for index in 0..num_rows {
        vectors[index * num_rows + index] = 1.0;
    }
    for _ in 0..MAX_SWEEPS {
        let mut largest: f64 = 0.0;
        for p in 0..num_rows {
            for q in p + 1..num_rows {
                let off = 0.5 * (matrix[p * num_rows + q] + matrix[q * num_rows + p]);
                largest = largest.max(off.abs());
                if off.abs() > 0.0 {
                    rotate(&mut matrix, &mut vectors, num_rows, (p, q));
                }
            }
        }
        if largest < 1e-300 {
            break;
        }
    }
    let mut order: Vec<usize> = (0..num_rows).collect();
    order.sort_by(|&a, &b| {
        let value = |index: usize| matrix[index * num_rows + index].abs();
        value(b).total_cmp(&value(a))
    });
    let values = order
        .iter()
        .map(|&index| matrix[index * num_rows + index])
        .collect();
    let mut sorted = vec![0.0; num_rows * num_rows];
    for (column, &index) in order.iter().enumerate() {
        for row in 0..num_rows {
            sorted[row * num_rows + column] = vectors[row * num_rows + index];
        }
    }
    (values, sorted)
}

fn rotate(matrix: &mut [f64], vectors: &mut [f64], num_rows: usize, (p, q): (usize, usize)) {
    let off = 0.5 * (matrix[p * num_rows + q] + matrix[q * num_rows + p]);
    let theta = (matrix[q * num_rows + q] - matrix[p * num_rows + p]) / (2.0 * off);
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for row in 0..num_rows {
        let (a, b) = (matrix[row * num_rows + p], matrix[row * num_rows + q]);
        matrix[row * num_rows + p] = cosine * a - sine * b;
        matrix[row * num_rows + q] = sine * a + cosine * b;
        let (a, b) = (vectors[row * num_rows + p], vectors[row * num_rows + q]);
        vectors[row * num_rows + p] = cosine * a - sine * b;
        vectors[row * num_rows + q] = sine * a + cosine * b;
    }
    for column in 0..num_rows {
        let (a, b) = (matrix[p * num_rows + column], matrix[q * num_rows + column]);
        matrix[p * num_rows + column] = cosine * a - sine * b;
        matrix[q * num_rows + column] = sine * a + cosine * b;
    }
}
