//! Settings of the detector: the one place of all defaults.

use serde::{Deserialize, Serialize};

use crate::error::{Result, check_param};
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
    /// Where the border between normal and abnormal lies.
    pub border: BorderRule,
    /// What labels do.
    pub labels: LabelRule,
    /// What the map shows.
    pub map_of: MapOf,
    /// How it is made.
    pub map: MdsParams,
}

/// Where the border between normal and abnormal lies.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BorderRule {
    /// At the offset ρ of the one-class SVM, as in the paper: a share ν of the weight lies beyond.
    Rho,
    /// Where about this share, above 0 and below 1, of what is called abnormal is normal: see
    /// [`crate::calibration::Calibration::border`].
    FalseDiscovery(f64),
}

/// What labels do to the scores. A tree labelled abnormal has weight 0 with either rule.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LabelRule {
    /// Section 5.1 of the paper: weights only.
    Weights {
        /// Weight of a tree labelled normal in units of C, at least 1 (the paper: larger than C).
        normal: f64,
    },
    /// A tree labelled normal has weight 1, and labels that contradict the score correct it in their
    /// neighbourhood: see [`super::Correction`].
    Correction(CorrectionParams),
}

/// Settings of [`LabelRule::Correction`].
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorrectionParams {
    /// γ of the correction in units of the γ of the one-class SVM, above 0: the larger, the less far
    /// a label reaches.
    pub sharpness: f64,
    /// Variance σ² > 0 of the noise of labels, in units of the variance of the correction: how easily
    /// a label gives way to others close by.
    pub noise: f64,
    /// Score ≥ 0 that a label asks for, in units of the mean |score| before correction.
    pub margin: f64,
    /// Weight ≥ 0 of an unlabelled tree that is called normal, in labels: 1 / this many trees alike hold
    /// against one label that says they are not.
    pub evidence: f64,
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
    /// What ranks best on traces of real runs: see `ml/STUDY.md`.
    fn default() -> Self {
        Self {
            wl: WlParams::default(),
            representation: Representation::ExcessRarity(ExcessParams::default()),
            gamma: GammaRule::Fence(0.3),
            nu: 0.01,
            prior: Prior::Fence {
                p_value: 0.01,
                power: 32.0,
            },
            border: BorderRule::FalseDiscovery(0.1),
            labels: LabelRule::Correction(CorrectionParams::default()),
            map_of: MapOf::Representation,
            map: MdsParams::default(),
        }
    }
}

impl Default for CorrectionParams {
    fn default() -> Self {
        Self {
            sharpness: 8.0,
            noise: 0.05,
            margin: 0.25,
            evidence: 0.05,
        }
    }
}

impl LabelRule {
    fn check(self) -> Result<()> {
        let is_above = |value: f64, least: f64| value.is_finite() && value > least;
        match self {
            Self::Weights { normal } => check_param(
                "normal",
                normal,
                normal.is_finite() && normal >= 1.0,
                "a finite number from 1 on",
            ),
            Self::Correction(CorrectionParams {
                sharpness,
                noise,
                margin,
                evidence,
            }) => {
                let wanted = "a finite number above 0";
                check_param("sharpness", sharpness, is_above(sharpness, 0.0), wanted)?;
                check_param("noise", noise, is_above(noise, 0.0), wanted)?;
                let is_valid = margin.is_finite() && margin >= 0.0;
                check_param("margin", margin, is_valid, "a finite number from 0 on")?;
                let is_valid = evidence.is_finite() && evidence >= 0.0;
                check_param("evidence", evidence, is_valid, "a finite number from 0 on")
            }
        }
    }
}

impl DetectorParams {
    /// The paper's settings: exact signatures, stack2vec, C = 0.02 n, u = 1. It leaves the width of its
    /// Gaussian kernel open; γ = 1 / columns, which the libraries of its time took, ranks best.
    pub fn paper() -> Self {
        Self {
            wl: WlParams::paper(),
            representation: Representation::PaperStack2vec(Stack2vecParams::default()),
            gamma: GammaRule::NumColumns(1.0),
            nu: 0.02,
            prior: Prior::Uniform,
            border: BorderRule::Rho,
            labels: LabelRule::Weights { normal: 1.5 },
            map_of: MapOf::Representation,
            map: MdsParams::default(),
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
        if let BorderRule::FalseDiscovery(rate) = self.border {
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
    /// The checked settings.
    pub fn get(&self) -> &DetectorParams {
        &self.0
    }
}
