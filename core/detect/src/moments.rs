//! Mean, spread, skewness and kurtosis in one pass, from parts that are counted separately.

use serde::{Deserialize, Serialize};

use crate::error::{DetectError, Result, damaged};
use crate::power_sums::{Central, Extremes, PowerSums, integer};
use crate::run_stats::RunStats;
use crate::wide::Wide;
use callgrove_model::Real;

/// Spreads smaller than this share of the squared values are rounding errors.
const ROUNDING: f64 = 1e-28;

/// Moments of a stream of numbers.
///
/// Numbers are added one by one, in batches, or as moments of another part of the stream. Integers from 0 to 2⁶⁴ − 1
/// are summed exactly: their moments are the same to the last bit for any division of the stream. With other numbers,
/// the result is the same up to rounding: with count n, mean µ and Mₖ = Σ (x − µ)ᵏ, two parts a and b merge by the
/// formulas of Pébay (2008, Sandia report SAND2008-6212, equations 2.1 and 3.1) from δ = µb − µa. Values must be
/// finite; in this crate they are times in µs.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Stored")]
pub struct Moments {
    count: u64,
    min: f64,
    max: f64,
    sums: Sums,
}

/// The sums of the values.
#[derive(Clone, Copy, Debug)]
enum Sums {
    Exact(PowerSums),
    Rounded(Central),
}

impl Default for Sums {
    fn default() -> Self {
        Self::Exact(PowerSums::default())
    }
}

impl Moments {
    /// The largest count; above it, doubles skip integers.
    pub const MAX_COUNT: u64 = 1 << 53;

    /// Adds one finite value.
    pub fn push(&mut self, value: f64) {
        let one = match integer(value) {
            Some(value) => Self::of_equal(value, 1),
            None => Self {
                count: 1,
                min: value,
                max: value,
                sums: Sums::Rounded(Central {
                    mean: value,
                    ..Central::default()
                }),
            },
        };
        self.merge(&one);
    }

    /// Returns the moments of some values.
    pub fn of(values: &[u64]) -> Self {
        let mut moments = Self::default();
        moments.extend_from(values);
        moments
    }

    /// Adds many values.
    pub fn extend_from(&mut self, values: &[u64]) {
        if let Some(range) = Extremes::of(values) {
            self.extend_within(values, range);
        }
    }

    /// Adds at least one value; the smallest and the largest are those of `range`.
    pub(crate) fn extend_within(&mut self, values: &[u64], range: Extremes) {
        let mut sums = PowerSums::default();
        sums.extend(values, range);
        self.merge(&Self {
            count: values.len() as u64,
            min: range.min.real(),
            max: range.max.real(),
            sums: Sums::Exact(sums),
        });
    }

    /// Returns the moments of a value that occurred `count` times.
    pub fn of_equal(value: u64, count: u64) -> Self {
        let mut sums = PowerSums::default();
        sums.push_repeated(value, count);
        let value = if count > 0 { value.real() } else { 0.0 };
        Self {
            count,
            min: value,
            max: value,
            sums: Sums::Exact(sums),
        }
    }

    /// Adds the moments of another part of the stream.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let count = self.count.saturating_add(other.count);
        match (&mut self.sums, &other.sums) {
            (Sums::Exact(ours), Sums::Exact(theirs)) => ours.add(theirs),
            _ => self.sums = Sums::Rounded(self.merged_with_rounding(other, count)),
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.count = count;
    }

