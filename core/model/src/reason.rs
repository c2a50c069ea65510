//! Why a tree stands out, as tables and records tell it.

use serde::{Deserialize, Serialize};

use crate::{DurationNs, FunctionName};

/// Kinds of differences between a tree and the usual one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceKind {
    /// Most trees of the kind do not call it.
    New,
    /// Most trees of the kind call it, this one does not.
    Missing,
    /// Called more often than usual; the time is what the additional calls take.
    #[serde(rename = "more calls")]
    MoreCalls,
    /// Called less often than usual.
    #[serde(rename = "fewer calls")]
    FewerCalls,
    /// Took longer than usual for this number of calls.
    Longer,
    /// Took less time than usual.
    Shorter,
}

impl DifferenceKind {
    /// The kind in words, as tables have it: `more calls`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Missing => "missing",
            Self::MoreCalls => "more calls",
            Self::FewerCalls => "fewer calls",
            Self::Longer => "longer",
            Self::Shorter => "shorter",
        }
    }

    /// Whether there is less of it than usual: never a reason for being slow.
    pub fn is_less(self) -> bool {
        matches!(self, Self::Missing | Self::FewerCalls | Self::Shorter)
    }
}

/// One of the reasons why a tree stands out. Times in microseconds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Reason {
    /// What kind of difference.
    pub kind: DifferenceKind,
    /// The function, without arguments.
    pub function: String,
    /// The functions from the root down to it.
    pub path: Vec<String>,
    /// Time above what is usual; below 0 if it took less. Exclusive, but of something new or missing
    /// as a whole that of everything below it.
    pub excess_us: f64,
    /// Calls in this tree.
    pub count: u64,
    /// Calls that are usual.
    pub usual_count: u64,
    /// Time that is usual.
    pub usual_us: f64,
    /// Share of the trees compared with that call it, 0..=1.
    pub share: f64,
}

impl Reason {
    /// The reason in words: `longer: MPI_Wait, +38.2 ms (usually 210 µs)`.
    pub fn words(&self) -> String {
        let name = FunctionName::parse(&self.function).short;
        let times = |us: f64| DurationNs::nearest(us * 1e3);
        let calls = |count: u64| match count {
            1 => "1 call".to_owned(),
            count => format!("{count} calls"),
        };
        let usually = match (self.kind, self.share > 0.0) {
            (DifferenceKind::New, false) => format!("{}, usually none", calls(self.count)),
            (DifferenceKind::New, true) => {
                let share = 100.0 * self.share;
                format!("{}, in {share:.0} % of the usual", calls(self.count))
            }
            (DifferenceKind::Missing, _) => format!("usually {}", calls(self.usual_count)),
            (DifferenceKind::MoreCalls | DifferenceKind::FewerCalls, _) => {
                format!("{}, usually {}", calls(self.count), self.usual_count)
            }
            _ => format!("usually {}", times(self.usual_us)),
        };
        let sign = if self.excess_us < 0.0 { "" } else { "+" };
        let excess = times(self.excess_us);
        format!("{}: {name}, {sign}{excess} ({usually})", self.kind.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_in_words() {
        let words = |kind, excess_us, count, usual_count, usual_us, share| {
            Reason {
                kind,
                function: "LAMMPS_NS::Comm::exchange".to_owned(),
                path: vec!["run".to_owned(), "LAMMPS_NS::Comm::exchange".to_owned()],
                excess_us,
                count,
                usual_count,
                usual_us,
                share,
            }
            .words()
        };
        for (told, expected) in [
            (
                words(DifferenceKind::New, 1500.0, 3, 0, 0.0, 0.0),
                "new: Comm::exchange, +1.5 ms (3 calls, usually none)",
            ),
            (
                words(DifferenceKind::New, 1.0, 1, 0, 0.0, 0.25),
                "new: Comm::exchange, +1 µs (1 call, in 25 % of the usual)",
            ),
            (
                words(DifferenceKind::Missing, -40.0, 0, 1, 40.0, 1.0),
                "missing: Comm::exchange, -40 µs (usually 1 call)",
            ),
            (
                words(DifferenceKind::MoreCalls, 7.0, 6, 3, 7.0, 1.0),
                "more calls: Comm::exchange, +7 µs (6 calls, usually 3)",
            ),
            (
                words(DifferenceKind::Longer, 38_000.0, 1, 1, 210.0, 1.0),
                "longer: Comm::exchange, +38 ms (usually 210 µs)",
            ),
        ] {
            assert_eq!(told, expected);
        }
    }
}
