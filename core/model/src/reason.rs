//! Reasons why a tree is unusual, for tables and records.

use serde::{Deserialize, Serialize};

use crate::names::FunctionName;
use crate::time::{DurationNs, WeightUnit};

/// Kinds of differences between a tree and the usual one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceKind {
    /// Most normal trees do not make the call.
    New,
    /// Most normal trees make the call, but this one does not.
    Missing,
    /// Called more often than usual; the excess is the time of the additional calls.
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
    const ALL: [Self; 6] = [
        Self::New,
        Self::Missing,
        Self::MoreCalls,
        Self::FewerCalls,
        Self::Longer,
        Self::Shorter,
    ];

    /// Returns the kind of difference as text for trees with weights of this unit: `more calls` and `longer`, or `more
    /// often` and `heavier`.
    pub fn words(self, unit: &WeightUnit) -> &'static str {
        match self {
            Self::New => "new",
            Self::Missing => "missing",
            Self::MoreCalls => unit.of_kind("more calls", "more often"),
            Self::FewerCalls => unit.of_kind("fewer calls", "less often"),
            Self::Longer => unit.of_kind("longer", "heavier"),
            Self::Shorter => unit.of_kind("shorter", "lighter"),
        }
    }

    fn of_words(words: &str, unit: &WeightUnit) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|kind| kind.words(unit) == words)
    }

    /// Returns whether there is less than usual, which never explains slowness.
    pub fn is_less(self) -> bool {
        matches!(self, Self::Missing | Self::FewerCalls | Self::Shorter)
    }
}

/// A reason why a tree is unusual. Values are times in µs, or weights in their unit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(try_from = "ReasonRecord", into = "ReasonRecord")]
pub struct Reason {
    /// The kind of difference.
    pub kind: DifferenceKind,
    /// The function without arguments.
    pub function: String,
    /// The functions from the root down to this one.
    pub path: Vec<String>,
    /// Exclusive time above the usual time; negative if it took less. For a new or missing call it includes all calls
    /// inside it.
    pub excess_us: f64,
    /// Number of calls in this tree.
    pub count: u64,
    /// Usual number of calls.
    pub usual_count: u64,
    /// Usual time.
    pub usual_us: f64,
    /// Share of the compared trees that make the call, 0..=1.
    pub share: f64,
    /// The unit of the weights of the tree.
    pub unit: WeightUnit,
}

/// A reason as JSON: `excess_us` and `usual_us` if weights are times, otherwise `excess`, `usual` and their `unit`.
#[derive(Serialize, Deserialize)]
struct ReasonRecord {
    kind: String,
    function: String,
    path: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    excess_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    excess: Option<f64>,
    count: u64,
    usual_count: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usual_us: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    usual: Option<f64>,
    share: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
}

impl From<Reason> for ReasonRecord {
    fn from(reason: Reason) -> Self {
        let of_time = |value| reason.unit.of_kind(Some(value), None);
        let of_other = |value| reason.unit.of_kind(None, Some(value));
        Self {
            kind: reason.kind.words(&reason.unit).to_owned(),
            excess_us: of_time(reason.excess_us),
            excess: of_other(reason.excess_us),
            count: reason.count,
            usual_count: reason.usual_count,
            usual_us: of_time(reason.usual_us),
            usual: of_other(reason.usual_us),
            share: reason.share,
            function: reason.function,
            path: reason.path,
            unit: match reason.unit {
                WeightUnit::Time => None,
                WeightUnit::Other(unit) => Some(unit),
            },
        }
    }
}

impl TryFrom<ReasonRecord> for Reason {
    type Error = String;

    fn try_from(record: ReasonRecord) -> Result<Self, String> {
        let unit = record.unit.map_or(WeightUnit::Time, WeightUnit::Other);
        let kind = DifferenceKind::of_words(&record.kind, &unit);
        let value = |of_time: Option<f64>, of_other: Option<f64>| {
            let value = unit.of_kind(of_time, of_other);
            value.ok_or_else(|| "a reason lacks its excess or its usual value".to_owned())
        };
        Ok(Self {
            kind: kind.ok_or_else(|| format!("unknown kind of reason {:?}", record.kind))?,
            excess_us: value(record.excess_us, record.excess)?,
            usual_us: value(record.usual_us, record.usual)?,
            function: record.function,
            path: record.path,
            count: record.count,
            usual_count: record.usual_count,
            share: record.share,
            unit,
        })
    }
}

impl Reason {
    /// Returns the reason as text: `longer: MPI_Wait, +38.2 ms (usually 210 µs)`.
    pub fn words(&self) -> String {
        let name = FunctionName::parse(&self.function).short;
        let amount = |us: f64| self.unit.amount(DurationNs::nearest(us * 1e3)).to_string();
        let calls = |count: u64| format!("{count} {}", self.unit.vertices(count));
        let usually = match (self.kind, self.share > 0.0) {
            (DifferenceKind::New, false) => format!("{}, usually none", calls(self.count)),
            (DifferenceKind::New, true) => {
                let share = 100.0 * self.share;
                format!("{}, in {share:.0} % of normal trees", calls(self.count))
            }
            (DifferenceKind::Missing, _) => format!("usually {}", calls(self.usual_count)),
            (DifferenceKind::MoreCalls | DifferenceKind::FewerCalls, _) => {
                format!("{}, usually {}", calls(self.count), self.usual_count)
            }
            _ => format!("usually {}", amount(self.usual_us)),
        };
        let sign = if self.excess_us < 0.0 { "" } else { "+" };
        let excess = amount(self.excess_us);
        let kind = self.kind.words(&self.unit);
        format!("{kind}: {name}, {sign}{excess} ({usually})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_written_as_text() {
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
                unit: WeightUnit::Time,
            }
            .words()
        };
        for (text, expected) in [
            (
                words(DifferenceKind::New, 1500.0, 3, 0, 0.0, 0.0),
                "new: Comm::exchange, +1.5 ms (3 calls, usually none)",
            ),
            (
                words(DifferenceKind::New, 1.0, 1, 0, 0.0, 0.25),
                "new: Comm::exchange, +1 µs (1 call, in 25 % of normal trees)",
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
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn reasons_in_other_units_survive_json() {
        let reason = |kind, unit| Reason {
            kind,
            function: "comment".to_owned(),
            path: vec!["post".to_owned(), "comment".to_owned()],
            excess_us: 38.0,
            count: 3,
            usual_count: 1,
            usual_us: 2.0,
            share: 1.0,
            unit,
        };
        let votes = || WeightUnit::Other("votes".to_owned());
        for (kind, expected) in [
            (
                DifferenceKind::Longer,
                "heavier: comment, +38 votes (usually 2 votes)",
            ),
            (
                DifferenceKind::MoreCalls,
                "more often: comment, +38 votes (3 vertices, usually 1)",
            ),
            (
                DifferenceKind::Missing,
                "missing: comment, +38 votes (usually 1 vertex)",
            ),
        ] {
            assert_eq!(reason(kind, votes()).words(), expected);
            for unit in [votes(), WeightUnit::Time] {
                let json = serde_json::to_string(&reason(kind, unit.clone())).unwrap();
                let read: Reason = serde_json::from_str(&json).unwrap();
                assert_eq!(read, reason(kind, unit.clone()), "{json}");
                assert_eq!(json.contains("_us"), unit.is_time(), "{json}");
            }
        }
    }
}
