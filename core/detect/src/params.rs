//! Settings of the detectors, with the keys of Chimbuko's file of parameters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{DetectError, Result};
use callgrove_model::Real;

/// Keys of a file of parameters, for messages.
const KEYS: &str =
    "algorithm, excess_severe_us, sstd_sigma, hbos_thres, glob_thres and hbos_max_bins";

/// How executions are judged.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// How improbably long the execution took for who called it, weighed by what that cost.
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
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Excess, Self::Hbos, Self::Sstd, Self::Copod];

    /// Its name in files and on the command line.
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

/// Settings of a detector; those that Chimbuko has too have its defaults.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The detector.
    pub algorithm: Algorithm,
    /// Excess: an execution that is not usual and took longer than usual by so many microseconds is an outlier, however
    /// often there are such; shorter ones need more evidence. Above 0.
    #[serde(rename = "excess_severe_us")]
    pub severe_us: f64,
    /// HBOS and COPOD: where in the range of scores the threshold lies, from 0 (lowest score) to 1
    /// (highest); 1 less this is also the share of executions that may be outliers.
    #[serde(rename = "hbos_thres")]
    pub hbos_threshold: f64,
    /// SSTD: outliers are farther from the mean than this many standard deviations; above 0.
    pub sstd_sigma: f64,
    /// HBOS and COPOD: most occupied bins of a histogram, from 65 to 65,536. HBOS judges by at most 2 ∛n of them for n
    /// executions.
    #[serde(rename = "hbos_max_bins")]
    pub max_bins: usize,
    /// HBOS and COPOD: whether the threshold never falls while the run goes on.
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
    /// Settings from a file of parameters, as Chimbuko's option `-algo_params_file` takes it.
    ///
    /// # Errors
    /// [`DetectError::BadParams`] naming an unknown key or a value of the wrong type.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|err| DetectError::BadParams {
            reason: err.to_string(),
            keys: KEYS,
        })
    }

    /// The settings, if all are within their bounds.
    ///
    /// # Errors
    /// [`DetectError::InvalidParam`] naming the first that is not.
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

    /// The fewest bins that a histogram may be bound to: with one per octave all times have a place.
    pub const MIN_BINS: usize = 65;

    /// The most bins that a histogram may be bound to.
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

/// Settings within their bounds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValidParams(Params);

impl ValidParams {
    /// The settings.
    pub fn get(&self) -> &Params {
        &self.0
    }

    /// Whether `threshold` may stand in for the algorithm's own on one function: `excess_severe_us`,
    /// `hbos_thres` of HBOS and COPOD, `sstd_sigma` of SSTD. Returns it.
    ///
    /// # Errors
    /// [`DetectError::InvalidParam`] if it is out of the bounds of that setting.
    pub fn check_threshold(&self, threshold: f64) -> Result<f64> {
        match self.0.algorithm {
            Algorithm::Excess => check_severe(threshold),
            Algorithm::Sstd => check_sigma(threshold),
            Algorithm::Hbos | Algorithm::Copod => check_share(threshold),
        }
    }
}
