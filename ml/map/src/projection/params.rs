//! Settings of the map.

use serde::{Deserialize, Serialize};

use callgrove_trees::error::{Result, check_param};
use callgrove_trees::real::Real;

/// Settings of the map.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MdsParams {
    /// Number of landmarks or pivots, at least 3; with as many as there are trees the map is classical scaling.
    pub num_landmarks: usize,
}

/// Checked [`MdsParams`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValidMdsParams(MdsParams);

impl Default for MdsParams {
    fn default() -> Self {
        Self { num_landmarks: 400 }
    }
}

impl MdsParams {
    /// Checks the bounds.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::InvalidParam`].
    pub fn check(self) -> Result<ValidMdsParams> {
        check_param(
            "num_landmarks",
            self.num_landmarks.real(),
            self.num_landmarks >= 3,
            "3 or more",
        )?;
        Ok(ValidMdsParams(self))
    }
}

impl ValidMdsParams {
    /// Returns the number of landmarks.
    pub fn num_landmarks(self) -> usize {
        self.0.num_landmarks
    }
}
