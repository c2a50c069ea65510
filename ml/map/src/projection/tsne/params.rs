//! Settings of t-SNE.

use serde::{Deserialize, Serialize};

use callgrove_trees::error::{Result, check_param};
use callgrove_trees::real::whole;

/// Settings of t-SNE; the defaults are those of the reference implementations.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TsneParams {
    /// Number of neighbours that count, 1 or more; at most a third of the other rows are used.
    pub perplexity: f64,
    /// Largest size of a cell, as a share of its distance, that acts as one point: 0..=1. With 0 all pairs count and
    /// all numbers are in double precision, which costs rows².
    pub theta: f64,
    /// Factor of the attraction in the first iterations, 1 or more.
    pub exaggeration: f64,
    /// Number of iterations with exaggeration.
    pub exaggeration_iterations: usize,
    /// Total number of iterations.
    pub iterations: usize,
    /// Length of a step > 0; by default, a quarter of the number of rows divided by the current exaggeration, at
    /// least 50.
    pub learning_rate: Option<f64>,
    /// Share of a step that the next one repeats, while exaggerated: 0..1.
    pub first_momentum: f64,
    /// Share of a step that the next one repeats, afterwards: 0..1.
    pub final_momentum: f64,
}

/// Checked [`TsneParams`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValidTsneParams(TsneParams);

impl Default for TsneParams {
    fn default() -> Self {
        Self {
            perplexity: 30.0,
            theta: 0.5,
            exaggeration: 12.0,
            exaggeration_iterations: 250,
            iterations: 750,
            learning_rate: None,
            first_momentum: 0.5,
            final_momentum: 0.8,
        }
    }
}

impl TsneParams {
    /// Checks the bounds.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::InvalidParam`].
    pub fn check(self) -> Result<ValidTsneParams> {
        let from = |bound: f64, value: f64| value >= bound && value.is_finite();
        let check = |name, value, is_valid, wanted| check_param(name, value, is_valid, wanted);
        check(
            "perplexity",
            self.perplexity,
            from(1.0, self.perplexity),
            "1 or more",
        )?;
        check(
            "theta",
            self.theta,
            (0.0..=1.0).contains(&self.theta),
            "0 to 1",
        )?;
        check(
            "exaggeration",
            self.exaggeration,
            from(1.0, self.exaggeration),
            "1 or more",
        )?;
        if let Some(rate) = self.learning_rate {
            check(
                "learning_rate",
                rate,
                rate > 0.0 && rate.is_finite(),
                "more than 0",
            )?;
        }
        for (name, momentum) in [
            ("first_momentum", self.first_momentum),
            ("final_momentum", self.final_momentum),
        ] {
            check(
                name,
                momentum,
                (0.0..1.0).contains(&momentum),
                "from 0 to below 1",
            )?;
        }
        Ok(ValidTsneParams(self))
    }
}

impl ValidTsneParams {
    /// Returns the settings.
    pub fn get(&self) -> &TsneParams {
        &self.0
    }

    /// Returns the number of neighbours that matter among `others` rows: three times the perplexity.
    pub fn num_neighbours(&self, others: usize) -> usize {
        whole((3.0 * self.0.perplexity).ceil()).min(others)
    }
}
