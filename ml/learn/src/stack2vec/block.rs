//! Gradient of a block of trees, with respect to their vectors and to the output layer.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, Axis};

use super::corpus::Corpus;
use super::loss::{logistic_errors, softmax_errors};
use super::noise::{Noise, Words};

/// Number of trees of a block; their predictions are stored together.
pub(super) const TREES_PER_BLOCK: usize = 128;

/// The output layer while it is trained or used: O [V, d] and c [V].
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) output: Array2<f32>,
    pub(super) offsets: Vec<f32>,
    /// Noise of negative sampling; without it the objective is the full softmax.
    pub(super) noise: Option<Noise>,
}

/// Slopes of the objective at the vectors of a block.
#[derive(Debug)]
pub(super) struct Slopes {
    pub(super) vectors: Array2<f32>,
    /// (predicted − wanted) per tree and word.
    errors: Array2<f32>,
}

impl Layer {
    /// Returns the slopes with respect to `vectors` of `trees`, shape [trees, d]. `chosen` are the rows of O for
    /// `words`, if not all.
    pub(super) fn slopes(
        &self,
        corpus: &Corpus,
        trees: &[u32],
        words: &Words,
        chosen: &Array2<f32>,
        vectors: ArrayView2<'_, f32>,
    ) -> Slopes {
        let output = match words {
            Words::All => &self.output,
            Words::Some(..) => chosen,
        };
        let mut errors = vectors.dot(&output.t());
        for (&tree, mut row) in trees.iter().zip(errors.outer_iter_mut()) {
            let (own, shares) = corpus.row(tree as usize);
            let row = row
                .as_slice_mut()
                .expect("rows of a product are contiguous");
            match words {
                Words::All => {
                    softmax_errors(row, &self.offsets, own, shares);
                }
                Words::Some(words, negative) => logistic_errors(row, words, negative, own, shares),
            }
        }
        let mut slopes = Array2::zeros(vectors.raw_dim());
        general_mat_mul(1.0, &errors, output, 0.0, &mut slopes);
        Slopes {
            vectors: slopes,
            errors,
        }
    }

    /// Returns the rows of O for `words`; empty for all.
    pub(super) fn choose(&self, words: &Words) -> Array2<f32> {
        match words {
            Words::All => Array2::zeros((0, self.output.ncols())),
            Words::Some(words, _) => {
                let rows: Vec<usize> = words.iter().map(|&word| word as usize).collect();
                self.output.select(Axis(0), &rows)
            }
        }
    }
}

impl Slopes {
    /// Returns the slopes with respect to the rows of O, in order of the words.
    pub(super) fn output(&self, vectors: ArrayView2<'_, f32>) -> Array2<f32> {
        self.errors.t().dot(&vectors)
    }

    /// Returns the slopes with respect to the offsets.
    pub(super) fn offsets(&self) -> Vec<f32> {
        self.errors.sum_axis(Axis(0)).to_vec()
    }
}
