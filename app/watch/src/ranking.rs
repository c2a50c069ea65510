//! Ranks and functions in an order that the user chooses.

use callgrove_detect::RunStats;
use callgrove_overview::{FuncOverview, Overview, RankOverview};

/// A quantity that is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Measure {
    /// Severity of the anomalies, in microseconds.
    #[default]
    Severity,
    /// Anomalies per I/O step.
    Anomalies,
    /// Score of the anomalies.
    Score,
    /// Exclusive runtime in microseconds; functions only.
    Exclusive,
    /// Inclusive runtime in microseconds; functions only.
    Inclusive,
}

/// A statistic of a measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Statistic {
    /// Sum over all values.
    #[default]
    Total,
    /// Number of values.
    Count,
    /// Mean.
    Mean,
    /// Largest.
    Maximum,
    /// Smallest.
    Minimum,
    /// Standard deviation.
    Stddev,
    /// Skewness.
    Skewness,
    /// Excess kurtosis.
    Kurtosis,
}

/// The end of the order that comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RankedEnd {
    /// The largest first.
    #[default]
    Top,
    /// The smallest first.
    Bottom,
}

/// An order with a filter.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ranking {
    /// Measure.
    pub measure: Measure,
    /// Statistic of the measure.
    pub statistic: Statistic,
    /// End that comes first.
    pub end: RankedEnd,
    /// Text that names must contain, in either case.
    pub search: String,
}

/// An entry of the order.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ranked {
    /// Index into [`Overview::ranks`] or [`Overview::funcs`].
    pub index: usize,
    /// The value compared, in the unit of the measure.
    pub value: f64,
}

impl Measure {
    /// Measures of ranks.
    pub const OF_RANKS: [Self; 3] = [Self::Severity, Self::Anomalies, Self::Score];
    /// Measures of functions.
    pub const OF_FUNCS: [Self; 5] = [
        Self::Severity,
        Self::Anomalies,
        Self::Score,
        Self::Exclusive,
        Self::Inclusive,
    ];

    /// Returns the name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anomalies => "Anomalies per step",
            Self::Severity => "Severity",
            Self::Score => "Score",
            Self::Exclusive => "Exclusive time",
            Self::Inclusive => "Inclusive time",
        }
    }

    /// Returns whether its values are microseconds.
    pub fn is_duration(self) -> bool {
        matches!(self, Self::Severity | Self::Exclusive | Self::Inclusive)
    }

    /// Returns the statistics of a function.
    pub fn of_func(self, func: &FuncOverview) -> &RunStats {
        match self {
            Self::Anomalies => &func.anomalies,
            Self::Severity => &func.metrics.severity,
            Self::Score => &func.metrics.score,
            Self::Exclusive => &func.exclusive,
            Self::Inclusive => &func.inclusive,
        }
    }

    /// Returns the statistics of a rank. Measures that only functions have fall back to severity.
    pub fn of_rank(self, rank: &RankOverview) -> &RunStats {
        match self {
            Self::Anomalies => &rank.anomalies,
            Self::Score => &rank.metrics.score,
            Self::Severity | Self::Exclusive | Self::Inclusive => &rank.metrics.severity,
        }
    }
}

impl Statistic {
    /// All statistics, in the order of the menu.
    pub const ALL: [Self; 8] = [
        Self::Total,
        Self::Count,
        Self::Mean,
        Self::Maximum,
        Self::Minimum,
        Self::Stddev,
        Self::Skewness,
        Self::Kurtosis,
    ];

    /// Returns the name for display.
    pub fn name(self) -> &'static str {
        match self {
            Self::Total => "total",
            Self::Count => "count",
            Self::Mean => "mean",
            Self::Maximum => "maximum",
            Self::Minimum => "minimum",
            Self::Stddev => "standard deviation",
            Self::Skewness => "skewness",
            Self::Kurtosis => "kurtosis",
        }
    }

    /// Returns its value, in the unit of the measure unless [`Statistic::is_pure_number`].
    pub fn of(self, stats: &RunStats) -> f64 {
        match self {
            Self::Total => stats.accumulate,
            Self::Count => stats.count as f64,
            Self::Mean => stats.mean,
            Self::Maximum => stats.maximum,
            Self::Minimum => stats.minimum,
            Self::Stddev => stats.stddev,
            Self::Skewness => stats.skewness,
            Self::Kurtosis => stats.kurtosis,
        }
    }

    /// Returns whether it has no unit, whatever the measure.
    pub fn is_pure_number(self) -> bool {
        matches!(self, Self::Count | Self::Skewness | Self::Kurtosis)
    }
}

/// Returns the ranks in the order of a ranking. The name of a rank is its number.
pub fn ranked_ranks(overview: &Overview, ranking: &Ranking) -> Vec<Ranked> {
    let values = overview.ranks.iter().map(|rank| {
        let value = ranking.statistic.of(ranking.measure.of_rank(rank));
        (rank.rank.to_string(), value)
    });
    ranked(values, ranking)
}

/// Returns the functions in the order of a ranking.
pub fn ranked_funcs(overview: &Overview, ranking: &Ranking) -> Vec<Ranked> {
    let values = overview.funcs.iter().map(|func| {
        let value = ranking.statistic.of(ranking.measure.of_func(func));
        (func.name.to_lowercase(), value)
    });
    ranked(values, ranking)
}

/// Returns the entries in order. Equal values keep the order of the overview.
fn ranked(values: impl Iterator<Item = (String, f64)>, ranking: &Ranking) -> Vec<Ranked> {
    let search = ranking.search.trim().to_lowercase();
    let mut ranked: Vec<Ranked> = values
        .enumerate()
        .filter(|(_, (name, _))| name.contains(&search))
        .map(|(index, (_, value))| Ranked { index, value })
        .collect();
    match ranking.end {
        RankedEnd::Top => ranked.sort_by(|a, b| b.value.total_cmp(&a.value)),
        RankedEnd::Bottom => ranked.sort_by(|a, b| a.value.total_cmp(&b.value)),
    }
    ranked
}
