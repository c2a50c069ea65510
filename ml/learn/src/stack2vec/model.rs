//! A trained stack2vec network.

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use callgrove_trees::dataset::DenseRows;
use callgrove_trees::error::{MlError, Result};

/// Embedding vectors of the training trees and the output layer.
#[derive(Clone, PartialEq, Debug)]
pub struct Stack2vec {
    /// Vectors, shape [num_trees, dims], as [`super::infer`] computes them with the output layer fixed: a tree of
    /// another run with the same shares has the same vector.
    pub vectors: Array2<f32>,
    /// The output layer, which embeds new trees and maps importance to subtrees.
    pub output: OutputLayer,
}

/// The output layer: a vector and an offset per subtree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputLayer {
    /// Numbers in a vector.
    pub dims: usize,
    /// Vectors of the subtrees, one after another.
    pub vectors: Vec<f32>,
    /// Offsets of the subtrees; with negative sampling the logarithms of their shares of the negatives, which the
    /// vectors of new trees need.
    pub offsets: Vec<f32>,
    /// True if it predicts a softmax, false for independent logistic outputs.
    pub is_softmax: bool,
}

impl Stack2vec {
    /// Returns the vectors as rows for the one-class SVM.
    ///
    /// # Errors
    /// [`MlError::BadNumber`] if the training diverged.
    pub fn rows(&self) -> Result<DenseRows> {
        let values = self.vectors.iter().map(|&value| f64::from(value)).collect();
        DenseRows::new(self.output.dims, values)
    }
}

impl OutputLayer {
    /// Returns the number of subtrees.
    pub fn num_words(&self) -> usize {
        self.offsets.len()
    }

    /// Returns the vector of a subtree.
    pub fn vector(&self, word: usize) -> &[f32] {
        &self.vectors[word * self.dims..(word + 1) * self.dims]
    }

    /// Returns the prediction for a hidden vector: the share of each subtree (with a softmax they sum to 1, else each
    /// is between 0 and 1 independently).
    pub fn predict(&self, hidden: &[f64]) -> Vec<f64> {
        let mut answers: Vec<f64> = self
            .offsets
            .iter()
            .enumerate()
            .map(|(word, &offset)| {
                let vector = self.vector(word).iter();
                let product: f64 = vector.zip(hidden).map(|(&o, h)| f64::from(o) * h).sum();
                product
                    + if self.is_softmax {
                        f64::from(offset)
                    } else {
                        0.0
                    }
            })
            .collect();
        if self.is_softmax {
            let largest = answers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = answers.iter().map(|answer| (answer - largest).exp()).sum();
            for answer in &mut answers {
                *answer = (*answer - largest).exp() / total;
            }
        } else {
            for answer in &mut answers {
                *answer = 1.0 / (1.0 + (-*answer).exp());
            }
        }
        answers
    }

    /// Checks that the parts are consistent, for layers that were read from a file.
    ///
    /// # Errors
    /// [`MlError::DamagedModel`].
    pub fn check(&self) -> Result<()> {
        let num_values = self.dims.checked_mul(self.offsets.len());
        let is_complete = self.dims > 0 && num_values == Some(self.vectors.len());
        let mut numbers = self.vectors.iter().chain(&self.offsets);
        if is_complete && numbers.all(|value| value.is_finite()) {
            Ok(())
        } else {
            Err(MlError::DamagedModel {
                reason: "the output layer of stack2vec is incomplete",
            })
        }
    }
}