    fn merged_with_rounding(&self, other: &Self, count: u64) -> Central {
        let (a, b) = (self.central(), other.central());
        let (na, nb, n) = (self.count.real(), other.count.real(), count.real());
        // Uses shares instead of counts, because products of large counts would lose digits.
        let (pa, pb) = (na / n, nb / n);
        let delta = (b.mean - a.mean) + (b.mean_rest - a.mean_rest);
        let d2 = delta * delta;
        let between = d2 * na * pb;
        let m4 = between * d2 * (pa * pa - pa * pb + pb * pb)
            + 6.0 * d2 * (pa * pa * b.m2 + pb * pb * a.m2)
            + 4.0 * delta * (pa * b.m3 - pb * a.m3);
        let m3 = between * delta * (pa - pb) + 3.0 * delta * (pa * b.m2 - pb * a.m2);
        let (mean, mean_rest) = exact_sum(a.mean, a.mean_rest + delta * pb);
        Central {
            mean,
            mean_rest,
            m2: a.m2 + (b.m2 + between),
            m3: a.m3 + (b.m3 + m3),
            m4: a.m4 + (b.m4 + m4),
        }
    }

    fn central(&self) -> Central {
        match &self.sums {
            Sums::Exact(sums) => sums.central(self.count),
            Sums::Rounded(central) => *central,
        }
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the mean; 0 without values.
    pub fn mean(&self) -> f64 {
        let mean = match &self.sums {
            Sums::Exact(_) if self.count == 0 => 0.0,
            Sums::Exact(sums) => sums.sum() / self.count.real(),
            Sums::Rounded(central) => central.mean,
        };
        mean.clamp(self.min, self.max)
    }

    /// Returns the smallest value; 0 without values.
    pub fn min(&self) -> f64 {
        self.min
    }

    /// Returns the largest value; 0 without values.
    pub fn max(&self) -> f64 {
        self.max
    }

    /// Returns the standard deviation of a sample (n − 1); 0 with less than two values.
    pub fn stddev(&self) -> f64 {
        self.stats().stddev
    }

    /// Returns the skewness, √n M₃ / M₂^1.5; 0 without spread.
    pub fn skewness(&self) -> f64 {
        self.stats().skewness
    }

    /// Returns the excess kurtosis, n M₄ / M₂² − 3; 0 without spread.
    pub fn kurtosis(&self) -> f64 {
        self.stats().kurtosis
    }

    /// Returns the record of the schemas.
    pub fn stats(&self) -> RunStats {
        let (count, mean) = (self.count.real(), self.mean());
        let Central { m2, m3, m4, .. } = self.central();
        // True if M₂ is more than the rounding error of equal values.
        let largest = self.min.abs().max(self.max.abs());
        let has_spread = self.min < self.max && m2 > ROUNDING * largest * largest;
        let or_zero = |value: f64| if has_spread { value } else { 0.0 };
        RunStats {
            accumulate: match &self.sums {
                Sums::Exact(sums) => sums.sum(),
                Sums::Rounded(_) => mean * count,
            },
            count: self.count,
            kurtosis: or_zero(count * (m4 / m2) / m2 - 3.0),
            maximum: self.max,
            mean,
            minimum: self.min,
            skewness: or_zero(count.sqrt() * (m3 / m2) / m2.sqrt()),
            stddev: match self.count {
                0 | 1 => 0.0,
                _ => (m2.max(0.0) / (count - 1.0)).sqrt(),
            },
        }
    }

    /// Returns the moments with these statistics, up to rounding. The statistics of [`Moments::stats`] are enough to
    /// continue counting and merging.
    pub fn of_stats(stats: &RunStats) -> Self {
        let count = stats.count.real();
        let m2 = (stats.stddev * stats.stddev * (count - 1.0)).max(0.0);
        let or_zero = |value: f64| if count > 0.0 { value } else { 0.0 };
        Self {
            count: stats.count,
            min: stats.minimum,
            max: stats.maximum,
            sums: Sums::Rounded(Central {
                mean: stats.mean,
                mean_rest: 0.0,
                m2,
                m3: or_zero(stats.skewness * m2.powf(1.5) / count.sqrt()),
                m4: or_zero((stats.kurtosis + 3.0) * m2 * m2 / count),
            }),
        }
    }

    /// Returns count, mean, M₂, M₃, M₄, minimum and maximum. Together with [`Moments::exact_sums`] this is the whole
    /// state.
    pub fn parts(&self) -> [f64; 7] {
        let Central { m2, m3, m4, .. } = self.central();
        [
            self.count.real(),
            self.mean(),
            m2,
            m3,
            m4,
            self.min,
            self.max,
        ]
    }

    /// Returns the sums of the first four powers if all values were integers, each as 64-bit words, the lowest first.
    pub fn exact_sums(&self) -> Option<[&[u64]; 4]> {
        match &self.sums {
            Sums::Exact(sums) => Some(sums.0.each_ref().map(Wide::words)),
            Sums::Rounded(_) => None,
        }
    }

    /// Returns moments from [`Moments::parts`].
    ///
    /// # Errors
    /// [`DetectError::Damaged`] if no values have such moments: a number is not finite, the count is not an integer, an
    /// even moment is negative, or the mean is outside the range of the values.
    pub fn from_parts(parts: [f64; 7]) -> Result<Self> {
        let damaged = |what| Err(damaged("moments", what));
        let [count, mean, m2, m3, m4, min, max] = parts;
        if parts.iter().any(|part| !part.is_finite()) {
            return damaged("a number that is not finite");
        }
        let Some(count) = integer(count).filter(|&count| count <= Self::MAX_COUNT) else {
            return damaged("the count");
        };
        if count == 0 {
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
            count,
            min,
            max,
            sums: Sums::Rounded(Central {
                mean,
                mean_rest: 0.0,
                m2,
                m3,
                m4,
            }),
        })
    }

