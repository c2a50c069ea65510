//! The negatives of a block, and their weights.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::corpus::Corpus;
use callgrove_trees::real::Real;

/// Frequencies are raised to this power (Mikolov et al. 2013).
const FREQUENCY_POWER: f64 = 0.75;
/// Number of words drawn for a block from those that none of its trees has.
const NUM_DRAWN: usize = 32;
/// Maximum number of draws for them; draws of a word of the block's trees do not count.
const MAX_DRAWS: usize = 64 * NUM_DRAWN;

/// The words of a block.
#[derive(Clone, Debug)]
pub(super) enum Words {
    /// All of them.
    All,
    /// Some in ascending order, with the weight of each as a negative.
    Some(Vec<u32>, Vec<f32>),
}

/// The distribution of negatives.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    /// q_s, which sum to 1.
    share: Vec<f64>,
    /// Cumulative sums of q.
    cumulative: Vec<f64>,
    num_negatives: f64,
}

impl Noise {
    pub(super) fn new(frequencies: &[f64], num_negatives: usize) -> Self {
        let powers = frequencies
            .iter()
            .map(|frequency| frequency.powf(FREQUENCY_POWER));
        Self::from_shares(powers.collect(), num_negatives)
    }

    /// Returns the noise that a layer was trained with, from [`Noise::logarithms`].
    pub(super) fn from_logarithms(logarithms: &[f32], num_negatives: usize) -> Self {
        let shares = logarithms
            .iter()
            .map(|&logarithm| f64::from(logarithm).exp());
        Self::from_shares(shares.collect(), num_negatives)
    }

    fn from_shares(mut share: Vec<f64>, num_negatives: usize) -> Self {
        let total: f64 = share.iter().sum();
        if total > 0.0 {
            for share in &mut share {
                *share /= total;
            }
        }
        let mut sum = 0.0;
        let cumulative = share.iter().map(|share| {
            sum += share;
            sum
        });
        Self {
            cumulative: cumulative.collect(),
            share,
            num_negatives: num_negatives.real(),
        }
    }

    /// Returns ln q_s; 10⁻³⁰ replaces 0.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "logarithms are in single precision"
    )]
    pub(super) fn logarithms(&self) -> Vec<f32> {
        self.share
            .iter()
            .map(|share| share.max(1e-30).ln() as f32)
            .collect()
    }

    /// Returns the words of `trees` and some of the others. Every pair of a tree and a subtree should see k negatives
    /// drawn from q. Instead of draws, the words of the trees have the expected count k q_s as their weight; the rest
    /// of q is divided among [`NUM_DRAWN`] of the other words.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "words are counted in 32 bits, and weights are in single precision"
    )]
    pub(super) fn words(&self, corpus: &Corpus, trees: &[u32], rng: &mut ChaCha8Rng) -> Words {
        let mut own: Vec<u32> = Vec::new();
        for &tree in trees {
            own.extend_from_slice(corpus.row(tree as usize).0);
        }
        own.sort_unstable();
        own.dedup();
        let expected = |word: u32| (self.num_negatives * self.share[word as usize]) as f32;
        let own_share: f64 = own.iter().map(|&word| self.share[word as usize]).sum();
        let num_words = self.share.len() as u32;
        let mut found: Vec<(u32, f32)> = own.iter().map(|&word| (word, expected(word))).collect();
        if num_words as usize <= own.len() + NUM_DRAWN {
            let others = (0..num_words).filter(|word| own.binary_search(word).is_err());
            found.extend(others.map(|word| (word, expected(word))));
        } else {
            let drawn: Vec<u32> = (0..MAX_DRAWS)
                .map(|_| self.draw(rng))
                .filter(|word| own.binary_search(word).is_err())
                .take(NUM_DRAWN)
                .collect();
            let weight = self.num_negatives * (1.0 - own_share).max(0.0) / drawn.len().real();
            found.extend(drawn.iter().map(|&word| (word, weight as f32)));
        }
        found.sort_unstable_by_key(|entry| entry.0);
        // A word that was drawn twice counts twice.
        found.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        let (words, negative) = found.into_iter().unzip();
        Words::Some(words, negative)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "words are counted in 32 bits"
    )]
    fn draw(&self, rng: &mut ChaCha8Rng) -> u32 {
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        let target = rng.random::<f64>() * total;
        let word = self.cumulative.partition_point(|&upto| upto <= target);
        word.min(self.cumulative.len().saturating_sub(1)) as u32
    }
}

/// Returns the random number generator of a block in an epoch.
pub(super) fn stream(seed: u64, epoch: usize, block: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(((epoch as u64) << 32) | block as u64);
    rng
}
