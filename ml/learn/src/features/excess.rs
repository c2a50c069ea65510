//! Excess time and rarity: the default representation.

use serde::{Deserialize, Serialize};

use super::params::ValidExcessParams;
use super::reference::Reference;
use callgrove_trees::dataset::{SparseRow, SparseRows};
use callgrove_trees::error::Result;
use callgrove_trees::wl::{Bag, Bags, SubtreeHash, SubtreeIdx, Vocabulary};

/// Makes rows of trees.
///
/// With V subtrees in the vocabulary a row has 2 V columns. For a subtree s of the tree
///
/// ```text
/// e    = (total time of s in the tree − its usual time) / usual duration of the tree
/// x_s  = sign(e) ln(1 + a |e|)
/// ```
///
/// where the usual time is the median over trees of the same structure that have s, less the clock's resolution
/// ([`Reference::excess`]), and a is the gain; x_s = 0 for subtrees that the tree lacks. One of the columns V..2V,
/// that of the tree's own structure, holds its rarity ([`Reference::rarity`]) times its weight. So two rare
/// structures are distant from the rest and from each other, and learning that one of them is normal does not affect
/// the other.
///
/// A long subtree has an excess at every degree and in all its callers. Deep subtrees therefore weigh more, which is
/// intended, since they locate the time more precisely.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExcessModel {
    params: ValidExcessParams,
    vocabulary_len: usize,
}

/// Number of steps per unit of a component of a row.
const STEPS_PER_UNIT: f64 = 1e4;

/// Rounds to four digits after the point: more are insignificant, and would make a model file three times as long.
pub(super) fn rounded(component: f64) -> f64 {
    (component * STEPS_PER_UNIT).round() / STEPS_PER_UNIT
}

/// Maps subtrees of another forest to the order of a model's vocabulary. Subtrees that the model does not know get
/// numbers after it.
#[derive(Clone, PartialEq, Debug)]
pub struct Translation {
    known: Vec<SubtreeIdx>,
    model_len: usize,
}

impl ExcessModel {
    /// Returns a model for a vocabulary of this size.
    pub fn new(params: ValidExcessParams, vocabulary_len: usize) -> Self {
        Self {
            params,
            vocabulary_len,
        }
    }

    /// Returns the number of subtrees that have columns.
    pub fn vocabulary_len(&self) -> usize {
        self.vocabulary_len
    }

    /// Returns the number of columns of subtrees that the model knows.
    pub fn num_columns(&self) -> usize {
        2 * self.vocabulary_len
    }

    /// Returns the rows of all trees.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::BadNumber`] if a row is not finite.
    pub fn rows(
        &self,
        bags: &Bags,
        reference: &Reference,
        translation: &Translation,
    ) -> Result<SparseRows> {
        let rows = bags
            .iter()
            .map(|bag| self.row(&bag, reference, translation));
        SparseRows::new(self.num_columns(), rows)
    }

    fn row(&self, bag: &Bag<'_>, reference: &Reference, translation: &Translation) -> SparseRow {
        let params = self.params.get();
        let root = translation.get(bag.root);
        let mut entries: Vec<(u32, f64)> = bag
            .subtree
            .iter()
            .zip(bag.inclusive_ns.iter().zip(bag.count))
            .map(|(&subtree, (&total_ns, &count))| {
                let subtree = translation.get(subtree);
                let excess = reference.excess(root, subtree, total_ns, count);
                let value = (params.gain * excess.abs()).ln_1p().copysign(excess);
                (self.column(subtree, false), rounded(value))
            })
            .collect();
        let rarity = params.rarity_weight * reference.rarity(root);
        entries.push((self.column(root, true), rounded(rarity)));
        entries.sort_unstable_by_key(|entry| entry.0);
        let (columns, values) = entries.into_iter().unzip();
        SparseRow { columns, values }
    }

    /// Returns the column; those of unknown subtrees follow the vocabulary, two for each.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "two for each of some millions of subtrees at most"
    )]
    fn column(&self, subtree: SubtreeIdx, is_rarity: bool) -> u32 {
        let (len, index) = (self.vocabulary_len, subtree.index());
        let column = if index < len {
            index + if is_rarity { len } else { 0 }
        } else {
            2 * index + usize::from(is_rarity)
        };
        column as u32
    }
}

impl Translation {
    /// Returns the translation of the forest that the model was made of.
    pub fn identity(vocabulary_len: usize) -> Self {
        Self {
            known: (0..vocabulary_len).map(SubtreeIdx::from_index).collect(),
            model_len: vocabulary_len,
        }
    }

    /// Maps the vocabulary of a forest to that of a model: `find` looks a label up in the model's. Unknown labels are
    /// numbered in their own order, so that the row of a tree is the same whatever other trees there are.
    pub fn new(
        vocabulary: &Vocabulary,
        model_len: usize,
        find: impl Fn(SubtreeHash) -> Option<SubtreeIdx>,
    ) -> Self {
        let found: Vec<Option<SubtreeIdx>> = vocabulary
            .iter()
            .map(|(_, subtree)| find(subtree.hash))
            .collect();
        let mut unknown: Vec<SubtreeHash> = vocabulary
            .iter()
            .zip(&found)
            .filter(|(_, found)| found.is_none())
            .map(|((_, subtree), _)| subtree.hash)
            .collect();
        unknown.sort_unstable();
        let known = vocabulary
            .iter()
            .zip(found)
            .map(|((_, subtree), found)| {
                found.unwrap_or_else(|| {
                    let place = unknown.partition_point(|hash| *hash < subtree.hash);
                    SubtreeIdx::from_index(model_len + place)
                })
            })
            .collect();
        Self { known, model_len }
    }

    /// Returns whether the model knows a subtree.
    pub fn is_known(&self, subtree: SubtreeIdx) -> bool {
        self.known[subtree.index()].index() < self.model_len
    }

    /// Returns the number of a subtree in the model.
    pub fn get(&self, subtree: SubtreeIdx) -> SubtreeIdx {
        self.known[subtree.index()]
    }
}
