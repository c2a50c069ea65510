//! Times as integer nanoseconds, and weights in other units. All unit conversions are here.

mod gap_lengths;
mod weight_unit;

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

pub use gap_lengths::GapLengths;
pub use weight_unit::{Amount, WeightUnit, count_of, thousands};

/// Nanoseconds per microsecond.
const NANOS_PER_MICRO: i64 = 1_000;

/// A point in time: nanoseconds since the Unix epoch, on the clock of the rank that recorded it.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TimeNs(pub i64);

/// A duration in nanoseconds.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct DurationNs(pub i64);

impl TimeNs {
    /// The last time that readers accept, and its negative the first, so that differences of times fit in an exported
    /// trace: below 2^61 ns, in the year 2043.
    pub const LATEST: Self = Self((1 << 61) - 1);

    /// Returns this time, or the nearest one that readers accept.
    #[must_use]
    pub fn bounded(self) -> Self {
        Self(self.0.clamp(-Self::LATEST.0, Self::LATEST.0))
    }

    /// Returns whether readers accept this time.
    pub fn is_in_bounds(self) -> bool {
        self.bounded() == self
    }

    /// Converts microseconds since the epoch (TAU's unit); returns `None` if they do not fit.
    pub fn from_us(time_us: u64) -> Option<Self> {
        i64::try_from(time_us)
            .ok()?
            .checked_mul(NANOS_PER_MICRO)
            .map(Self)
    }

    /// Returns whole microseconds since the epoch (the unit of the JSON records and tables).
    #[inline]
    pub const fn as_us(self) -> i64 {
        self.0.div_euclid(NANOS_PER_MICRO)
    }

    /// Returns whether the time has a date. Earlier times than that of any trace are those of a clock that counts from
    /// the start of a machine or a program.
    pub const fn has_date(self) -> bool {
        /// 1 January 1990: no machine runs for twenty years, and no format that is read is older.
        const FIRST_DATE: TimeNs = TimeNs(631_152_000_000_000_000);
        self.0 >= FIRST_DATE.0
    }

    /// Returns date and time of day in UTC, to the second: `2026-11-04 10:11:12`.
    pub fn utc(self) -> String {
        let seconds = self.0.div_euclid(1_000_000_000);
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // Counts days from 1 March of the year 0, so that leap days end a year; 400 years have 146,097 days.
        let days = days + 719_468;
        let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, next_year) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        let year = era * 400 + year + next_year;
        format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
    }

    /// Returns the time since `earlier`; negative if `earlier` is later.
    #[inline]
    pub const fn since(self, earlier: Self) -> DurationNs {
        DurationNs(self.0.saturating_sub(earlier.0))
    }
}

impl DurationNs {
    /// The duration zero.
    pub const ZERO: Self = Self(0);

    /// Converts whole microseconds, saturating.
    pub const fn from_us(duration_us: i64) -> Self {
        Self(duration_us.saturating_mul(NANOS_PER_MICRO))
    }

    /// Returns the nearest duration to a number of nanoseconds, saturating; zero for NaN.
    #[expect(clippy::cast_possible_truncation, reason = "as said above")]
    pub fn nearest(duration_ns: f64) -> Self {
        Self(duration_ns.round() as i64)
    }

    /// Returns whole microseconds.
    #[inline]
    pub const fn as_us(self) -> i64 {
        self.0.div_euclid(NANOS_PER_MICRO)
    }

    /// Returns seconds.
    #[expect(
        clippy::cast_precision_loss,
        reason = "beyond 2⁵³ ns, a hundred days, they are rounded"
    )]
    pub const fn as_secs_f64(self) -> f64 {
        self.0 as f64 * 1e-9
    }

    /// Rounds to two significant digits, for an estimate.
    #[must_use]
    pub fn to_two_digits(self) -> Self {
        let mut unit = 1_i64;
        while self.0 / unit >= 100 {
            unit = unit.saturating_mul(10);
        }
        Self((self.0.saturating_add(unit / 2) / unit).saturating_mul(unit))
    }
}

impl Add<DurationNs> for TimeNs {
    type Output = Self;

    fn add(self, duration: DurationNs) -> Self {
        Self(self.0.saturating_add(duration.0))
    }
}

impl Add for DurationNs {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for DurationNs {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for DurationNs {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::iter::Sum for DurationNs {
    fn sum<I: Iterator<Item = Self>>(durations: I) -> Self {
        durations.fold(Self::ZERO, |total, duration| total + duration)
    }
}

/// Writes four significant digits with a readable unit: `831 ns`, `2.131 ms`, `1.2 s`.
impl fmt::Display for DurationNs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let (unit_ns, unit) = match nanos {
            0..1_000 => return write!(f, "{sign}{nanos} ns"),
            1_000..1_000_000 => (1e3, "µs"),
            1_000_000..1_000_000_000 => (1e6, "ms"),
            _ => (1e9, "s"),
        };
        #[expect(clippy::cast_precision_loss, reason = "four digits are shown")]
        let value = nanos as f64 / unit_ns;
        let decimals = match value {
            v if v < 10.0 => 3,
            v if v < 100.0 => 2,
            v if v < 1000.0 => 1,
            _ => 0,
        };
        let text = format!("{value:.decimals$}");
        let text = if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.')
        } else {
            &text
        };
        write!(f, "{sign}{text} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_readable_unit() {
        let shown = |ns| DurationNs(ns).to_string();
        assert_eq!(shown(0), "0 ns");
        assert_eq!(shown(831), "831 ns");
        assert_eq!(shown(-2_131_000), "-2.131 ms");
        assert_eq!(shown(40_000_000), "40 ms");
        assert_eq!(shown(1_200_000_000), "1.2 s");
        assert_eq!(shown(123_456_000_000), "123.5 s");
        assert_eq!(shown(5_000_000_000_000), "5000 s");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        // Seconds as printed by `date -u -d … +%s`.
        for (second, shown) in [
            (0, "1970-01-01 00:00:00"),
            (-1, "1969-12-31 23:59:59"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_795_231_737, "2026-11-21 03:28:57"),
            (4_107_542_400, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(TimeNs(second * 1_000_000_000).utc(), shown);
        }
    }

    #[test]
    fn clocks_that_count_from_a_start_have_no_dates() {
        assert!(!TimeNs(-1).has_date());
        // Ten years of uptime.
        assert!(!TimeNs(315_360_000_000_000_000).has_date());
        assert!(TimeNs(951_782_399_000_000_000).has_date());
    }

    #[test]
    fn microseconds_convert_exactly_or_not_at_all() {
        assert_eq!(
            TimeNs::from_us(1_795_233_132_279_246).map(TimeNs::as_us),
            Some(1_795_233_132_279_246)
        );
        assert_eq!(TimeNs::from_us(u64::MAX), None);
    }
}
