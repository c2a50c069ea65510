//! Patterns as table rows with fixed column names. Times are in microseconds.

use callgrove_patterns::{Iterations, Occurrence, Pattern};
use serde::Serialize;

use super::{PatternCurve, PatternReference, RunPatterns};

/// One pattern: a row of `callgrove patterns`.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PatternRow {
    /// Number of the pattern.
    pub pattern: u32,
    /// Short name.
    pub name: String,
    /// Definition.
    pub definition: String,
    /// Number of occurrences on all ranks.
    pub num_occurrences: usize,
    /// Number of ranks (and threads) with occurrences.
    pub num_lanes: usize,
    /// Number of events of the longest occurrence.
    pub num_events: u32,
    /// Time of all occurrences together.
    pub total_us: i64,
    /// d: the usual duration, that of the slowest occurrence of the reference set.
    pub reference_us: f64,
    /// s × d: longer occurrences are anomalous.
    pub limit_us: f64,
    /// Number of occurrences between the two.
    pub num_undecided: usize,
    /// Number of anomalous occurrences.
    pub num_anomalous: usize,
    /// Their time beyond d.
    pub excess_us: i64,
    /// The anomalous occurrences, in order of rank and time.
    pub anomalous: Vec<AnomalyRow>,
}

/// An anomalous occurrence of a pattern.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AnomalyRow {
    /// Rank.
    pub rank: u32,
    /// Thread.
    pub thread: u32,
    /// Number of the occurrence on its rank and thread, from 0.
    pub occurrence: usize,
    /// Start, microseconds since the epoch.
    pub start_us: i64,
    /// Duration.
    pub duration_us: f64,
    /// Iteration of the program that it began in, from 0; `None` outside the loop.
    pub iteration: Option<usize>,
}

/// The iterations of the program's time step loop.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct IterationsRow {
    /// Short name of the loop.
    pub name: String,
    /// Number of iterations.
    pub num_iterations: usize,
    /// Median duration of an iteration.
    pub median_us: f64,
    /// Index of the longest iteration, from 0.
    pub longest: usize,
    /// Its duration.
    pub longest_us: f64,
    /// Median over the iterations of (longest − mean) / mean working time of the ranks.
    pub median_imbalance: f64,
}

impl RunPatterns {
    /// Returns the row of a pattern.
    pub fn row(&self, pattern: &Pattern, reference: PatternReference) -> PatternRow {
        let made;
        let curve = if let Some(known) = self.curve(pattern.id) {
            known
        } else {
            made = PatternCurve::new(pattern);
            &made
        };
        let [_, num_undecided, num_anomalous] = curve.counts(reference);
        let mut places = curve.anomalous(reference).to_vec();
        places.sort_unstable();
        let occurrences = places
            .iter()
            .filter_map(|&place| pattern.occurrences.get(usize::try_from(place).ok()?));
        PatternRow {
            pattern: pattern.id.0,
            name: self.name(pattern.id),
            definition: self.define(pattern.id),
            num_occurrences: pattern.occurrences.len(),
            num_lanes: pattern
                .occurrences
                .chunk_by(|a, b| a.lane == b.lane)
                .count(),
            num_events: pattern.num_events.max,
            total_us: pattern.total.0 / 1_000,
            reference_us: curve.usual(reference).as_secs_f64() * 1e6,
            limit_us: curve.limit(reference).as_secs_f64() * 1e6,
            num_undecided,
            num_anomalous,
            excess_us: curve.excess(reference).0 / 1_000,
            anomalous: occurrences.map(|it| self.anomaly(pattern, it)).collect(),
        }
    }

    /// Returns the row of the iterations, if the program has any.
    pub fn iterations_row(&self) -> Option<IterationsRow> {
        let iterations = self.iterations.as_ref()?;
        let all = self.imbalances();
        let longest = all
            .iter()
            .max_by_key(|it| (it.duration, std::cmp::Reverse(it.iteration)))?;
        let mut durations: Vec<f64> = all.iter().map(|it| it.duration.as_secs_f64()).collect();
        let mut shares: Vec<f64> = all
            .iter()
            .map(callgrove_patterns::Imbalance::share)
            .collect();
        Some(IterationsRow {
            name: Iterations::name(iterations, &self.trace),
            num_iterations: iterations.len(),
            median_us: median(&mut durations) * 1e6,
            longest: longest.iteration,
            longest_us: longest.duration.as_secs_f64() * 1e6,
            median_imbalance: median(&mut shares),
        })
    }

    fn anomaly(&self, pattern: &Pattern, occurrence: &Occurrence) -> AnomalyRow {
        let lane = self.trace.lane(occurrence.lane);
        let before = pattern.on_lane(occurrence.lane);
        AnomalyRow {
            rank: lane.rank.0,
            thread: lane.thread.0,
            occurrence: before.partition_point(|it| it.start < occurrence.start),
            start_us: occurrence.start.as_us(),
            duration_us: occurrence.duration.as_secs_f64() * 1e6,
            iteration: self.iteration_at(occurrence.lane, occurrence.start),
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}
