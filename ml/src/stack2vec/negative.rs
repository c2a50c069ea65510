//! Gradient of the negative sampling objective.

use ndarray::parallel::prelude::*;
use ndarray::{Array2, Axis};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::documents::Documents;

/// Frequencies are raised to this power for sampling (Mikolov et al. 2013).
const FREQUENCY_POWER: f64 = 0.75;

/// Draws subtrees with probability ∝ frequency^0.75.
pub(super) struct Sampler {
    cumulated: Vec<f64>,
}

/// One pull between a tree and a subtree.
#[derive(Clone, Copy, Default)]
struct Pull {
    tree: u32,
    word: u32,
    slope: f32,
}

impl Sampler {
    pub(super) fn new(documents: &Documents) -> Self {
        let mut total = 0.0;
        let cumulated = documents
            .word_totals()
            .iter()
            .map(|frequency| {
                total += frequency.powf(FREQUENCY_POWER);
                total
            })
            .collect();
        Self { cumulated }
    }

    fn draw(&self, rng: &mut ChaCha8Rng) -> u32 {
        let total = self.cumulated.last().copied().unwrap_or(0.0);
        let target = rng.random::<f64>() * total;
        let word = self.cumulated.partition_point(|&upto| upto <= target);
        word.min(self.cumulated.len().saturating_sub(1)) as u32
    }
}

/// Gradients with respect to tree vectors X [n, d] and output vectors O [V, d].
///
/// Every tree has its own stream of random numbers for the epoch, and every subtree adds up its
/// pulls in order of trees, so threads do not change the result.
pub(super) fn gradients(
    documents: &Documents,
    sampler: &Sampler,
    num_negatives: usize,
    (seed, epoch): (u64, usize),
    vectors: &Array2<f32>,
    output: &Array2<f32>,
) -> (Array2<f32>, Array2<f32>) {
    let mut vector_gradient = Array2::zeros(vectors.raw_dim());
    let pulls: Vec<Vec<Pull>> = vector_gradient
        .axis_iter_mut(Axis(0))
        .into_par_iter()
        .enumerate()
        .map(|(tree, mut gradient)| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(((epoch as u64) << 32) | tree as u64);
            let (words, shares) = documents.row(tree);
            let vector = vectors.row(tree);
            let mut pulls = Vec::with_capacity(words.len() * (1 + num_negatives));
            let mut pull = |word: u32, share: f32, wanted: f32| {
                let answer = output.row(word as usize);
                let predicted = 1.0 / (1.0 + (-vector.dot(&answer)).exp());
                let slope = share * (predicted - wanted);
                gradient.scaled_add(slope, &answer);
                pulls.push(Pull {
                    tree: tree as u32,
                    word,
                    slope,
                });
            };
            for (&word, &share) in words.iter().zip(shares) {
                pull(word, share, 1.0);
                for _ in 0..num_negatives {
                    pull(sampler.draw(&mut rng), share, 0.0);
                }
            }
            pulls
        })
        .collect();
    let (start_of_word, by_word) = sort_by_word(&pulls, documents.num_words());
    let mut output_gradient = Array2::zeros(output.raw_dim());
    output_gradient
        .axis_iter_mut(Axis(0))
        .into_par_iter()
        .enumerate()
        .for_each(|(word, mut gradient)| {
            for pull in &by_word[start_of_word[word]..start_of_word[word + 1]] {
                gradient.scaled_add(pull.slope, &vectors.row(pull.tree as usize));
            }
        });
    (vector_gradient, output_gradient)
}

/// Counting sort: pulls of a word stay in order of trees.
fn sort_by_word(pulls: &[Vec<Pull>], num_words: usize) -> (Vec<usize>, Vec<Pull>) {
    let mut start = vec![0; num_words + 1];
    for pull in pulls.iter().flatten() {
        start[pull.word as usize + 1] += 1;
    }
    for word in 0..num_words {
        start[word + 1] += start[word];
    }
    let mut next = start.clone();
    let mut sorted = vec![Pull::default(); start[num_words]];
    for pull in pulls.iter().flatten() {
        sorted[next[pull.word as usize]] = *pull;
        next[pull.word as usize] += 1;
    }
    (start, sorted)
}
