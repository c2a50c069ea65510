//! Gradient of the full softmax objective.

use ndarray::parallel::prelude::*;
use ndarray::{Array1, Array2, ArrayView2, ArrayViewMut2, Axis, s};

use super::documents::Documents;

/// Trees whose predictions are held at once by one task.
const TREES_PER_BLOCK: usize = 128;
/// Partial sums of the output layer's gradient: fixed, so that threads do not change the result.
const NUM_PARTS: usize = 8;

/// Gradients of one pass; the loss is the mean cross entropy per tree.
pub(super) struct Gradients {
    pub(super) vectors: Array2<f32>,
    pub(super) output: Array2<f32>,
    pub(super) offsets: Array1<f32>,
}

/// Gradients of Σ −p log softmax with respect to tree vectors X [n, d], output vectors O [V, d] and
/// offsets c [V].
pub(super) fn gradients(
    documents: &Documents,
    vectors: &Array2<f32>,
    output: &Array2<f32>,
    offsets: &Array1<f32>,
) -> Gradients {
    let mut vector_gradient = Array2::zeros(vectors.raw_dim());
    let trees_per_part = vectors.nrows().div_ceil(NUM_PARTS).max(1);
    let parts: Vec<(Array2<f32>, Array1<f32>)> = vector_gradient
        .axis_chunks_iter_mut(Axis(0), trees_per_part)
        .into_par_iter()
        .enumerate()
        .map(|(part, gradient)| {
            let first = part * trees_per_part;
            part_gradients(documents, first, vectors, output, offsets, gradient)
        })
        .collect();
    let mut sum = Gradients {
        vectors: vector_gradient,
        output: Array2::zeros(output.raw_dim()),
        offsets: Array1::zeros(offsets.raw_dim()),
    };
    for (output, offsets) in parts {
        sum.output += &output;
        sum.offsets += &offsets;
    }
    sum
}

fn part_gradients(
    documents: &Documents,
    first: usize,
    vectors: &Array2<f32>,
    output: &Array2<f32>,
    offsets: &Array1<f32>,
    mut vector_gradient: ArrayViewMut2<'_, f32>,
) -> (Array2<f32>, Array1<f32>) {
    let mut output_gradient = Array2::zeros(output.raw_dim());
    let mut offset_gradient = Array1::zeros(offsets.raw_dim());
    let num_trees = vector_gradient.nrows();
    for start in (0..num_trees).step_by(TREES_PER_BLOCK) {
        let end = num_trees.min(start + TREES_PER_BLOCK);
        let block = vectors.slice(s![first + start..first + end, ..]);
        let errors = errors_of(documents, first + start, block, output, offsets);
        ndarray::linalg::general_mat_mul(
            1.0,
            &errors,
            output,
            0.0,
            &mut vector_gradient.slice_mut(s![start..end, ..]),
        );
        ndarray::linalg::general_mat_mul(1.0, &errors.t(), &block, 1.0, &mut output_gradient);
        offset_gradient += &errors.sum_axis(Axis(0));
    }
    (output_gradient, offset_gradient)
}

/// (Σ_s p_is) softmax(x_i·o + c) − p_i for the trees of a block.
fn errors_of(
    documents: &Documents,
    first: usize,
    block: ArrayView2<'_, f32>,
    output: &Array2<f32>,
    offsets: &Array1<f32>,
) -> Array2<f32> {
    let mut errors = block.dot(&output.t());
    errors += offsets;
    for (place, mut row) in errors.outer_iter_mut().enumerate() {
        let (words, shares) = documents.row(first + place);
        let row = row
            .as_slice_mut()
            .expect("rows of a product are contiguous");
        let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        for value in &mut *row {
            *value = fast_exp(*value - largest);
        }
        let total: f32 = shares.iter().sum();
        let scale = total / sum(row);
        for value in &mut *row {
            *value *= scale;
        }
        for (&word, &share) in words.iter().zip(shares) {
            row[word as usize] -= share;
        }
    }
    errors
}

