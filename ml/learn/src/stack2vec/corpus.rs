//! The corpus: each tree as a document whose words are its subtrees.

use callgrove_trees::real::Real;
use callgrove_trees::wl::Bags;

/// Sum of the shares of one tree. It balances the data against weight decay.
pub const WEIGHT_PER_TREE: f32 = 10.0;

/// Compressed rows: per tree its subtrees (columns ascend) and their shares, which sum to
/// [`WEIGHT_PER_TREE`].
#[derive(Clone, PartialEq, Debug)]
pub struct Corpus {
    num_words: usize,
    row_start: Vec<usize>,
    word: Vec<u32>,
    share: Vec<f32>,
}

impl Corpus {
    /// Creates a corpus from rows of (word, weight ≥ 0); a row without weight has no shares.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "shares are in single precision"
    )]
    pub fn new(num_words: usize, rows: impl IntoIterator<Item = Vec<(u32, f64)>>) -> Self {
        let mut built = Self {
            num_words,
            row_start: vec![0],
            word: Vec::new(),
            share: Vec::new(),
        };
        for row in rows {
            let total: f64 = row.iter().map(|entry| entry.1).sum();
            for (word, weight) in row {
                if weight > 0.0 && (word as usize) < num_words {
                    built.word.push(word);
                    built
                        .share
                        .push((f64::from(WEIGHT_PER_TREE) * weight / total) as f32);
                }
            }
            built.row_start.push(built.word.len());
        }
        built
    }

    /// Creates a corpus with the paper's frequencies: total durations of subtrees. `column_of` numbers the subtrees;
    /// numbers beyond `num_words` are left out.
    pub fn from_bags(
        bags: &Bags,
        num_words: usize,
        column_of: impl Fn(callgrove_trees::wl::SubtreeIdx) -> u32,
    ) -> Self {
        let rows = bags.iter().map(|bag| {
            let mut row: Vec<(u32, f64)> = bag
                .subtree
                .iter()
                .zip(bag.inclusive_ns)
                .map(|(&subtree, &total_ns)| (column_of(subtree), total_ns.max(0).real()))
                .filter(|entry| (entry.0 as usize) < num_words)
                .collect();
            row.sort_unstable_by_key(|entry| entry.0);
            row
        });
        Self::new(num_words, rows)
    }

    /// Returns the number of trees.
    pub fn len(&self) -> usize {
        self.row_start.len() - 1
    }

    /// Returns whether there are no trees.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of different subtrees.
    pub fn num_words(&self) -> usize {
        self.num_words
    }

    /// Returns the words and shares of a tree.
    pub fn row(&self, row: usize) -> (&[u32], &[f32]) {
        let range = self.row_start[row]..self.row_start[row + 1];
        (&self.word[range.clone()], &self.share[range])
    }

    /// Returns the total share of each word, added in order of rows.
    pub(super) fn word_totals(&self) -> Vec<f64> {
        let mut totals = vec![0.0; self.num_words];
        for (&word, &share) in self.word.iter().zip(&self.share) {
            totals[word as usize] += f64::from(share);
        }
        totals
    }
}
