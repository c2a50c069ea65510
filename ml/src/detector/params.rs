//! Settings of the detector: the one place of all defaults.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_param};
use crate::explain::ExplainParams;
use crate::features::{ExcessParams, GammaRule, Prior, Representation};
use crate::projection::MdsParams;
use crate::stack2vec::Stack2vecParams;
use crate::wl::WlParams;

/// Settings of the detector.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DetectorParams {
    /// Subtrees.
    pub wl: WlParams,
    /// What goes into the one-class SVM.
    pub representation: Representation,
    /// Width of its kernel.
    pub gamma: GammaRule,
    /// Expected share of outliers, above 0 up to 1: C = ν · sum of the prior weights. C stays the
    /// same while labels change.
    pub nu: f64,
    /// Weights of unlabelled trees.
    pub prior: Prior,
    /// Weight of a tree labelled normal in units of C, at least 1 (section 5.1: larger than C).
    pub normal_weight: f64,
    /// What the map shows.
    pub map_of: MapOf,
    /// How it is made.
    pub map: MdsParams,
    /// How the important subtrees of a tree are found.
    pub explain: ExplainParams,
}

/// What the map shows.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapOf {
    /// The rows that the one-class SVM sees.
    Representation,
    /// stack2vec vectors, whatever the one-class SVM sees.
    Stack2vec(Stack2vecParams),
}

/// Checked [`DetectorParams`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ValidDetectorParams(DetectorParams);

impl Default for DetectorParams {
    /// What ranks best on traces of real runs: see the study in the README of this folder.
    fn default() -> Self {
        Self {
            wl: WlParams::default(),
            representation: Representation::ExcessRarity(ExcessParams::default()),
            gamma: GammaRule::OverMean(0.5),
            nu: 0.02,
            prior: Prior::Fence {
                factor: 2.0,
                power: 8.0,
            },
            normal_weight: 1.5,
            map_of: MapOf::Representation,
            map: MdsParams::default(),
            explain: ExplainParams::default(),
        }
    }
}

impl DetectorParams {
    /// The paper's settings: exact signatures, stack2vec, C = 0.02 n, u = 1.
    pub fn paper() -> Self {
        Self {
            wl: WlParams::paper(),
            representation: Representation::PaperStack2vec(Stack2vecParams::default()),
            gamma: GammaRule::OverMedian(1.0),
            nu: 0.02,
            prior: Prior::Uniform,
            normal_weight: 1.5,
            map_of: MapOf::Representation,
            map: MdsParams::default(),
            explain: ExplainParams::paper(),
        }
    }

    /// Checks the bounds.
    ///
    /// # Errors
    /// [`crate::MlError::InvalidParam`].
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
        self.prior.check()?;
        self.map.check()?;
        self.explain.check()?;
        let is_valid = self.nu > 0.0 && self.nu <= 1.0;
        check_param("nu", self.nu, is_valid, "above 0 and at most 1")?;
        let is_valid = self.normal_weight.is_finite() && self.normal_weight >= 1.0;
        check_param(
            "normal_weight",
            self.normal_weight,
            is_valid,
            "a finite number from 1 on",
        )?;
        Ok(ValidDetectorParams(self))
    }
}

impl ValidDetectorParams {
    /// The checked settings.
    pub fn get(&self) -> &DetectorParams {
        &self.0
    }
}
