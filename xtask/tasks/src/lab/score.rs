//! The score of a run: which injected delays have an incident of their own, and which statements are false.
//!
//! A delay is found if an incident has its rank as the root, covers at least half of it, and is at most three times as
//! long plus 60 ms: an incident of the whole run finds nothing. A statement is false if its confidence is at least 80 %,
//! it costs more than 50 ms, and it names a rank without a fault, or the host. Incidents by design are no statements.

use std::fmt;
use std::ops::AddAssign;

use anyhow::{Context, Result};
use serde_json::Value;

/// Minimum share of a delay that its incident covers.
const MIN_COVERED_SHARE: f64 = 0.5;
/// Maximum duration of an incident, as a multiple of the delay.
const MAX_TIMES_AS_LONG: f64 = 3.0;
/// What an incident may last longer than that: a few steps, in which the other ranks catch up.
const MAX_EXCESS_US: f64 = 60_000.0;
/// Minimum confidence of a statement that counts as false.
const MIN_CONFIDENCE_PERCENT: u64 = 80;
/// Maximum cost of a statement that is too small to count as false.
const MAX_SMALL_DELAY_US: f64 = 50_000.0;
/// Minimum number of delays that must agree on the start of a trace without a wall clock.
const MIN_AGREEING: usize = 2;

/// The clock of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TraceClock {
    /// Times are since the epoch.
    Wall,
    /// Times are since an unknown instant.
    Unknown,
}

/// An injected delay.
#[derive(Clone, Debug, PartialEq)]
struct Delay {
    rank: u64,
    kind: String,
    start_us: f64,
    end_us: f64,
}

/// The faults of a run, as its script wrote them down.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct InjectedFaults {
    delays: Vec<Delay>,
    slow_ranks: Vec<u64>,
}

/// An incident that the program reports, not by design.
#[derive(Clone, Debug, PartialEq)]
struct Statement {
    rank: Option<u64>,
    is_of_host: bool,
    start_us: f64,
    end_us: f64,
    delay_us: f64,
    confidence_percent: u64,
    text: String,
}

/// The score of a run, or the sum of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Score {
    num_delays: usize,
    missed: Vec<String>,
    false_statements: Vec<String>,
    slow_ranks: Vec<u64>,
    unnamed_slow_ranks: Vec<u64>,
    wrongly_slow_ranks: Vec<u64>,
}

impl InjectedFaults {
    /// Reads the rows `[rank, step, kind, start, end]`, with times in seconds.
    ///
    /// # Errors
    /// The text has other contents.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let rows: Vec<(u64, i64, String, f64, f64)> = serde_json::from_str(text)?;
        let mut truth = Self::default();
        for (rank, _, kind, start_s, end_s) in rows {
            if kind == "slow" {
                truth.slow_ranks.push(rank);
                continue;
            }
            truth.delays.push(Delay {
                rank,
                kind,
                start_us: start_s * 1e6,
                end_us: end_s * 1e6,
            });
        }
        Ok(truth)
    }

    fn has_fault(&self, rank: u64) -> bool {
        self.slow_ranks.contains(&rank) || self.delays.iter().any(|delay| delay.rank == rank)
    }
}

impl Delay {
    /// Returns whether a statement finds the delay, if the trace starts at `zero_us`.
    fn is_found_by(&self, statement: &Statement, zero_us: f64) -> bool {
        let length = self.end_us - self.start_us;
        let (start, end) = (statement.start_us + zero_us, statement.end_us + zero_us);
        let covered = end.min(self.end_us) - start.max(self.start_us);
        statement.rank == Some(self.rank)
            && covered >= MIN_COVERED_SHARE * length
            && end - start <= MAX_TIMES_AS_LONG * length + MAX_EXCESS_US
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length_ms = (self.end_us - self.start_us) / 1e3;
        write!(f, "{} of rank {}, {length_ms:.0} ms", self.kind, self.rank)
    }
}

impl Statement {
    /// Reads a row of `callgrove incidents`.
    fn parse(line: &str) -> Result<Self> {
        let row: Value = serde_json::from_str(line)?;
        let number = |key: &str| {
            row[key]
                .as_f64()
                .with_context(|| format!("no {key} in {line}"))
        };
        Ok(Self {
            rank: row["root_rank"].as_u64(),
            is_of_host: row["kind"] == "busy_host",
            start_us: number("start_us")?,
            end_us: number("end_us")?,
            delay_us: number("delay_us")?,
            confidence_percent: row["confidence_percent"].as_u64().unwrap_or(0),
            text: row["words"].as_str().unwrap_or_default().to_owned(),
        })
    }

    fn is_false(&self, truth: &InjectedFaults) -> bool {
        let names_another = match self.rank {
            Some(rank) => !truth.has_fault(rank),
            None => self.is_of_host,
        };
        names_another
            && self.confidence_percent >= MIN_CONFIDENCE_PERCENT
            && self.delay_us > MAX_SMALL_DELAY_US
    }
}

