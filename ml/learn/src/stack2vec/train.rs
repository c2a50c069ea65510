//! Training of the network.

use callgrove_model::Progress;
use ndarray::{Array2, ArrayView2};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::adam::{BiasCorrection, GradientMoments, step};
use super::block::{Layer, TREES_PER_BLOCK};
use super::corpus::{Corpus, WEIGHT_PER_TREE};
use super::infer::infer;
use super::model::{OutputLayer, Stack2vec};
use super::noise::{Noise, Words, stream};
use super::params::ValidStack2vecParams;
use callgrove_trees::error::{MlError, Result};
use callgrove_trees::real::{Real, fraction};

/// Standard deviation of the initial random vectors.
const START_DEVIATION: f32 = 0.1;
/// Minimum frequency of a word, which keeps its logarithm finite.
const MIN_FREQUENCY: f64 = 1e-8;
/// Maximum number of trees between two steps of the output layer.
const MAX_TREES_PER_BATCH: usize = 8 * TREES_PER_BLOCK;
/// Minimum number of steps of the output layer in an epoch, if there are enough trees: few trees need no more epochs.
const MIN_BATCHES: usize = 6;
/// Number of values of the output layer that one task updates.
const VALUES_PER_TASK: usize = 1 << 14;

/// Trains the network.
///
/// # Errors
/// [`MlError::EmptyForest`] without trees, [`MlError::Cancelled`].
pub fn train(
    corpus: &Corpus,
    params: &ValidStack2vecParams,
    seed: u64,
    progress: Progress<'_>,
) -> Result<Stack2vec> {
    if corpus.is_empty() {
        return Err(MlError::EmptyForest);
    }
    let settings = params.get();
    let mut training = Training::new(corpus, params, seed);
    for epoch in 0..settings.epochs {
        let share = fraction(epoch, settings.epochs);
        progress.part(0.0, 0.6).at(share)?;
        let learning_rate = settings.learning_rate * (1.0 - share);
        let size = training.vector_steps.next(learning_rate);
        for batch in 0..corpus.len().div_ceil(training.trees_per_batch) {
            let slopes = training.vector_step(epoch, batch, size);
            training.layer_step(batch, &slopes, learning_rate);
        }
    }
    let layer = training.layer;
    let output = OutputLayer {
        dims: settings.dims,
        is_softmax: layer.noise.is_none(),
        offsets: layer
            .noise
            .map_or(layer.offsets, |noise| noise.logarithms()),
        vectors: layer.output.into_raw_vec_and_offset().0,
    };
    let vectors = infer(&output, corpus, params, seed, progress.part(0.6, 1.0))?;
    Ok(Stack2vec { vectors, output })
}

/// Slopes of the output layer over one block.
struct LayerSlopes {
    words: Words,
    output: Array2<f32>,
    offsets: Vec<f32>,
}

/// The state of a training.
struct Training<'a> {
    corpus: &'a Corpus,
    settings: &'a ValidStack2vecParams,
    seed: u64,
    trees_per_batch: usize,
    /// Trees in the order of blocks, drawn once.
    trees: Vec<u32>,
    /// Tree vectors in that order.
    vectors: Vec<f32>,
    vector_moments: GradientMoments,
    vector_steps: BiasCorrection,
    layer: Layer,
    layer_moments: GradientMoments,
    offset_moments: GradientMoments,
    layer_steps: BiasCorrection,
}

impl<'a> Training<'a> {
    fn new(corpus: &'a Corpus, settings: &'a ValidStack2vecParams, seed: u64) -> Self {
        let params = settings.get();
        let (num_trees, num_words, dims) = (corpus.len(), corpus.num_words(), params.dims);
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let vectors = random_numbers(num_trees * dims, &mut rng);
        let output = random_numbers(num_words * dims, &mut rng);
        let mut trees: Vec<u32> = (0..).take(num_trees).collect();
        trees.shuffle(&mut rng);
        let frequencies = corpus.word_totals();
        let noise = (!settings.is_softmax(num_words))
            .then(|| Noise::new(&frequencies, params.num_negatives));
        Self {
            corpus,
            settings,
            seed,
            trees_per_batch: num_trees.div_ceil(MIN_BATCHES).min(MAX_TREES_PER_BATCH),
            trees,
            vectors,
            vector_moments: GradientMoments::new(num_trees * dims),
            vector_steps: BiasCorrection::new(),
            layer: Layer {
                output: Array2::from_shape_vec((num_words, dims), output)
                    .expect("as many numbers were drawn"),
                offsets: log_frequencies(&frequencies, num_trees),
                noise,
            },
            layer_moments: GradientMoments::new(num_words * dims),
            offset_moments: GradientMoments::new(num_words),
            layer_steps: BiasCorrection::new(),
        }
    }

