//! Mean, spread, skewness and kurtosis in one pass, from parts that were counted apart.

use serde::{Deserialize, Serialize};

use crate::RunStats;
use crate::error::{DetectError, Result, damaged};

/// Spreads that are smaller than this share of the values' square are rounding, not spread.
const ROUNDING: f64 = 1e-28;

/// Central moments of a stream of numbers.
///
/// Numbers come one by one, in batches, or as moments of another part of the stream; the result is the
/// same up to rounding. With count n, mean µ and Mₖ = Σ (x − µ)ᵏ, two parts a and b merge by the
/// formulas of Pébay (2008, Sandia report SAND2008-6212, equations 2.1 and 3.1) from δ = µb − µa. Values
/// must be finite; in this crate they are times in microseconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "[f64; 7]", into = "[f64; 7]")]
pub struct Moments {
    count: u64,
    mean: f64,
    /// What rounding left out of the mean, so that it does not add up over many small steps.
    mean_rest: f64,
    m2: f64,
    m3: f64,
    m4: f64,
    min: f64,
    max: f64,
}

impl Moments {
    /// The largest count: beyond, doubles skip integers.
    pub const MAX_COUNT: u64 = 1 << 53;

    /// Takes in one finite value.
    pub fn push(&mut self, value: f64) {
        self.merge(&Self {
            count: 1,
            mean: value,
            min: value,
            max: value,
            ..Self::default()
        });
    }

    /// Takes in many values: the batch's own moments about its exact mean, in two passes, then a merge.
    pub fn extend_from(&mut self, values: &[u64]) {
        self.merge(&Self::of(values));
    }

    fn of(values: &[u64]) -> Self {
        let (Some(&min), Some(&max)) = (values.iter().min(), values.iter().max()) else {
            return Self::default();
        };
        let count = values.len() as u64;
        let sum: u128 = values.iter().map(|&value| u128::from(value)).sum();
        // Differences of integers are exact: what the whole part of the mean leaves over is below 1.
        let origin = (sum / u128::from(count)) as u64;
        let rest = (sum % u128::from(count)) as f64 / count as f64;
        let (mut m2, mut m3, mut m4) = (0.0, 0.0, 0.0);
        for &value in values {
            let diff = value.wrapping_sub(origin) as i64 as f64 - rest;
            let square = diff * diff;
            m2 += square;
            m3 += square * diff;
            m4 += square * square;
        }
        let (mean, mean_rest) = exact_sum(origin as f64, rest);
        Self {
            count,
            mean,
            mean_rest,
            m2,
            m3,
            m4,
            min: min as f64,
            max: max as f64,
        }
    }

    /// Takes in the moments of another part of the stream.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let count = self.count.saturating_add(other.count);
        let (na, nb, n) = (self.count as f64, other.count as f64, count as f64);
        // Shares instead of counts: products of large counts would lose digits.
        let (pa, pb) = (na / n, nb / n);
        let delta = (other.mean - self.mean) + (other.mean_rest - self.mean_rest);
        let d2 = delta * delta;
        let between = d2 * na * pb;
        self.m4 += other.m4
            + between * d2 * (pa * pa - pa * pb + pb * pb)
            + 6.0 * d2 * (pa * pa * other.m2 + pb * pb * self.m2)
            + 4.0 * delta * (pa * other.m3 - pb * self.m3);
        self.m3 +=
            other.m3 + between * delta * (pa - pb) + 3.0 * delta * (pa * other.m2 - pb * self.m2);
        self.m2 += other.m2 + between;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        (self.mean, self.mean_rest) = exact_sum(self.mean, self.mean_rest + delta * pb);
        self.count = count;
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their mean; 0 without values.
    pub fn mean(&self) -> f64 {
        self.mean.clamp(self.min, self.max)
    }

