//! Settings of the detectors, with the keys of Chimbuko's parameter file.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{DetectError, Result};
use callgrove_model::Real;

/// The keys of a parameter file, for messages.
const KEYS: &str =
    "algorithm, excess_severe_us, sstd_sigma, hbos_thres, glob_thres and hbos_max_bins";

/// The detectors.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// How improbably long the execution took for its caller, weighted by its cost.
    #[default]
    Excess,
    /// Histogram based outlier score: how improbable the execution's bin is.
    Hbos,
    /// Distance from the mean in standard deviations.
    Sstd,
    /// Copula based outlier detection: how improbable the execution's tail is.
    Copod,
}

impl Algorithm {
    /// All detectors.
    pub const ALL: [Self; 4] = [Self::Excess, Self::Hbos, Self::Sstd, Self::Copod];

    /// Returns the name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Excess => "excess",
            Self::Hbos => "hbos",
            Self::Sstd => "sstd",
            Self::Copod => "copod",
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Algorithm {
    type Err = DetectError;

    fn from_str(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|known| known.name() == name);
        found.ok_or_else(|| DetectError::UnknownAlgorithm {
            name: name.to_owned(),
        })
    }
}

/// Settings of a detector. Settings that Chimbuko also has use its defaults.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The detector.
    pub algorithm: Algorithm,
    /// Excess: an unusual execution that took longer than usual by this time in µs is an outlier, however many there
    /// are; shorter ones need more evidence. Above 0.
    #[serde(rename = "excess_severe_us")]
    pub severe_us: f64,
    /// HBOS and COPOD: the position of the threshold in the range of scores, from 0 (lowest score) to 1 (highest); 1
    /// less this value is also the share of executions that may be outliers.
    #[serde(rename = "hbos_thres")]
    pub hbos_threshold: f64,
    /// SSTD: outliers deviate from the mean by more than this many standard deviations; above 0.
    pub sstd_sigma: f64,
    /// HBOS and COPOD: largest number of occupied bins of a histogram, from 65 to 65,536. HBOS judges by at most 2 ∛n
    /// of them for n executions.
    #[serde(rename = "hbos_max_bins")]
    pub max_bins: usize,
    /// HBOS and COPOD: true if the threshold never falls during the run.
    #[serde(rename = "glob_thres")]
    pub use_global_threshold: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            severe_us: 15_000.0,
            hbos_threshold: 0.99,
            sstd_sigma: 6.0,
            max_bins: 200,
            use_global_threshold: true,
        }
    }
}

impl Params {
    /// Reads settings from a parameter file, as Chimbuko's option `-algo_params_file` takes it.
    ///
    /// # Errors
    /// [`DetectError::BadParams`] with the unknown key or the value of the wrong type.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|err| DetectError::BadParams {
            reason: err.to_string(),
            keys: KEYS,
        })
    }

    /// Returns the settings if all are in their valid ranges.
    ///
    /// # Errors
    /// [`DetectError::InvalidParam`] with the first setting that is not.
    pub fn check(self) -> Result<ValidParams> {
        check_severe(self.severe_us)?;
        check_share(self.hbos_threshold)?;
        check_sigma(self.sstd_sigma)?;
        if !(Self::MIN_BINS..=Self::MAX_BINS).contains(&self.max_bins) {
            return Err(DetectError::InvalidParam {
                name: "hbos_max_bins",
                value: self.max_bins.real(),
                wanted: "65 (a bin for each octave of times) to 65536",
            });
        }
        Ok(ValidParams(self))
    }

    /// The smallest limit on the bins of a histogram: with one bin per octave, every time has a bin.
    pub const MIN_BINS: usize = 65;

    /// The largest limit on the bins of a histogram.
    pub const MAX_BINS: usize = 65_536;
}

fn check_share(value: f64) -> Result<f64> {
    let wanted = "from 0 to 1";
    in_bounds("hbos_thres", value, (0.0..=1.0).contains(&value), wanted)
}

fn check_severe(value: f64) -> Result<f64> {
    check_positive("excess_severe_us", value)
}

fn check_sigma(value: f64) -> Result<f64> {
    check_positive("sstd_sigma", value)
}

fn check_positive(name: &'static str, value: f64) -> Result<f64> {
    let wanted = "above 0 and finite";
    in_bounds(name, value, value > 0.0 && value.is_finite(), wanted)
}

fn in_bounds(name: &'static str, value: f64, is_valid: bool, wanted: &'static str) -> Result<f64> {
    let error = DetectError::InvalidParam {
        name,
        value,
        wanted,
    };
    is_valid.then_some(value).ok_or(error)
}

/// Settings in their valid ranges.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValidParams(Params);

impl ValidParams {
    /// Returns the settings.
    pub fn get(&self) -> &Params {
        &self.0
    }

    /// Returns `threshold` if it may replace the algorithm's own for one function: `excess_severe_us`, `hbos_thres` of
    /// HBOS and COPOD, or `sstd_sigma` of SSTD.
    ///
    /// # Errors
    /// [`DetectError::InvalidParam`] if it is outside the range of that setting.
    pub fn check_threshold(&self, threshold: f64) -> Result<f64> {
        match self.0.algorithm {
            Algorithm::Excess => check_severe(threshold),
            Algorithm::Sstd => check_sigma(threshold),
            Algorithm::Hbos | Algorithm::Copod => check_share(threshold),
        }
    }
}
