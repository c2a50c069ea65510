//! Settings of stack2vec.

use serde::{Deserialize, Serialize};

use callgrove_trees::error::{Result, check_param};
use callgrove_trees::real::Real;

/// The prediction target of the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Full softmax for small vocabularies, negative sampling for large ones.
    Auto,
    /// The whole distribution over subtrees.
    FullSoftmax,
    /// Subtrees of the tree against sampled others.
    NegativeSampling,
}

/// Settings of stack2vec.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack2vecParams {
    /// Numbers in a vector, 1..=4096; the paper's 128.
    pub dims: usize,
    /// Passes over all trees, from 1 on. The output layer moves after every 1,024 trees, so ten epochs achieve as
    /// much as fifty of whole batches.
    pub epochs: usize,
    /// Step of ADAM > 0.
    pub learning_rate: f32,
    /// λ ≥ 0, which shrinks vectors towards 0.
    pub weight_decay: f32,
    /// The prediction target of the network.
    pub objective: Objective,
    /// Largest vocabulary for which [`Objective::Auto`] selects the full softmax.
    pub softmax_up_to: usize,
    /// Number of sampled subtrees per pair of tree and subtree, 1..=64.
    pub num_negatives: usize,
}

/// Checked [`Stack2vecParams`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValidStack2vecParams(Stack2vecParams);

impl Default for Stack2vecParams {
    fn default() -> Self {
        Self {
            dims: 128,
            epochs: 10,
            learning_rate: 0.05,
            weight_decay: 1e-3,
            objective: Objective::Auto,
            softmax_up_to: 16_384,
            num_negatives: 5,
        }
    }
}

impl Stack2vecParams {
    /// Checks the bounds.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::InvalidParam`].
    pub fn check(self) -> Result<ValidStack2vecParams> {
        check_param(
            "dims",
            self.dims.real(),
            (1..=4096).contains(&self.dims),
            "from 1 to 4096",
        )?;
        check_param("epochs", self.epochs.real(), self.epochs >= 1, "1 or more")?;
        check_param(
            "learning_rate",
            f64::from(self.learning_rate),
            self.learning_rate.is_finite() && self.learning_rate > 0.0,
            "a finite number above 0",
        )?;
        check_param(
            "weight_decay",
            f64::from(self.weight_decay),
            self.weight_decay.is_finite() && self.weight_decay >= 0.0,
            "a finite number from 0 on",
        )?;
        check_param(
            "num_negatives",
            self.num_negatives.real(),
            (1..=64).contains(&self.num_negatives),
            "from 1 to 64",
        )?;
        Ok(ValidStack2vecParams(self))
    }
}

impl ValidStack2vecParams {
    pub(super) fn get(&self) -> &Stack2vecParams {
        &self.0
    }

    /// Returns whether the full softmax is trained for a vocabulary of this size.
    pub(super) fn is_softmax(&self, vocabulary_len: usize) -> bool {
        match self.0.objective {
            Objective::Auto => vocabulary_len <= self.0.softmax_up_to,
            Objective::FullSoftmax => true,
            Objective::NegativeSampling => false,
        }
    }
}
