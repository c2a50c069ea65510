//! What the weights of call trees are: times, or amounts of something else.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::DurationNs;

/// Nanoseconds that stand for one of a unit that is no time.
const NS_OF_ONE: i64 = 1_000;

/// The unit of the weights of a trace. Columns hold nanoseconds, whatever the unit is: one vote, byte or
/// reader is a microsecond there, so that tables in microseconds show the numbers of the file.
///
/// A text that shows a weight asks this type for it, so that votes are never printed as time.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeightUnit {
    /// Weights are times.
    #[default]
    Time,
    /// Weights are amounts of this, a word such as `votes` or `bytes`.
    Other(String),
}

/// A weight as text, with its unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Amount<'a> {
    unit: &'a WeightUnit,
    weight: DurationNs,
}

impl WeightUnit {
    /// From the word of a file; the nanoseconds of one of it are the second answer.
    pub fn of_word(word: &str) -> (Self, i64) {
        match word {
            "ns" => (Self::Time, 1),
            "us" => (Self::Time, 1_000),
            "ms" => (Self::Time, 1_000_000),
            "s" => (Self::Time, 1_000_000_000),
            other => (Self::Other(other.to_owned()), NS_OF_ONE),
        }
    }

    /// Whether weights are times.
    pub fn is_time(&self) -> bool {
        matches!(self, Self::Time)
    }

    /// Nanoseconds of one: 1 where weights are times.
    pub fn ns_of_one(&self) -> i64 {
        match self {
            Self::Time => 1,
            Self::Other(_) => NS_OF_ONE,
        }
    }

    /// A weight as text: `2.131 ms`, `2,131 votes`.
    pub fn amount(&self, weight: DurationNs) -> Amount<'_> {
        Amount { unit: self, weight }
    }

    /// A weight as a sentence: `Took 2.131 ms`, `Weighs 2,131 votes`.
    pub fn took(&self, weight: DurationNs) -> String {
        let verb = self.of_kind("Took", "Weighs");
        format!("{verb} {}", self.amount(weight))
    }

    /// What a weight is, as the heading of a column.
    pub fn heading(&self) -> &'static str {
        self.of_kind("duration", "weight")
    }

    /// What this number of vertices is called: `call` or `vertex`, or several of them.
    pub fn vertices(&self, count: u64) -> &'static str {
        match count {
            1 => self.of_kind("call", "vertex"),
            _ => self.of_kind("calls", "vertices"),
        }
    }

    /// What this number of trees is called: `execution` or `tree`, or several of them.
    pub fn trees(&self, count: u64) -> &'static str {
        match count {
            1 => self.of_kind("execution", "tree"),
            _ => self.of_kind("executions", "trees"),
        }
    }

    /// The first where weights are times, else the second.
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
        let digits = whole.to_string();
        let mut number = String::with_capacity(digits.len() + digits.len() / 3);
        for (place, digit) in digits.chars().enumerate() {
            if place > 0 && (digits.len() - place).is_multiple_of(3) {
                number.push(',');
            }
            number.push(digit);
        }
        // Medians and means of amounts are no whole numbers; one digit says enough.
        let tenths = rest / (NS_OF_ONE.unsigned_abs() / 10);
        let tenths = if whole < 1_000 && tenths > 0 {
            format!(".{tenths}")
        } else {
            String::new()
        };
        let text = format!("{sign}{number}{tenths} {unit}");
        f.pad(text.trim_end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_what_is_no_time_are_plain_numbers_with_their_unit() {
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
    fn trees_of_what_is_no_time_have_no_calls() {
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
