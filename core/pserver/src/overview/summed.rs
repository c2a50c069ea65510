//! Statistics of two sets of values as one, from the statistics of each alone.

use callgrove_detect::RunStats;

use crate::packet::MetricsData;

/// Count, score and severity of both together. Without anomalies in one of them, the other.
pub fn summed_metrics(a: &MetricsData, b: &MetricsData) -> MetricsData {
    if a.count.count == 0 {
        return b.clone();
    }
    if b.count.count == 0 {
        return a.clone();
    }
    MetricsData {
        first_io_step: a.first_io_step.min(b.first_io_step),
        last_io_step: a.last_io_step.max(b.last_io_step),
        max_timestamp_us: a.max_timestamp_us.max(b.max_timestamp_us),
        min_timestamp_us: a.min_timestamp_us.min(b.min_timestamp_us),
        severity: summed_stats(&a.severity, &b.severity),
        score: summed_stats(&a.score, &b.score),
        count: summed_stats(&a.count, &b.count),
    }
}

/// Statistics of the values behind `a` and `b` together.
///
/// The record's moments are turned back into central sums, which add up by the pairwise formulas of P. Pébay
/// (2008, SAND2008-6212); exact but for rounding. Associative and commutative to the same degree.
pub fn summed_stats(a: &RunStats, b: &RunStats) -> RunStats {
    if a.count == 0 {
        return *b;
    }
    if b.count == 0 {
        return *a;
    }
    let (count_a, count_b) = (a.count as f64, b.count as f64);
    let count = count_a + count_b;
    let [a2, a3, a4] = central_sums(a);
    let [b2, b3, b4] = central_sums(b);
    let delta = b.mean - a.mean;
    let ratio = delta / count;
    let product = count_a * count_b;
    let m2 = a2 + b2 + delta * ratio * product;
    let m3 = a3
        + b3
        + delta * ratio * ratio * product * (count_a - count_b)
        + 3.0 * ratio * (count_a * b2 - count_b * a2);
    let m4 = a4
        + b4
        + delta
            * ratio
            * ratio
            * ratio
            * product
            * (count_a * count_a - product + count_b * count_b)
        + 6.0 * ratio * ratio * (count_a * count_a * b2 + count_b * count_b * a2)
        + 4.0 * ratio * (count_a * b3 - count_b * a3);
    let has_spread = m2 > 0.0 && (m2 * m2).is_normal();
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    RunStats {
        accumulate: a.accumulate + b.accumulate,
        count: a.count.saturating_add(b.count),
        kurtosis: finite(if has_spread {
            count * m4 / (m2 * m2) - 3.0
        } else {
            0.0
        }),
        maximum: a.maximum.max(b.maximum),
        mean: a.mean + ratio * count_b,
        minimum: a.minimum.min(b.minimum),
        skewness: finite(if has_spread {
            count.sqrt() * m3 / m2.powf(1.5)
        } else {
            0.0
        }),
        stddev: finite((m2 / (count - 1.0)).max(0.0).sqrt()),
    }
}

/// Sums of the second to fourth powers of the distances from the mean.
fn central_sums(stats: &RunStats) -> [f64; 3] {
    let count = stats.count as f64;
    let m2 = stats.stddev * stats.stddev * (count - 1.0);
    if m2 <= 0.0 {
        return [0.0; 3];
    }
    let m3 = stats.skewness * m2.powf(1.5) / count.sqrt();
    let m4 = (stats.kurtosis + 3.0) * m2 * m2 / count;
    [m2, m3, m4]
}