    /// Moves the vectors of a batch and returns the slopes of the output layer, block by block.
    fn vector_step(&mut self, epoch: usize, batch: usize, size: f32) -> Vec<LayerSlopes> {
        let dims = self.settings.get().dims;
        let decay = self.settings.get().weight_decay;
        let first = batch * self.trees_per_batch;
        let end = self.trees.len().min(first + self.trees_per_batch);
        let values = first * dims..end * dims;
        let (corpus, layer, seed) = (self.corpus, &self.layer, self.seed);
        let blocks = self.trees[first..end].par_chunks(TREES_PER_BLOCK);
        let per_block = TREES_PER_BLOCK * dims;
        let (first_moments, second_moments) = self.vector_moments.as_mut();
        blocks
            .zip(self.vectors[values.clone()].par_chunks_mut(per_block))
            .zip(first_moments[values.clone()].par_chunks_mut(per_block))
            .zip(second_moments[values].par_chunks_mut(per_block))
            .enumerate()
            .map(
                |(block, (((trees, values), first_moments), second_moments))| {
                    let block = batch * (MAX_TREES_PER_BATCH / TREES_PER_BLOCK) + block;
                    let words = match &layer.noise {
                        None => Words::All,
                        Some(noise) => {
                            noise.words(corpus, trees, &mut stream(seed, 1 + epoch, block))
                        }
                    };
                    let chosen = layer.choose(&words);
                    let vectors = ArrayView2::from_shape((trees.len(), dims), &*values)
                        .expect("a block has this many numbers");
                    let slopes = layer.slopes(corpus, trees, &words, &chosen, vectors);
                    let of_layer = LayerSlopes {
                        output: slopes.output(vectors),
                        offsets: slopes.offsets(),
                        words,
                    };
                    let moments = (first_moments, second_moments);
                    step(values, moments, as_slice(&slopes.vectors), decay, size);
                    of_layer
                },
            )
            .collect()
    }

    /// Moves the output layer; slopes are added in order of blocks.
    fn layer_step(&mut self, batch: usize, slopes: &[LayerSlopes], learning_rate: f32) {
        let first = batch * self.trees_per_batch;
        let num_trees = self.trees_per_batch.min(self.trees.len() - first);
        #[expect(clippy::cast_precision_loss, reason = "a rate has digits enough")]
        let decay = self.settings.get().weight_decay * num_trees as f32 / self.trees.len() as f32;
        let mut sum = Array2::<f32>::zeros(self.layer.output.raw_dim());
        let mut offset_sum = vec![0.0; self.layer.offsets.len()];
        for slopes in slopes {
            match &slopes.words {
                Words::All => {
                    sum += &slopes.output;
                    for (sum, slope) in offset_sum.iter_mut().zip(&slopes.offsets) {
                        *sum += slope;
                    }
                }
                Words::Some(words, _) => {
                    for (&word, row) in words.iter().zip(slopes.output.outer_iter()) {
                        let mut sum = sum.row_mut(word as usize);
                        sum += &row;
                    }
                }
            }
        }
        let size = self.layer_steps.next(learning_rate);
        let values = self.layer.output.as_slice_mut();
        let (first, second) = self.layer_moments.as_mut();
        values
            .expect("it was made in row-major order")
            .par_chunks_mut(VALUES_PER_TASK)
            .zip(as_slice(&sum).par_chunks(VALUES_PER_TASK))
            .zip(first.par_chunks_mut(VALUES_PER_TASK))
            .zip(second.par_chunks_mut(VALUES_PER_TASK))
            .for_each(|(((values, slopes), first), second)| {
                step(values, (first, second), slopes, decay, size);
            });
        if self.layer.noise.is_none() {
            let moments = self.offset_moments.as_mut();
            step(&mut self.layer.offsets, moments, &offset_sum, 0.0, size);
        }
    }
}

/// Returns normally distributed numbers (Box and Muller 1958).
fn random_numbers(num_values: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let mut draw = || {
        let radius = (-2.0 * (1.0 - rng.random::<f32>()).ln()).sqrt();
        let angle = std::f32::consts::TAU * rng.random::<f32>();
        START_DEVIATION * radius * angle.cos()
    };
    (0..num_values).map(|_| draw()).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "logarithms are in single precision"
)]
fn log_frequencies(totals: &[f64], num_trees: usize) -> Vec<f32> {
    let total_weight = num_trees.real() * f64::from(WEIGHT_PER_TREE);
    totals
        .iter()
        .map(|total| (total / total_weight + MIN_FREQUENCY).ln() as f32)
        .collect()
}

fn as_slice(matrix: &Array2<f32>) -> &[f32] {
    matrix
        .as_slice()
        .expect("matrices here are made in row-major order")
}