    /// The smallest; 0 without values.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// The largest; 0 without values.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Standard deviation of a sample (n − 1); 0 with less than two values.
    pub fn stddev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        (self.m2.max(0.0) / (self.count - 1) as f64).sqrt()
    }

    /// √n M₃ / M₂^1.5; 0 where there is no spread.
    pub fn skewness(&self) -> f64 {
        if !self.has_spread() {
            return 0.0;
        }
        (self.count as f64).sqrt() * (self.m3 / self.m2) / self.m2.sqrt()
    }

    /// Excess kurtosis, n M₄ / M₂² − 3; 0 where there is no spread.
    pub fn kurtosis(&self) -> f64 {
        if !self.has_spread() {
            return 0.0;
        }
        self.count as f64 * (self.m4 / self.m2) / self.m2 - 3.0
    }

    /// Whether M₂ is more than what rounding leaves of equal values.
    fn has_spread(&self) -> bool {
        let largest = self.min.abs().max(self.max.abs());
        self.min < self.max && self.m2 > ROUNDING * largest * largest
    }

    /// The record of the schemas.
    pub fn stats(&self) -> RunStats {
        RunStats {
            accumulate: self.mean() * self.count as f64,
            count: self.count,
            kurtosis: self.kurtosis(),
            maximum: self.max,
            mean: self.mean(),
            minimum: self.min,
            skewness: self.skewness(),
            stddev: self.stddev(),
        }
    }

    /// The moments whose statistics these are, but for rounding: what [`Moments::stats`] states is enough to go on
    /// counting and merging.
    pub fn of_stats(stats: &RunStats) -> Self {
        let count = stats.count as f64;
        let m2 = (stats.stddev * stats.stddev * (count - 1.0)).max(0.0);
        Self {
            count: stats.count,
            mean: stats.mean,
            mean_rest: 0.0,
            m2,
            m3: if count > 0.0 {
                stats.skewness * m2.powf(1.5) / count.sqrt()
            } else {
                0.0
            },
            m4: if count > 0.0 {
                (stats.kurtosis + 3.0) * m2 * m2 / count
            } else {
                0.0
            },
            min: stats.minimum,
            max: stats.maximum,
        }
    }

    /// Count, mean, M₂, M₃, M₄, minimum, maximum: all that there is, for the wire and for saved models.
    pub fn parts(&self) -> [f64; 7] {
        [
            self.count as f64,
            self.mean(),
            self.m2,
            self.m3,
            self.m4,
            self.min,
            self.max,
        ]
    }

    /// Moments from [`Moments::parts`].
    ///
    /// # Errors
    /// [`DetectError::Damaged`] if no values have such moments: a number is not finite, the count is not
    /// an integer, an even moment is negative, the mean lies outside the values.
    pub fn from_parts(parts: [f64; 7]) -> Result<Self> {
        let damaged = |what| Err(damaged("moments", what));
        let [count, mean, m2, m3, m4, min, max] = parts;
        if parts.iter().any(|part| !part.is_finite()) {
            return damaged("a number that is not finite");
        }
        if count < 0.0 || count.fract() != 0.0 || count > Self::MAX_COUNT as f64 {
            return damaged("the count");
        }
        if count == 0.0 {
            let is_empty = parts.iter().all(|&part| part == 0.0);
            return if is_empty {
                Ok(Self::default())
            } else {
                damaged("a number without values")
            };
        }
        if m2 < 0.0 || m4 < 0.0 {
            return damaged("a negative even moment");
        }
        if min > mean || mean > max {
            return damaged("the mean");
        }
        Ok(Self {
            count: count as u64,
            mean,
            mean_rest: 0.0,
            m2,
            m3,
            m4,
            min,
            max,
        })
    }
}

impl PartialEq for Moments {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

/// The sum of two numbers, and what rounding left out of it (Knuth 1969, 4.2.2, theorem B).
fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

impl From<Moments> for [f64; 7] {
    fn from(moments: Moments) -> Self {
        moments.parts()
    }
}

impl TryFrom<[f64; 7]> for Moments {
    type Error = DetectError;

    fn try_from(parts: [f64; 7]) -> Result<Self> {
        Self::from_parts(parts)
    }
}
