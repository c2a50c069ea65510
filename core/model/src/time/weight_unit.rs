//! The unit of the weights of call trees: times, or amounts of something else.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::time::DurationNs;

/// Nanoseconds that represent one of a unit other than time.
const NS_OF_ONE: i64 = 1_000;

/// The unit of the weights of a trace. Columns hold nanoseconds for every unit: one vote, byte or reader is stored as a
/// microsecond, so that tables in microseconds show the numbers of the file.
///
/// Every text that shows a weight uses this type, so that votes are never printed as time.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightUnit {
    /// Weights are times.
    #[default]
    Time,
    /// Weights are amounts of this unit, such as `votes` or `bytes`.
    Other(String),
}

/// A weight as text with its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount<'a> {
    unit: &'a WeightUnit,
    weight: DurationNs,
}

impl WeightUnit {
    /// Returns the unit with this name in a file, and the nanoseconds that represent one of it.
    pub fn of_word(word: &str) -> (Self, i64) {
        match word {
            "ns" => (Self::Time, 1),
            "us" => (Self::Time, 1_000),
            "ms" => (Self::Time, 1_000_000),
            "s" => (Self::Time, 1_000_000_000),
            other => (Self::Other(other.to_owned()), NS_OF_ONE),
        }
    }

    /// Returns whether weights are times.
    pub fn is_time(&self) -> bool {
        matches!(self, Self::Time)
    }

    /// Returns the nanoseconds that represent one: 1 if weights are times.
    pub fn ns_of_one(&self) -> i64 {
        match self {
            Self::Time => 1,
            Self::Other(_) => NS_OF_ONE,
        }
    }

    /// Returns a weight as text: `2.131 ms`, `2,131 votes`.
    pub fn amount(&self, weight: DurationNs) -> Amount<'_> {
        Amount { unit: self, weight }
    }

    /// Returns a weight as a sentence: `Took 2.131 ms`, `Weighs 2,131 votes`.
    pub fn took(&self, weight: DurationNs) -> String {
        let verb = self.of_kind("Took", "Weighs");
        format!("{verb} {}", self.amount(weight))
    }

    /// Returns the heading of a column of weights.
    pub fn heading(&self) -> &'static str {
        self.of_kind("duration", "weight")
    }

    /// Returns the noun for this number of vertices: `call`, `calls`, `vertex` or `vertices`.
    pub fn vertices(&self, count: u64) -> &'static str {
        match count {
            1 => self.of_kind("call", "vertex"),
            _ => self.of_kind("calls", "vertices"),
        }
    }

    /// Returns the noun for this number of trees: `execution`, `executions`, `tree` or `trees`.
    pub fn trees(&self, count: u64) -> &'static str {
        match count {
            1 => self.of_kind("execution", "tree"),
            _ => self.of_kind("executions", "trees"),
        }
    }

    /// Returns the first value if weights are times, otherwise the second.
    pub fn of_kind<T>(&self, of_time: T, of_other: T) -> T {
        if self.is_time() { of_time } else { of_other }
    }
}

impl fmt::Display for Amount<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WeightUnit::Other(unit) = self.unit else {
            return f.pad(&self.weight.to_string());
        };
        let sign = if self.weight.0 < 0 { "-" } else { "" };
        let (whole, rest) = (
            self.weight.0.unsigned_abs() / NS_OF_ONE.unsigned_abs(),
            self.weight.0.unsigned_abs() % NS_OF_ONE.unsigned_abs(),
        );
        // Medians and means of amounts can be fractions; one digit is enough.
        let tenths = rest / (NS_OF_ONE.unsigned_abs() / 10);
        let tenths = if whole < 1_000 && tenths > 0 {
            format!(".{tenths}")
        } else {
            String::new()
        };
        let text = format!("{sign}{}{tenths} {unit}", thousands(whole));
        f.pad(text.trim_end())
    }
}

/// Returns a count with its noun, whose plural ends in `s`: `1 tree`, `5,792 trees`.
pub fn count_of(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or_default();
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", thousands(count))
}

/// Returns a count with separated thousands: `1,234,567`; 0 for a number that is not a count.
pub fn thousands(count: impl TryInto<u64>) -> String {
    let digits = count.try_into().unwrap_or_default().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        let counts = [0_usize, 12, 999, 1_000, 5_792, 1_234_567].map(thousands);
        assert_eq!(counts, ["0", "12", "999", "1,000", "5,792", "1,234,567"]);
        assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(thousands(-1_000), "0");
    }

    #[test]
    fn counts_have_their_noun() {
        assert_eq!(count_of(1, "tree"), "1 tree");
        assert_eq!(count_of(5_792, "tree"), "5,792 trees");
        assert_eq!(count_of(0, "tree"), "0 trees");
    }

    #[test]
    fn amounts_in_other_units_are_plain_numbers() {
        let (votes, step) = WeightUnit::of_word("votes");
        let shown = |ns| votes.amount(DurationNs(ns)).to_string();
        assert_eq!((step, votes.is_time()), (1_000, false));
        assert_eq!(shown(0), "0 votes");
        assert_eq!(shown(831_000), "831 votes");
        assert_eq!(shown(-1_234_567_000), "-1,234,567 votes");
        assert_eq!(shown(2_500), "2.5 votes");
    }

    #[test]
    fn amounts_of_time_are_durations() {
        for (word, ns) in [
            ("ns", 1),
            ("us", 1_000),
            ("ms", 1_000_000),
            ("s", 1_000_000_000),
        ] {
            assert_eq!(WeightUnit::of_word(word), (WeightUnit::Time, ns));
        }
        let shown = WeightUnit::Time.amount(DurationNs(2_131_000)).to_string();
        assert_eq!(shown, "2.131 ms");
        assert_eq!(WeightUnit::Time.took(DurationNs(40)), "Took 40 ns");
        assert_eq!(WeightUnit::Time.vertices(1), "call");
    }

    #[test]
    fn trees_in_other_units_have_vertices() {
        let (votes, _) = WeightUnit::of_word("votes");
        assert_eq!(votes.took(DurationNs(40_000)), "Weighs 40 votes");
        assert_eq!(
            [votes.vertices(1), votes.vertices(2)],
            ["vertex", "vertices"]
        );
        assert_eq!([votes.trees(1), votes.trees(0)], ["tree", "trees"]);
        assert_eq!(votes.heading(), "weight");
        let bare = WeightUnit::of_word("").0;
        assert_eq!(bare.amount(DurationNs(40_000)).to_string(), "40");
    }
}
