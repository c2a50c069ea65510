//! Settings of explanations.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_param};

/// Which trees a tree is compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NeighbourPool {
    /// The nearest of all trees, as in the paper. The nearest of an anomaly that is one of many are
    /// its own kind, and the differences between them explain nothing.
    All,
    /// The nearest of those that the detector finds normal.
    Normal,
}

/// Settings of explanations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExplainParams {
    /// Number of nearest neighbours, from 1 on.
    pub num_neighbours: usize,
    /// Which trees may be neighbours.
    pub neighbours: NeighbourPool,
}

impl Default for ExplainParams {
    fn default() -> Self {
        Self {
            num_neighbours: 20,
            neighbours: NeighbourPool::Normal,
        }
    }
}

impl ExplainParams {
    /// As in the paper.
    pub fn paper() -> Self {
        Self {
            neighbours: NeighbourPool::All,
            ..Self::default()
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// [`crate::MlError::InvalidParam`].
    pub(crate) fn check(self) -> Result<()> {
        let num_neighbours = self.num_neighbours as f64;
        check_param(
            "num_neighbours",
            num_neighbours,
            self.num_neighbours >= 1,
            "1 or more",
        )
    }
}
