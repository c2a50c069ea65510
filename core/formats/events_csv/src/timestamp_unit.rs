//! The unit of timestamps, which the name of their column states.

use callgrove_model::TimeNs;

/// The unit of timestamps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimestampUnit {
    Nanoseconds,
    Microseconds,
    Milliseconds,
    Seconds,
}

impl TimestampUnit {
    pub(crate) const ALL: [Self; 4] = [
        Self::Nanoseconds,
        Self::Microseconds,
        Self::Milliseconds,
        Self::Seconds,
    ];

    pub(crate) fn symbol(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Microseconds => "us",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// Returns the number of decimal places of the unit that are whole nanoseconds.
    fn num_places(self) -> usize {
        match self {
            Self::Nanoseconds => 0,
            Self::Microseconds => 3,
            Self::Milliseconds => 6,
            Self::Seconds => 9,
        }
    }

    /// Returns a decimal number of this unit in nanoseconds, without its fraction.
    pub(crate) fn parse(self, text: &str) -> Option<TimeNs> {
        let (sign, digits) = match text.strip_prefix('-') {
            Some(rest) => (-1, rest),
            None => (1, text),
        };
        if digits.contains(['e', 'E']) {
            return self.of_real(text.parse().ok()?);
        }
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let kept = fraction.bytes().chain(std::iter::repeat(b'0'));
        let mut ns: i64 = 0;
        for digit in whole.bytes().chain(kept.take(self.num_places())) {
            let digit = i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
            ns = ns.checked_mul(10)?.checked_add(digit)?;
        }
        let is_number = fraction.bytes().all(|it| it.is_ascii_digit());
        let time = TimeNs(sign * ns);
        (is_number && time.is_in_bounds()).then_some(time)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    fn of_real(self, number: f64) -> Option<TimeNs> {
        let ns = (number * 10_f64.powi(i32::try_from(self.num_places()).ok()?)).trunc();
        // A number that is too large becomes the largest time, which is out of bounds.
        let time = ns.is_finite().then_some(TimeNs(ns as i64));
        time.filter(|time| time.is_in_bounds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_all_units_become_nanoseconds_without_rounding() {
        let times = [
            (
                TimestampUnit::Nanoseconds,
                "30083.086937435106",
                Some(30_083),
            ),
            (
                TimestampUnit::Nanoseconds,
                "1700000000123456789",
                Some(1_700_000_000_123_456_789),
            ),
            (TimestampUnit::Microseconds, "1.5", Some(1_500)),
            (TimestampUnit::Seconds, "0.1234567899", Some(123_456_789)),
            (TimestampUnit::Seconds, "-2", Some(-2_000_000_000)),
            (TimestampUnit::Seconds, "1.5e-3", Some(1_500_000)),
            (TimestampUnit::Seconds, "99999999999999", None),
            (TimestampUnit::Nanoseconds, "9223372036854775807", None),
            (TimestampUnit::Nanoseconds, "-4000000000000000000", None),
            (TimestampUnit::Seconds, "nan", None),
            (TimestampUnit::Seconds, "1+2", None),
            (TimestampUnit::Seconds, "", None),
            (TimestampUnit::Nanoseconds, "1.x", None),
        ];
        for (unit, text, expected) in times {
            assert_eq!(unit.parse(text), expected.map(TimeNs), "{text} {unit:?}");
        }
    }
}
