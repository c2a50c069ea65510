//! The model of one function: the distribution of its times.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::error::{DetectError, Result, damaged};
use crate::{Algorithm, Histogram, Moments, RunningThreshold, ValidParams};

/// The model of one function: what its executions took so far, everywhere.
///
/// Models of parts of a run merge to the model of the run: the histogram exactly, the moments up to
/// rounding, in any order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct FuncModel {
    moments: Moments,
    /// None for SSTD, which needs the moments only.
    histogram: Option<Histogram>,
    threshold: RunningThreshold,
}

impl FuncModel {
    /// A model of a function that was not executed yet.
    pub fn new(params: &ValidParams) -> Self {
        let histogram = match params.get().algorithm {
            Algorithm::Sstd => None,
            Algorithm::Hbos | Algorithm::Copod => Some(Histogram::new(params.get().max_bins)),
        };
        Self {
            moments: Moments::default(),
            histogram,
            threshold: RunningThreshold::default(),
        }
    }

    /// A model of no executions, for those of a part of the run that will be merged into this model: it
    /// counts faster than a new one, and the merge has the same result.
    #[must_use]
    pub fn new_part(&self) -> Self {
        Self {
            moments: Moments::default(),
            histogram: self.histogram.as_ref().map(Histogram::emptied),
            threshold: RunningThreshold::default(),
        }
    }

    /// A model from its parts.
    ///
    /// # Errors
    /// [`DetectError::Damaged`] if the parts count different numbers of executions, or the threshold is
    /// not a finite number of at least 0.
    pub fn from_parts(
        moments: Moments,
        histogram: Option<Histogram>,
        internal_global_threshold: f64,
    ) -> Result<Self> {
        if histogram
            .as_ref()
            .is_some_and(|histogram| histogram.total() != moments.count())
        {
            return Err(damaged("a model", "the number of executions"));
        }
        Ok(Self {
            moments,
            histogram,
            threshold: RunningThreshold::stored(internal_global_threshold)?,
        })
    }

    /// Takes in the times of further executions, in microseconds.
    pub fn extend(&mut self, values_us: &[u64]) {
        self.moments.extend_from(values_us);
        if let Some(histogram) = &mut self.histogram {
            histogram.extend(values_us);
        }
    }

    /// Takes in the model of other executions of the function.
    ///
    /// # Errors
    /// [`DetectError::MixedModels`] if only one of the two has a histogram; this model stays as it was.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        match (&mut self.histogram, &other.histogram) {
            (Some(ours), Some(theirs)) => ours.merge(theirs),
            (None, None) => {}
            _ => return Err(DetectError::MixedModels),
        }
        self.moments.merge(&other.moments);
        self.threshold.raise(other.threshold.value());
        Ok(())
    }

    /// Raises the [`RunningThreshold`]; it is told what [`crate::Judge::threshold`] was used last.
    pub fn raise_threshold(&mut self, threshold: f64) {
        self.threshold.raise(threshold);
    }

    /// Moments of the times, in microseconds.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Histogram of the times; None for SSTD.
    pub fn histogram(&self) -> Option<&Histogram> {
        self.histogram.as_ref()
    }

    /// The highest threshold so far.
    pub fn internal_global_threshold(&self) -> f64 {
        self.threshold.value()
    }

    /// The object that the schemas call `algo_params`, and `model` in the collection `ad_model`.
    pub fn to_json(&self) -> Value {
        let Some(histogram) = &self.histogram else {
            return json!(self.moments.stats());
        };
        let (counts, edges) = histogram.counts_and_edges();
        json!({
            "histogram": {
                "Histogram Bin Counts": counts,
                "Histogram Bin Edges": edges,
            },
            "internal_global_threshold": self.threshold.value(),
        })
    }
}

/// What a stored model consists of.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    moments: Moments,
    histogram: Option<Histogram>,
    internal_global_threshold: f64,
}

impl From<FuncModel> for Parts {
    fn from(model: FuncModel) -> Self {
        let FuncModel {
            moments,
            histogram,
            threshold,
        } = model;
        Self {
            moments,
            histogram,
            internal_global_threshold: threshold.value(),
        }
    }
}

impl TryFrom<Parts> for FuncModel {
    type Error = DetectError;

    fn try_from(parts: Parts) -> Result<Self> {
        Self::from_parts(
            parts.moments,
            parts.histogram,
            parts.internal_global_threshold,
        )
    }
}