impl Score {
    /// Scores the JSON lines of `callgrove incidents --not-by-design` and `callgrove trends` against the truth.
    ///
    /// # Errors
    /// A line is no row of these commands.
    pub(crate) fn new(
        truth: &InjectedFaults,
        clock: TraceClock,
        incidents: &str,
        trends: &str,
    ) -> Result<Self> {
        let statements = incidents.lines().map(Statement::parse);
        let statements: Vec<Statement> = statements.collect::<Result<_>>()?;
        let zero_us = match clock {
            TraceClock::Wall => Some(0.0),
            TraceClock::Unknown => start_of_trace(truth, &statements),
        };
        let is_missed = |delay: &&Delay| {
            zero_us.is_none_or(|zero| !statements.iter().any(|it| delay.is_found_by(it, zero)))
        };
        let false_statements = statements.iter().filter(|it| it.is_false(truth));
        let slow = slow_ranks(trends)?;
        let not_in = |ranks: &[u64], others: &[u64]| {
            let missing = ranks.iter().filter(|rank| !others.contains(rank));
            missing.copied().collect()
        };
        Ok(Self {
            num_delays: truth.delays.len(),
            missed: truth
                .delays
                .iter()
                .filter(is_missed)
                .map(Delay::to_string)
                .collect(),
            false_statements: false_statements.map(|it| it.text.clone()).collect(),
            slow_ranks: truth.slow_ranks.clone(),
            unnamed_slow_ranks: not_in(&truth.slow_ranks, &slow),
            wrongly_slow_ranks: not_in(&slow, &truth.slow_ranks),
        })
    }

    /// Returns one line for each delay missed, each false statement, and each rank wrongly named or not named.
    pub(crate) fn details(&self) -> Vec<String> {
        let texts = |title: &str, texts: &[String]| -> Vec<String> {
            texts
                .iter()
                .map(|text| format!("{title}: {text}"))
                .collect()
        };
        let ranks = |title: &str, ranks: &[u64]| -> Vec<String> {
            ranks
                .iter()
                .map(|rank| format!("{title}: slow rank {rank}"))
                .collect()
        };
        [
            texts("missed", &self.missed),
            ranks("missed", &self.unnamed_slow_ranks),
            texts("false", &self.false_statements),
            ranks("false", &self.wrongly_slow_ranks),
        ]
        .concat()
    }
}

impl AddAssign<&Self> for Score {
    fn add_assign(&mut self, other: &Self) {
        self.num_delays += other.num_delays;
        self.missed.extend_from_slice(&other.missed);
        self.false_statements
            .extend_from_slice(&other.false_statements);
        self.slow_ranks.extend_from_slice(&other.slow_ranks);
        self.unnamed_slow_ranks
            .extend_from_slice(&other.unnamed_slow_ranks);
        self.wrongly_slow_ranks
            .extend_from_slice(&other.wrongly_slow_ranks);
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let num_found = self.num_delays - self.missed.len();
        let num_named = self.slow_ranks.len() - self.unnamed_slow_ranks.len();
        write!(
            f,
            "found {num_found} of {} delays and {num_named} of {} slow ranks, missed {}, false {}",
            self.num_delays,
            self.slow_ranks.len(),
            self.missed.len() + self.unnamed_slow_ranks.len(),
            self.false_statements.len() + self.wrongly_slow_ranks.len(),
        )
    }
}

/// Returns when a trace without a wall clock starts: of all starts that put the middle of a statement on the middle of a
/// delay of the same rank, the first one by which most delays are found. `None` if fewer than two agree.
fn start_of_trace(truth: &InjectedFaults, statements: &[Statement]) -> Option<f64> {
    let mut best = (MIN_AGREEING - 1, None);
    for delay in &truth.delays {
        for statement in statements.iter().filter(|it| it.rank == Some(delay.rank)) {
            let zero_us =
                (delay.start_us + delay.end_us - statement.start_us - statement.end_us) / 2.0;
            // Most statements are too short or too long for the delay, whenever the trace starts.
            if !delay.is_found_by(statement, zero_us) {
                continue;
            }
            let is_found =
                |delay: &&Delay| statements.iter().any(|it| delay.is_found_by(it, zero_us));
            let num_found = truth.delays.iter().filter(is_found).count();
            if num_found > best.0 {
                best = (num_found, Some(zero_us));
            }
        }
    }
    best.1
}

