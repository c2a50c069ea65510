//! Vectors of new trees, with the network fixed.

use callgrove_model::Progress;
use ndarray::{Array1, Array2};

use super::adam::{Adam, StepSizes};
use super::documents::Documents;
use super::model::OutputLayer;
use super::negative::{self, Sampler};
use super::params::ValidStack2vecParams;
use super::softmax;
use crate::error::{MlError, Result};

/// Steps for one vector: with the output layer fixed the problem is convex and small.
const NUM_STEPS: usize = 50;

/// Embeds trees, shape [num_trees, dims]. The words of `documents` are those of the output layer.
///
/// The search starts from 0, so the answer for a tree depends on nothing but the tree and the layer
/// (and, with negative sampling, the seed and its place among the trees).
///
/// # Errors
/// [`MlError::LengthMismatch`] if the words are not those of the layer, [`MlError::Cancelled`].
pub fn infer(
    output: &OutputLayer,
    documents: &Documents,
    params: &ValidStack2vecParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Array2<f32>> {
    let mismatch = MlError::LengthMismatch {
        what: "subtrees",
        expected: output.num_words(),
        found: documents.num_words(),
    };
    if output.num_words() != documents.num_words() {
        return Err(mismatch);
    }
    let settings = params.get();
    let shape = (output.num_words(), output.dims);
    let layer = Array2::from_shape_vec(shape, output.vectors.clone()).map_err(|_shape| mismatch)?;
    let offsets = Array1::from(output.offsets.clone());
    let sampler = Sampler::new(documents);
    let mut vectors = Array2::zeros((documents.len(), output.dims));
    let mut adam = Adam::new(vectors.len());
    let mut sizes = StepSizes::new(settings.learning_rate);
    for step in 1..=NUM_STEPS {
        progress.at((step - 1) as f32 / NUM_STEPS as f32)?;
        let gradient = if output.is_softmax {
            softmax::gradients(documents, &vectors, &layer, &offsets).vectors
        } else {
            let draw = (seed, step);
            let num_negatives = settings.num_negatives;
            negative::gradients(documents, &sampler, num_negatives, draw, &vectors, &layer).0
        };
        if let (Some(values), Some(gradient)) = (vectors.as_slice_mut(), gradient.as_slice()) {
            adam.step(values, gradient, settings.weight_decay, sizes.next());
        }
    }
    progress.at(1.0)?;
    Ok(vectors)
}
