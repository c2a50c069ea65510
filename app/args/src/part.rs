//! A part of a run, such as `30%..60%` or `0..1.5` seconds.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use callgrove_model::{Forest, TimeNs, Trace};
use callgrove_session::TimeRange;
use clap::Args;

#[derive(Args, Debug)]
pub struct PartArgs {
    /// Only executions entered in this part of the run, in percent or in seconds from its beginning: 30%..60%, 0..1.5,
    /// 50%.. ; they keep their indexes
    #[arg(long, value_name = "FROM..TO")]
    pub between: Option<PartOfRun>,
}

/// A part of a run from one point to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PartOfRun {
    from: Point,
    to: Point,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Point {
    /// Share of the run, 0..=1.
    Share(f64),
    /// Seconds from the beginning of the run.
    Seconds(f64),
}

/// The error of a text that is not a part of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ParsePartError;

impl fmt::Display for ParsePartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected FROM..TO in percent of the run or in seconds, such as 30%..60%, 0..1.5 or 50%..",
        )
    }
}

impl std::error::Error for ParsePartError {}

impl FromStr for PartOfRun {
    type Err = ParsePartError;

    fn from_str(text: &str) -> Result<Self, ParsePartError> {
        let (from, to) = text.split_once("..").ok_or(ParsePartError)?;
        let point = |text: &str, empty: f64| match text.trim() {
            "" => Some(Point::Share(empty)),
            text => match text.strip_suffix('%') {
                Some(percent) => percent
                    .trim()
                    .parse()
                    .ok()
                    .filter(|percent| (0.0..=100.0).contains(percent))
                    .map(|percent: f64| Point::Share(percent / 100.0)),
                None => text
                    .parse()
                    .ok()
                    .filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0)
                    .map(Point::Seconds),
            },
        };
        let part = Self {
            from: point(from, 0.0).ok_or(ParsePartError)?,
            to: point(to, 1.0).ok_or(ParsePartError)?,
        };
        let is_empty = match (part.from, part.to) {
            (Point::Share(from), Point::Share(to)) | (Point::Seconds(from), Point::Seconds(to)) => {
                from >= to
            }
            _ => false,
        };
        if is_empty {
            Err(ParsePartError)
        } else {
            Ok(part)
        }
    }
}

impl PartOfRun {
    /// Returns the forest of the executions that are entered in this part of the run.
    pub fn of(self, forest: &Forest) -> Forest {
        forest.between(self.times(forest.trace()))
    }

    /// Returns the part as a time range of the run.
    pub fn time_range(self, trace: &Trace) -> TimeRange {
        let times = self.times(trace);
        TimeRange {
            from: times.start,
            to: times.end,
        }
    }

    fn times(self, trace: &Trace) -> Range<TimeNs> {
        let all = trace.lanes.iter().map(|lane| &lane.executions);
        let first = all.clone().filter_map(|all| all.entry.first()).min();
        let last = all.filter_map(|all| all.entry.last()).max();
        let (first, last) = match (first, last) {
            (Some(first), Some(last)) => (first.0, last.0.saturating_add(1)),
            _ => (0, 0),
        };
        let at = |point: Point| {
            let after = match point {
                Point::Share(share) => share * (last - first) as f64,
                Point::Seconds(seconds) => seconds * 1e9,
            };
            TimeNs(first.saturating_add(after as i64))
        };
        at(self.from)..at(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_and_seconds_are_parsed_and_others_rejected() {
        let part = |text: &str| text.parse::<PartOfRun>();
        assert_eq!(
            part("30%..60%").unwrap(),
            PartOfRun {
                from: Point::Share(0.3),
                to: Point::Share(0.6)
            }
        );
        assert_eq!(
            part("0.5..").unwrap(),
            PartOfRun {
                from: Point::Seconds(0.5),
                to: Point::Share(1.0)
            }
        );
        for text in [
            "", "30", "60%..30%", "-1..2", "0..120%", "a..b", "nan..2", "2..1",
        ] {
            assert_eq!(part(text), Err(ParsePartError), "{text}");
        }
    }
}
