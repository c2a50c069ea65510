//! Settings of the detector, with all defaults.

use serde::{Deserialize, Serialize};

use callgrove_learn::features::{ExcessParams, GammaRule, Prior, Representation};
use callgrove_learn::stack2vec::Stack2vecParams;
use callgrove_map::projection::MdsParams;
use callgrove_trees::error::{Result, check_param};
use callgrove_trees::wl::WlParams;

/// Settings of the detector.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetectorParams {
    /// Settings of the relabelling into subtrees.
    pub wl: WlParams,
    /// Representation of trees for the one-class SVM.
    pub representation: Representation,
    /// Rule for the width of its kernel.
    pub gamma: GammaRule,
    /// Expected share of outliers, above 0 up to 1: C = ν · sum of the prior weights. C stays the same while labels
    /// change.
    pub nu: f64,
    /// Rule for the weights of unlabelled trees.
    pub prior: Prior,
    /// Rule for the decision which trees are abnormal.
    pub decision: DecisionRule,
    /// Rule for the effect of labels.
    pub labels: LabelRule,
    /// The rows that the map shows.
    pub map_of: MapOf,
    /// Settings of the map.
    pub map: MdsParams,
}

/// The rule by which trees are classified as abnormal.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionRule {
    /// Trees with a negative score of the one-class SVM, as in the paper: a share ν of the weight.
    Rho,
    /// The trees with the smallest p-values, as many as keep the expected share of normal trees among them at this
    /// value, above 0 and below 1: see [`crate::decision`].
    FalseDiscovery(f64),
}

/// The effect of labels on the scores. A tree labelled abnormal has weight 0 with either rule.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelRule {
    /// Section 5.1 of the paper: weights only.
    Weights {
        /// Weight of a tree labelled normal in units of C, at least 1 (the paper: larger than C).
        normal: f64,
    },
    /// A tree labelled normal has weight 1, and labels decide together with the p-values about similar trees: see
    /// [`crate::decision::LabelReach`].
    Reach,
}

/// The rows that the map shows.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapOf {
    /// The rows of the one-class SVM.
    Representation,
    /// stack2vec vectors, whatever rows the one-class SVM uses.
    Stack2vec(Stack2vecParams),
}

/// Checked [`DetectorParams`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValidDetectorParams(DetectorParams);

impl Default for DetectorParams {
    /// Returns the settings that rank best on traces of real runs: see `ml/STUDY.md`.
    fn default() -> Self {
        Self {
            wl: WlParams::default(),
            representation: Representation::ExcessRarity(ExcessParams::default()),
            gamma: GammaRule::NormalNorm(0.3),
            nu: 0.01,
            prior: Prior::PValues,
            decision: DecisionRule::FalseDiscovery(0.1),
            labels: LabelRule::Reach,
            map_of: MapOf::Representation,
            map: MdsParams::default(),
        }
    }
}

impl LabelRule {
    fn check(self) -> Result<()> {
        let Self::Weights { normal } = self else {
            return Ok(());
        };
        check_param(
            "normal",
            normal,
            normal.is_finite() && normal >= 1.0,
            "a finite number from 1 on",
        )
    }
}

impl DetectorParams {
    /// Returns the paper's settings: exact signatures, stack2vec, C = 0.02 n, u = 1. The paper does not state the
    /// width of its Gaussian kernel; γ = 1 / columns, the default of the libraries of its time, ranks best.
    pub fn paper() -> Self {
        Self {
            wl: WlParams::paper(),
            representation: Representation::PaperStack2vec(Stack2vecParams::default()),
            gamma: GammaRule::NumColumns(1.0),
            nu: 0.02,
            prior: Prior::Uniform,
            decision: DecisionRule::Rho,
            labels: LabelRule::Weights { normal: 1.5 },
            map_of: MapOf::Representation,
            map: MdsParams::default(),
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::InvalidParam`].
    pub fn check(self) -> Result<ValidDetectorParams> {
        self.wl.check()?;
        match self.representation {
            Representation::ExcessRarity(params) => {
                params.check()?;
            }
            Representation::PaperStack2vec(params) => {
                params.check()?;
            }
        }
        if let MapOf::Stack2vec(params) = self.map_of {
            params.check()?;
        }
        self.gamma.check()?;
        self.map.check()?;
        if let DecisionRule::FalseDiscovery(rate) = self.decision {
            let is_valid = rate > 0.0 && rate < 1.0;
            check_param(
                "false discovery rate",
                rate,
                is_valid,
                "above 0 and below 1",
            )?;
        }
        let is_valid = self.nu > 0.0 && self.nu <= 1.0;
        check_param("nu", self.nu, is_valid, "above 0 and at most 1")?;
        self.labels.check()?;
        Ok(ValidDetectorParams(self))
    }
}

impl ValidDetectorParams {
    /// Returns the checked settings.
    pub fn get(&self) -> &DetectorParams {
        &self.0
    }
}