    /// Returns moments from count, minimum, maximum and the bytes of [`Moments::exact_sums`], the lowest first.
    ///
    /// # Errors
    /// As [`Moments::from_parts`].
    pub fn from_exact_sums(count: u64, min: f64, max: f64, sums: [&[u8]; 4]) -> Result<Self> {
        let too_large = || damaged("moments", "a sum");
        let mut exact = PowerSums::default();
        for (sum, bytes) in exact.0.iter_mut().zip(sums) {
            *sum = Wide::from_bytes(bytes).ok_or_else(too_large)?;
        }
        let Central {
            mean, m2, m3, m4, ..
        } = exact.central(count);
        // Above 2⁵³, equal numbers can round to different doubles.
        let nearest = mean.max(min).min(max);
        let is_near = (mean - nearest).abs() <= 2.0 * f64::EPSILON * nearest.abs();
        let mean = if is_near { nearest } else { mean };
        let checked = Self::from_parts([count.real(), mean, m2, m3, m4, min, max])?;
        Ok(Self {
            sums: Sums::Exact(exact),
            ..checked
        })
    }
}

impl PartialEq for Moments {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

/// Returns the sum of two numbers and its rounding error (Knuth 1969, 4.2.2, theorem B).
fn exact_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// The stored form of moments. Earlier releases only wrote the parts.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Stored {
    Exact {
        count: u64,
        min: f64,
        max: f64,
        sums: [Vec<u8>; 4],
    },
    Parts([f64; 7]),
}

impl From<Moments> for Stored {
    fn from(moments: Moments) -> Self {
        match &moments.sums {
            Sums::Exact(sums) => Self::Exact {
                count: moments.count,
                min: moments.min,
                max: moments.max,
                sums: sums.0.map(Wide::to_bytes),
            },
            Sums::Rounded(_) => Self::Parts(moments.parts()),
        }
    }
}

impl TryFrom<Stored> for Moments {
    type Error = DetectError;

    fn try_from(stored: Stored) -> Result<Self> {
        match stored {
            Stored::Exact {
                count,
                min,
                max,
                sums,
            } => Self::from_exact_sums(count, min, max, sums.each_ref().map(Vec::as_slice)),
            Stored::Parts(parts) => Self::from_parts(parts),
        }
    }
}
