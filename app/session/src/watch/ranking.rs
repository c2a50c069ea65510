//! Ranks and functions in an order that the person chooses.

use super::{FuncOverview, Overview, RankOverview, RunStats};

/// What is compared.
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

/// Which statistic of the measure.
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

/// Which end of the order comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RankedEnd {
    /// The largest first.
    #[default]
    Top,
    /// The smallest first.
    Bottom,
}

/// An order, and what is in it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ranking {
    /// What is compared.
    pub measure: Measure,
    /// Which statistic of it.
    pub statistic: Statistic,
    /// Which end comes first.
    pub end: RankedEnd,
    /// Only those whose name contains this, upper and lower case alike.
    pub search: String,
}

/// One place of the order: `index` into [`Overview::ranks`] or [`Overview::funcs`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ranked {
    /// Index into the overview's list.
    pub index: usize,
    /// The value compared, in the unit of the measure.
    pub value: f64,
}

impl Measure {
    /// Those that a rank has.
    pub const OF_RANKS: [Self; 3] = [Self::Severity, Self::Anomalies, Self::Score];
    /// Those that a function has.
    pub const OF_FUNCS: [Self; 5] = [
        Self::Severity,
        Self::Anomalies,
        Self::Score,
        Self::Exclusive,
        Self::Inclusive,
    ];

    /// What a person calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anomalies => "Anomalies per step",
            Self::Severity => "Severity",
            Self::Score => "Score",
            Self::Exclusive => "Exclusive time",
            Self::Inclusive => "Inclusive time",
        }
    }

    /// Whether its values are microseconds.
    pub fn is_duration(self) -> bool {
        matches!(self, Self::Severity | Self::Exclusive | Self::Inclusive)
    }

    /// The statistics of a function.
    pub fn of_func(self, func: &FuncOverview) -> &RunStats {
        match self {
            Self::Anomalies => &func.anomalies,
            Self::Severity => &func.metrics.severity,
            Self::Score => &func.metrics.score,
            Self::Exclusive => &func.exclusive,
            Self::Inclusive => &func.inclusive,
        }
    }

    /// The statistics of a rank; what only functions have counts as its severity.
    pub fn of_rank(self, rank: &RankOverview) -> &RunStats {
        match self {
            Self::Anomalies => &rank.anomalies,
            Self::Score => &rank.metrics.score,
            Self::Severity | Self::Exclusive | Self::Inclusive => &rank.metrics.severity,
        }
    }
}

impl Statistic {
    /// All of them, in the order of the choice.
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

    /// What a person calls it.
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

    /// Its value; in the unit of the measure unless [`Statistic::is_pure_number`].
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

    /// Whether it has no unit, whatever the measure.
    pub fn is_pure_number(self) -> bool {
        matches!(self, Self::Count | Self::Skewness | Self::Kurtosis)
    }
}

/// The ranks in the order of a ranking. The name of a rank is its number.
pub fn ranked_ranks(overview: &Overview, ranking: &Ranking) -> Vec<Ranked> {
    let values = overview.ranks.iter().map(|rank| {
        let value = ranking.statistic.of(ranking.measure.of_rank(rank));
        (rank.rank.to_string(), value)
    });
    ranked(values, ranking)
}

/// The functions in the order of a ranking.
pub fn ranked_funcs(overview: &Overview, ranking: &Ranking) -> Vec<Ranked> {
    let values = overview.funcs.iter().map(|func| {
        let value = ranking.statistic.of(ranking.measure.of_func(func));
        (func.name.to_lowercase(), value)
    });
    ranked(values, ranking)
}

/// Equal values stay in the overview's order.
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
