//! Vectors of new trees, with the network fixed.
//!
//! With a softmax they are found by L-BFGS, see [`super::lbfgs`], with negative sampling by ADAM.

use callgrove_model::Progress;
use ndarray::parallel::prelude::*;
use ndarray::{Array2, ArrayViewMut2, Axis};
use rand_chacha::ChaCha8Rng;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::adam::{BiasCorrection, GradientMoments, step};
use super::block::{Layer, TREES_PER_BLOCK};
use super::corpus::Corpus;
use super::lbfgs;
use super::model::OutputLayer;
use super::noise::{Noise, stream};
use super::params::ValidStack2vecParams;
use callgrove_trees::error::{MlError, Result};
use callgrove_trees::real::fraction;

/// Number of steps of ADAM for one vector.
const NUM_STEPS: usize = 50;

/// Embeds trees, shape [num_trees, dims]. The words of `corpus` are those of the output layer.
///
/// The search starts from 0, so the vector of a tree depends only on the tree and the layer (and, with negative
/// sampling, on the words that are drawn for it and the adjacent trees).
///
/// # Errors
/// [`MlError::LengthMismatch`] if the words are not those of the layer, [`MlError::Cancelled`].
pub fn infer(
    output: &OutputLayer,
    corpus: &Corpus,
    params: &ValidStack2vecParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Array2<f32>> {
    let mismatch = MlError::LengthMismatch {
        what: "subtrees",
        expected: output.num_words(),
        found: corpus.num_words(),
    };
    if output.num_words() != corpus.num_words() {
        return Err(mismatch);
    }
    let settings = params.get();
    let shape = (output.num_words(), output.dims);
    let rows = Array2::from_shape_vec(shape, output.vectors.clone()).map_err(|_shape| mismatch)?;
    let noise = (!output.is_softmax)
        .then(|| Noise::from_logarithms(&output.offsets, settings.num_negatives));
    let layer = Layer {
        output: rows,
        offsets: output.offsets.clone(),
        noise,
    };
    let mut vectors = Array2::zeros((corpus.len(), output.dims));
    let num_blocks = corpus.len().div_ceil(TREES_PER_BLOCK).max(1);
    let num_done = AtomicUsize::new(0);
    vectors
        .axis_chunks_iter_mut(Axis(0), TREES_PER_BLOCK)
        .into_par_iter()
        .enumerate()
        .try_for_each(|(block, vectors)| {
            match &layer.noise {
                None => {
                    let decay = params.get().weight_decay;
                    lbfgs::infer_block(&layer, corpus, decay, block, vectors);
                }
                Some(noise) => {
                    let rng = &mut stream(seed, 0, block);
                    infer_block(&layer, corpus, params, (noise, rng, block), vectors);
                }
            }
            let num_done = 1 + num_done.fetch_add(1, Ordering::Relaxed);
            progress.at(fraction(num_done, num_blocks))
        })?;
    Ok(vectors)
}

fn infer_block(
    layer: &Layer,
    corpus: &Corpus,
    params: &ValidStack2vecParams,
    (noise, rng, block): (&Noise, &mut ChaCha8Rng, usize),
    mut vectors: ArrayViewMut2<'_, f32>,
) {
    let settings = params.get();
    let first = block * TREES_PER_BLOCK;
    let trees: Vec<u32> = (0..).skip(first).take(vectors.nrows()).collect();
    let words = noise.words(corpus, &trees, rng);
    let chosen = layer.choose(&words);
    let mut moments = GradientMoments::new(vectors.len());
    let mut steps = BiasCorrection::new();
    for _ in 0..NUM_STEPS {
        let slopes = layer.slopes(corpus, &trees, &words, &chosen, vectors.view());
        let size = steps.next(settings.learning_rate);
        if let (Some(values), Some(slopes)) = (vectors.as_slice_mut(), slopes.vectors.as_slice()) {
            step(
                values,
                moments.as_mut(),
                slopes,
                settings.weight_decay,
                size,
            );
        }
    }
}
