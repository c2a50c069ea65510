//! Settings of the one-class SVM.

use serde::{Deserialize, Serialize};

use callgrove_trees::error::{Result, check_param};

/// Settings of the one-class SVM.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OcsvmParams {
    /// Width γ ≥ 0 of the kernel exp(−γ d²).
    pub gamma: f64,
    /// Regularisation C > 0 of Eq. 1, the expected total weight of outliers.
    pub c: f64,
    /// Memory for kernel rows in bytes; at least two rows are cached.
    pub cache_bytes: usize,
}

/// Checked [`OcsvmParams`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValidOcsvmParams(OcsvmParams);

impl OcsvmParams {
    /// Default memory for kernel rows in bytes: half a GiB, which suffices for all support vectors of 50,000 rows.
    pub const DEFAULT_CACHE_BYTES: usize = 512 << 20;

    /// Returns settings with a kernel width and C, and the default cache.
    pub fn new(gamma: f64, c: f64) -> Self {
        Self {
            gamma,
            c,
            cache_bytes: Self::DEFAULT_CACHE_BYTES,
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::InvalidParam`].
    pub fn check(self) -> Result<ValidOcsvmParams> {
        check_param(
            "gamma",
            self.gamma,
            self.gamma.is_finite() && self.gamma >= 0.0,
            "a finite number from 0 on",
        )?;
        check_param(
            "C",
            self.c,
            self.c.is_finite() && self.c > 0.0,
            "a finite number above 0",
        )?;
        Ok(ValidOcsvmParams(self))
    }
}

impl ValidOcsvmParams {
    /// Returns the width γ of the kernel.
    pub fn gamma(&self) -> f64 {
        self.0.gamma
    }

    /// Returns the regularisation C.
    pub fn c(&self) -> f64 {
        self.0.c
    }

    pub(crate) fn cache_bytes(&self) -> usize {
        self.0.cache_bytes
    }
}