/// Returns the ranks that `callgrove trends` calls slow, sorted.
fn slow_ranks(trends: &str) -> Result<Vec<u64>> {
    let mut ranks = Vec::new();
    for line in trends.lines() {
        let row: Value = serde_json::from_str(line)?;
        if row["kind"] == "slow" {
            let named = row["ranks"]
                .as_array()
                .with_context(|| format!("no ranks in {line}"))?;
            ranks.extend(named.iter().filter_map(Value::as_u64));
        }
    }
    ranks.sort_unstable();
    ranks.dedup();
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: &str = r#"[[1, 12, "stop", 10.0, 10.1], [1, 30, "stop", 11.0, 11.1]]"#;

    fn incident(rank: &str, start_ms: u64, length_ms: u64, percent: u8) -> String {
        format!(
            r#"{{"root_rank":{rank},"kind":"{}","start_us":{start_ms}000,"end_us":{}000,"delay_us":{length_ms}000,"confidence_percent":{percent},"words":"Rank {rank}"}}"#,
            if rank == "null" { "busy_host" } else { "slow" },
            start_ms + length_ms,
        )
    }

    fn score(truth: &str, clock: TraceClock, incidents: &[String], trends: &str) -> Score {
        let truth = InjectedFaults::parse(truth).unwrap();
        Score::new(&truth, clock, &incidents.join("\n"), trends).unwrap()
    }

    #[test]
    fn a_delay_is_found_by_an_incident_of_its_rank_and_time() {
        let found = |incident: String| {
            let score = score(TRUTH, TraceClock::Wall, &[incident], "");
            score.num_delays - score.missed.len()
        };
        assert_eq!(found(incident("1", 10_000, 100, 95)), 1);
        assert_eq!(found(incident("1", 10_040, 360, 10)), 1, "60 % are covered");
        assert_eq!(found(incident("1", 10_060, 100, 95)), 0, "40 % are covered");
        assert_eq!(found(incident("1", 9_900, 361, 95)), 0, "it is too long");
        assert_eq!(found(incident("2", 10_000, 100, 95)), 0, "another rank");
        assert_eq!(found(incident("1", 9_000, 3_000, 95)), 0, "the whole run");
    }

    #[test]
    fn a_certain_and_costly_statement_about_another_rank_or_the_host_is_false() {
        let false_ = |incident: String| {
            score(TRUTH, TraceClock::Wall, &[incident], "")
                .false_statements
                .len()
        };
        assert_eq!(false_(incident("2", 10_000, 100, 80)), 1);
        assert_eq!(false_(incident("null", 10_000, 100, 80)), 1);
        assert_eq!(false_(incident("2", 10_000, 100, 79)), 0);
        assert_eq!(false_(incident("2", 10_000, 50, 95)), 0);
        assert_eq!(false_(incident("1", 12_000, 100, 95)), 0, "it has a fault");
        let unknown = incident("null", 10_000, 100, 95).replace("busy_host", "transfer");
        assert_eq!(false_(unknown), 0, "it names nothing");
    }

    #[test]
    fn without_a_wall_clock_at_least_two_delays_agree_on_the_start() {
        let two = [incident("1", 500, 100, 95), incident("1", 1_500, 100, 95)];
        assert!(
            score(TRUTH, TraceClock::Unknown, &two, "")
                .missed
                .is_empty()
        );
        let one = [incident("1", 500, 100, 95), incident("1", 1_900, 100, 95)];
        assert_eq!(score(TRUTH, TraceClock::Unknown, &one, "").missed.len(), 2);
    }

    #[test]
    fn slow_ranks_are_named_by_trends() {
        let truth = r#"[[3, -1, "slow", 0, 0]]"#;
        let trends = "{\"kind\":\"slow\",\"ranks\":[3]}\n{\"kind\":\"growth\",\"ranks\":[1]}";
        let named = score(truth, TraceClock::Wall, &[], trends);
        assert!(named.details().is_empty(), "{named:?}");
        let wrong = score(
            truth,
            TraceClock::Wall,
            &[],
            "{\"kind\":\"slow\",\"ranks\":[0]}",
        );
        assert_eq!(
            wrong.details(),
            ["missed: slow rank 3", "false: slow rank 0"]
        );
    }

    #[test]
    fn the_sum_of_scores_has_all_of_them() {
        let mut total = Score::default();
        total += &score(
            TRUTH,
            TraceClock::Wall,
            &[incident("1", 10_000, 100, 95)],
            "",
        );
        total += &score(
            "[]",
            TraceClock::Wall,
            &[incident("0", 10_000, 100, 95)],
            "",
        );
        total += &score(r#"[[3, -1, "slow", 0, 0]]"#, TraceClock::Wall, &[], "");
        assert_eq!(
            total.to_string(),
            "found 1 of 2 delays and 0 of 1 slow ranks, missed 2, false 1"
        );
        assert_eq!(total.details().len(), 3);
    }

    #[test]
    fn a_row_without_times_is_an_error() {
        let truth = InjectedFaults::default();
        let message = Score::new(&truth, TraceClock::Wall, "{\"root_rank\":1}", "").unwrap_err();
        assert!(message.to_string().contains("no start_us"), "{message}");
    }
}
