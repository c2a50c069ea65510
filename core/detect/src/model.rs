//! The model of one function: the distribution of its times.

use callgrove_model::StepId;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::contexts::{CallerKey, Contexts, EpochRange};
use crate::error::{DetectError, Result, damaged};
use crate::histogram::Histogram;
use crate::moments::Moments;
use crate::params::{Algorithm, ValidParams};
use crate::power_sums::Extremes;
use crate::threshold::RunningThreshold;

/// The statistics of times that a model keeps, as its detector needs them.
#[derive(Clone, PartialEq, Debug)]
pub enum Distribution {
    /// No statistics besides the moments: SSTD.
    Moments,
    /// One histogram: HBOS and COPOD.
    Histogram(Histogram),
    /// Histograms by caller: excess.
    Contexts(Contexts),
}

/// The model of one function: the times of its executions so far, on all ranks.
///
/// Models of parts of a run merge to the model of the run in any order: histogram and contexts exactly, the moments up
/// to rounding.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct FuncModel {
    moments: Moments,
    distribution: Distribution,
    threshold: RunningThreshold,
}

impl FuncModel {
    /// Returns a model without executions.
    pub fn new(params: &ValidParams) -> Self {
        let distribution = match params.get().algorithm {
            Algorithm::Sstd => Distribution::Moments,
            Algorithm::Hbos | Algorithm::Copod => {
                Distribution::Histogram(Histogram::new(params.get().max_bins))
            }
            Algorithm::Excess => Distribution::Contexts(Contexts::default()),
        };
        Self {
            moments: Moments::default(),
            distribution,
            threshold: RunningThreshold::default(),
        }
    }

    /// Returns a model without executions, to count a part of the run that will be merged into this model. It counts
    /// faster than a new model, and the merge has the same result.
    #[must_use]
    pub fn new_part(&self) -> Self {
        let distribution = match &self.distribution {
            Distribution::Moments => Distribution::Moments,
            Distribution::Histogram(histogram) => Distribution::Histogram(histogram.emptied()),
            Distribution::Contexts(_) => Distribution::Contexts(Contexts::default()),
        };
        Self {
            moments: Moments::default(),
            distribution,
            threshold: RunningThreshold::default(),
        }
    }

    /// Returns the initial model for another run of the program, without the times within this run.
    #[must_use]
    pub fn for_next_run(mut self) -> Self {
        if let Distribution::Contexts(contexts) = &mut self.distribution {
            *contexts = contexts.for_next_run();
        }
        self
    }

    /// Returns a model from its parts.
    ///
    /// # Errors
    /// [`DetectError::Damaged`] if moments and histogram count different numbers of executions, or the threshold is
    /// not a finite number of at least 0.
    pub fn from_parts(
        moments: Moments,
        distribution: Distribution,
        internal_global_threshold: f64,
    ) -> Result<Self> {
        if let Distribution::Histogram(histogram) = &distribution
            && histogram.total() != moments.count()
        {
            return Err(damaged("a model", "the number of executions"));
        }
        Ok(Self {
            moments,
            distribution,
            threshold: RunningThreshold::stored(internal_global_threshold)?,
        })
    }

    /// Adds the times in µs of executions without a caller in the first step of a run.
    pub fn extend(&mut self, times_us: &[u64]) {
        self.extend_in(StepId(0), CallerKey::NONE, times_us);
    }

    /// Adds the times in µs of executions that `caller` called and that ended in `step`. Models without callers ignore
    /// both.
    pub fn extend_in(&mut self, step: StepId, caller: CallerKey, times_us: &[u64]) {
        let Some(range) = Extremes::of(times_us) else {
            return;
        };
        self.moments.extend_within(times_us, range);
        match &mut self.distribution {
            Distribution::Moments => {}
            Distribution::Histogram(histogram) => histogram.extend_within(times_us, range),
            Distribution::Contexts(contexts) => {
                contexts.extend(step, caller, times_us, range);
            }
        }
    }

    /// Adds the model of other executions of the function.
    ///
    /// # Errors
    /// [`DetectError::MixedModels`] if the two are of different detectors; this model is unchanged then.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        match (&mut self.distribution, &other.distribution) {
            (Distribution::Histogram(ours), Distribution::Histogram(theirs)) => ours.merge(theirs),
            (Distribution::Contexts(ours), Distribution::Contexts(theirs)) => ours.merge(theirs),
            (Distribution::Moments, Distribution::Moments) => {}
            _ => return Err(DetectError::MixedModels),
        }
        self.moments.merge(&other.moments);
        self.threshold.raise(other.threshold.value());
        Ok(())
    }

    /// Raises the [`RunningThreshold`] to the last [`crate::Judge::threshold`].
    pub fn raise_threshold(&mut self, threshold: f64) {
        self.threshold.raise(threshold);
    }

    /// Returns the moments of the times in µs.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// Returns the statistics besides the moments.
    pub fn distribution(&self) -> &Distribution {
        &self.distribution
    }

    /// Returns the histogram of the times of all executions; `None` for SSTD and for models by caller.
    pub fn histogram(&self) -> Option<&Histogram> {
        match &self.distribution {
            Distribution::Histogram(histogram) => Some(histogram),
            Distribution::Moments | Distribution::Contexts(_) => None,
        }
    }

    /// Returns the highest threshold so far.
    pub fn internal_global_threshold(&self) -> f64 {
        self.threshold.value()
    }

    /// Returns the object that the schemas call `algo_params`, and `model` in the collection `ad_model`. A model by
    /// caller gives that of all callers together; [`crate::Judge::algo_params`] returns that of each.
    pub fn to_json(&self) -> Value {
        match &self.distribution {
            Distribution::Moments => json!(self.moments.stats()),
            Distribution::Histogram(histogram) => histogram_json(histogram, self.threshold.value()),
            Distribution::Contexts(contexts) => {
                histogram_json(&contexts.sum(EpochRange::All), self.threshold.value())
            }
        }
    }
}

/// Returns a histogram as the schemas define it, with the score from which executions are outliers.
pub(crate) fn histogram_json(histogram: &Histogram, threshold: f64) -> Value {
    let (counts, edges) = histogram.counts_and_edges();
    json!({
        "histogram": {
            "Histogram Bin Counts": counts,
            "Histogram Bin Edges": edges,
        },
        "internal_global_threshold": threshold,
    })
}

/// The stored form of a model.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    moments: Moments,
    histogram: Option<Histogram>,
    /// Histograms by caller, for the detector excess; earlier releases have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    contexts: Option<Contexts>,
    internal_global_threshold: f64,
}

impl From<FuncModel> for Parts {
    fn from(model: FuncModel) -> Self {
        let (histogram, contexts) = match model.distribution {
            Distribution::Moments => (None, None),
            Distribution::Histogram(histogram) => (Some(histogram), None),
            Distribution::Contexts(contexts) => (None, Some(contexts)),
        };
        Self {
            moments: model.moments,
            histogram,
            contexts,
            internal_global_threshold: model.threshold.value(),
        }
    }
}

impl TryFrom<Parts> for FuncModel {
    type Error = DetectError;

    fn try_from(parts: Parts) -> Result<Self> {
        let distribution = match (parts.histogram, parts.contexts) {
            (None, None) => Distribution::Moments,
            (Some(histogram), None) => Distribution::Histogram(histogram),
            (None, Some(contexts)) => Distribution::Contexts(contexts),
            (Some(_), Some(_)) => return Err(damaged("a model", "the kind")),
        };
        Self::from_parts(parts.moments, distribution, parts.internal_global_threshold)
    }
}
