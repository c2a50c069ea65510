//! Training of the network.

use callgrove_model::Progress;
use ndarray::{Array1, Array2};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::adam::{Adam, StepSizes};
use super::documents::{Documents, WEIGHT_PER_TREE};
use super::infer::infer;
use super::model::{OutputLayer, Stack2vec};
use super::negative::{self, Sampler};
use super::params::ValidStack2vecParams;
use super::softmax;
use crate::error::{MlError, Result};

/// Spread of the first random vectors.
const START_DEVIATION: f32 = 0.1;
/// Keeps the logarithm of the frequency of a word without weight finite.
const MIN_FREQUENCY: f64 = 1e-8;

/// Trains the network.
///
/// # Errors
/// [`MlError::EmptyForest`] without trees, [`MlError::Cancelled`].
pub fn train(
    documents: &Documents,
    params: &ValidStack2vecParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Stack2vec> {
    if documents.is_empty() {
        return Err(MlError::EmptyForest);
    }
    let settings = params.get();
    let (num_trees, num_words, dims) = (documents.len(), documents.num_words(), settings.dims);
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut vectors = random_matrix(num_trees, dims, &mut rng);
    let mut output = random_matrix(num_words, dims, &mut rng);
    let is_softmax = params.is_softmax(num_words);
    let mut offsets = if is_softmax {
        log_frequencies(documents)
    } else {
        Array1::zeros(num_words)
    };
    let sampler = Sampler::new(documents);
    let (mut adam_vectors, mut adam_output, mut adam_offsets) = (
        Adam::new(num_trees * dims),
        Adam::new(num_words * dims),
        Adam::new(num_words),
    );
    let mut sizes = StepSizes::new(settings.learning_rate);
    for epoch in 1..=settings.epochs {
        progress
            .part(0.0, 0.6)
            .at((epoch - 1) as f32 / settings.epochs as f32)?;
        let size = sizes.next();
        let (vector_gradient, output_gradient) = if is_softmax {
            let found = softmax::gradients(documents, &vectors, &output, &offsets);
            adam_offsets.step(
                as_slice_mut1(&mut offsets),
                as_slice1(&found.offsets),
                0.0,
                size,
            );
            (found.vectors, found.output)
        } else {
            let draw = (seed, epoch);
            negative::gradients(
                documents,
                &sampler,
                settings.num_negatives,
                draw,
                &vectors,
                &output,
            )
        };
        let decay = settings.weight_decay;
        adam_vectors.step(
            as_slice_mut(&mut vectors),
            as_slice(&vector_gradient),
            decay,
            size,
        );
        adam_output.step(
            as_slice_mut(&mut output),
            as_slice(&output_gradient),
            decay,
            size,
        );
    }
    let output = OutputLayer {
        dims,
        vectors: output.into_raw_vec_and_offset().0,
        offsets: offsets.to_vec(),
        is_softmax,
    };
    let vectors = infer(&output, documents, params, seed, progress.part(0.6, 1.0))?;
    Ok(Stack2vec { vectors, output })
}

/// Normally distributed numbers (Box and Muller 1958).
fn random_matrix(num_rows: usize, num_columns: usize, rng: &mut ChaCha8Rng) -> Array2<f32> {
    Array2::from_shape_simple_fn((num_rows, num_columns), || {
        let radius = (-2.0 * (1.0 - rng.random::<f32>()).ln()).sqrt();
        let angle = std::f32::consts::TAU * rng.random::<f32>();
        START_DEVIATION * radius * angle.cos()
    })
}

fn log_frequencies(documents: &Documents) -> Array1<f32> {
    let num_trees = documents.len() as f64;
    documents
        .word_totals()
        .iter()
        .map(|total| (total / (num_trees * f64::from(WEIGHT_PER_TREE)) + MIN_FREQUENCY).ln() as f32)
        .collect()
}

fn as_slice(matrix: &Array2<f32>) -> &[f32] {
    matrix
        .as_slice()
        .expect("matrices here are made in row-major order")
}

fn as_slice_mut(matrix: &mut Array2<f32>) -> &mut [f32] {
    matrix
        .as_slice_mut()
        .expect("matrices here are made in row-major order")
}

fn as_slice1(vector: &Array1<f32>) -> &[f32] {
    vector.as_slice().expect("vectors here are contiguous")
}

fn as_slice_mut1(vector: &mut Array1<f32>) -> &mut [f32] {
    vector.as_slice_mut().expect("vectors here are contiguous")
}
