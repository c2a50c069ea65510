//! A reason as tables tell it.

use callgrove_model::{DurationNs, FunctionName};
use serde::Serialize;

/// One of the reasons why a tree stands out, as tables tell it. Times in microseconds.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Reason {
    /// `new`, `missing`, `more calls`, `fewer calls`, `longer` or `shorter`.
    pub kind: &'static str,
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
    /// Share of the trees compared with that call it; told in words only.
    #[serde(skip)]
    pub share: f64,
}

impl Reason {
    /// The reason in words: `longer: MPI_Wait, +38.2 ms (usually 210 µs)`.
    pub fn words(&self) -> String {
        let name = FunctionName::parse(&self.function).short;
        let times = |us: f64| DurationNs((us * 1e3).round() as i64);
        let calls = |count: u64| match count {
            1 => "1 call".to_owned(),
            count => format!("{count} calls"),
        };
        let usually = match (self.kind, self.share > 0.0) {
            ("new", false) => format!("{}, usually none", calls(self.count)),
            ("new", true) => {
                let share = 100.0 * self.share;
                format!("{}, in {share:.0} % of the usual", calls(self.count))
            }
            ("missing", _) => format!("usually {}", calls(self.usual_count)),
            ("more calls" | "fewer calls", _) => {
                format!("{}, usually {}", calls(self.count), self.usual_count)
            }
            _ => format!("usually {}", times(self.usual_us)),
        };
        let sign = if self.excess_us < 0.0 { "" } else { "+" };
        let excess = times(self.excess_us);
        format!("{}: {name}, {sign}{excess} ({usually})", self.kind)
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
                words("new", 1500.0, 3, 0, 0.0, 0.0),
                "new: Comm::exchange, +1.5 ms (3 calls, usually none)",
            ),
            (
                words("new", 1.0, 1, 0, 0.0, 0.25),
                "new: Comm::exchange, +1 µs (1 call, in 25 % of the usual)",
            ),
            (
                words("missing", -40.0, 0, 1, 40.0, 1.0),
                "missing: Comm::exchange, -40 µs (usually 1 call)",
            ),
            (
                words("more calls", 7.0, 6, 3, 7.0, 1.0),
                "more calls: Comm::exchange, +7 µs (6 calls, usually 3)",
            ),
            (
                words("longer", 38_000.0, 1, 1, 210.0, 1.0),
                "longer: Comm::exchange, +38 ms (usually 210 µs)",
            ),
        ] {
            assert_eq!(told, expected);
        }
    }
}
