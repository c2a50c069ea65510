//! Choices of representation, kernel width and weights before any label.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::stack2vec::Stack2vecParams;
use callgrove_trees::error::{MlError, Result, check_param};

/// The representation of trees for the one-class SVM.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Representation {
    /// Excess time of every subtree and rarity of the structure: see [`crate::features::ExcessModel`].
    ExcessRarity(ExcessParams),
    /// The paper's embedding.
    PaperStack2vec(Stack2vecParams),
}

/// Settings of [`Representation::ExcessRarity`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExcessParams {
    /// a > 0 in sign(e) ln(1 + a|e|): the larger, the more small shares of the run count.
    pub gain: f64,
    /// Weight ≥ 0 of the rarity of the tree's structure: see [`crate::features::Reference::rarity`].
    pub rarity_weight: f64,
    /// Number of windows of a lane (rank and thread), in which the rarity of a structure is
    /// counted: see [`crate::features::Windows`]. From 1 on; with 1 nothing is rare.
    pub windows_per_lane: u32,
    /// Minimum number of trees of a structure class with its own medians; smaller ones use those of all trees.
    pub min_class_size: usize,
}

/// Checked [`ExcessParams`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "ExcessParams")]
pub struct ValidExcessParams(ExcessParams);

/// The rule for the width of the kernel: γ from the rows.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GammaRule {
    /// γ = factor / mean squared distance.
    MeanDistance(f64),
    /// γ = factor / median squared distance (of at most 2,000 evenly spaced rows).
    MedianDistance(f64),
    /// γ = factor / number of columns: the default of libsvm.
    NumColumns(f64),
    /// γ = factor / r², with r the norm that one in 100 normal rows reaches, those with p > .05
    /// (`callgrove_judge::decision`): the scale of the normal rows, whatever the share of abnormal ones.
    NormalNorm(f64),
}

/// Weight u of a tree without a label.
///
/// The SVM of Eq. 1 with u = 1 encloses anomalies that are many or alike. So trees that are certainly abnormal have
/// weight 0, however large their share of the run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prior {
    /// u = 1, as in the paper.
    Uniform,
    /// u rises from 0 at p = .001 to 1 at p = .05, with the p-values of the excess (`callgrove_judge::decision`).
    PValues,
}

impl Default for ExcessParams {
    fn default() -> Self {
        Self {
            gain: 20.0,
            rarity_weight: 4.0,
            windows_per_lane: 16,
            min_class_size: 8,
        }
    }
}

impl ExcessParams {
    /// Checks the bounds.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::InvalidParam`].
    pub fn check(self) -> Result<ValidExcessParams> {
        check_param(
            "gain",
            self.gain,
            self.gain.is_finite() && self.gain > 0.0,
            "a finite number above 0",
        )?;
        check_param(
            "rarity_weight",
            self.rarity_weight,
            self.rarity_weight.is_finite() && self.rarity_weight >= 0.0,
            "a finite number from 0 on",
        )?;
        check_param(
            "windows_per_lane",
            f64::from(self.windows_per_lane),
            self.windows_per_lane > 0,
            "from 1 on",
        )?;
        Ok(ValidExcessParams(self))
    }
}

impl TryFrom<ExcessParams> for ValidExcessParams {
    type Error = MlError;

    fn try_from(params: ExcessParams) -> Result<Self> {
        params.check()
    }
}

impl ValidExcessParams {
    pub(super) fn get(&self) -> &ExcessParams {
        &self.0
    }

    /// Returns the number of trees that a structure class needs for its own medians.
    pub fn min_class_size(&self) -> usize {
        self.0.min_class_size
    }
}

/// Factors of the rules for γ that give a useful kernel: below, all rows are alike to it, above, each is similar only
/// to itself.
const FACTORS: RangeInclusive<f64> = 1e-3..=1e3;

impl GammaRule {
    /// Checks the factor.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::InvalidParam`].
    pub fn check(self) -> Result<()> {
        let factor = self.factor();
        let is_valid = FACTORS.contains(&factor);
        check_param("gamma factor", factor, is_valid, "from 0.001 to 1000")
    }
}

impl GammaRule {
    /// Returns the factor of the rule.
    pub fn factor(self) -> f64 {
        let (Self::MeanDistance(factor)
        | Self::MedianDistance(factor)
        | Self::NumColumns(factor)
        | Self::NormalNorm(factor)) = self;
        factor
    }

    /// Returns the rule with another factor.
    #[must_use]
    pub fn with_factor(self, factor: f64) -> Self {
        match self {
            Self::MeanDistance(_) => Self::MeanDistance(factor),
            Self::MedianDistance(_) => Self::MedianDistance(factor),
            Self::NumColumns(_) => Self::NumColumns(factor),
            Self::NormalNorm(_) => Self::NormalNorm(factor),
        }
    }
}