/// Sixteen sums side by side, added up in a fixed order.
fn sum(values: &[f32]) -> f32 {
    const LANES: usize = 16;
    let mut sums = [0.0; LANES];
    let chunks = values.chunks_exact(LANES);
    let tail: f32 = chunks.remainder().iter().sum();
    for chunk in chunks {
        for lane in 0..LANES {
            sums[lane] += chunk[lane];
        }
    }
    sums.iter().sum::<f32>() + tail
}

/// e^x for x ≤ 0 within 2·10⁻⁷, without a branch so that loops of it are vectorised: x is split into
/// a whole power of two, set in the exponent bits, and a rest for a polynomial (that of Cephes' `expf`).
#[inline]
fn fast_exp(x: f32) -> f32 {
    // 1.5 · 2²³: adding it rounds to an integer, which then stands in the low bits.
    const MAGIC: f32 = 12_582_912.0;
    let x = x.max(-87.0);
    let shifted = x * std::f32::consts::LOG2_E + MAGIC;
    let power = shifted - MAGIC;
    let rest = x - power * 0.693_359_4 + power * 2.121_944_4e-4;
    let mut sum = 1.987_569_2e-4;
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5] {
        sum = sum * rest + coefficient;
    }
    let exponential = sum * rest * rest + rest + 1.0;
    exponential * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_exponential_is_close_to_the_exact_one() {
        for step in 0..87_000 {
            let x = -(step as f32) / 1_000.0;
            let exact = f64::from(x).exp();
            let error = (f64::from(fast_exp(x)) - exact).abs() / exact;
            assert!(error < 3e-7, "{x}: {error}");
        }
        assert!(fast_exp(f32::NEG_INFINITY) < 1e-37);
    }

    #[test]
    fn gradients_are_slopes_of_the_loss() {
        let documents = Documents::new(3, [vec![(0, 2.0), (2, 1.0)], vec![(1, 1.0)]]);
        let vectors = ndarray::arr2(&[[0.3, -0.2], [0.1, 0.4]]);
        let output = ndarray::arr2(&[[0.5, 0.1], [-0.3, 0.2], [0.2, -0.6]]);
        let offsets = ndarray::arr1(&[0.1, -0.1, 0.3]);
        let loss = |x: &Array2<f32>, o: &Array2<f32>| {
            let mut sum = 0.0;
            for tree in 0..2 {
                let scores: Vec<f64> = (0..3)
                    .map(|word| f64::from(x.row(tree).dot(&o.row(word)) + offsets[word]))
                    .collect();
                let total: f64 = scores.iter().map(|score| score.exp()).sum();
                let (words, shares) = documents.row(tree);
                for (&word, &share) in words.iter().zip(shares) {
                    sum -= f64::from(share) * (scores[word as usize] - total.ln());
                }
            }
            sum
        };
        let found = gradients(&documents, &vectors, &output, &offsets);
        let step = 1e-2;
        let slope = |x: [&Array2<f32>; 2], o: [&Array2<f32>; 2]| {
            ((loss(x[1], o[1]) - loss(x[0], o[0])) / f64::from(2.0 * step)) as f32
        };
        let moved = |matrix: &Array2<f32>, by: f32| {
            let mut moved = matrix.clone();
            moved[[1, 0]] += by;
            moved
        };
        let (low, high) = (moved(&vectors, -step), moved(&vectors, step));
        let expected = slope([&low, &high], [&output, &output]);
        assert!(
            (found.vectors[[1, 0]] - expected).abs() < 1e-2,
            "{expected}"
        );
        let (low, high) = (moved(&output, -step), moved(&output, step));
        let expected = slope([&vectors, &vectors], [&low, &high]);
        assert!((found.output[[1, 0]] - expected).abs() < 1e-2, "{expected}");
    }
}
