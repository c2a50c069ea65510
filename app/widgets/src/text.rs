//! Formats values: with their unit, as short as possible.

use callgrove_model::{DurationNs, FunctionName, TreeIdx, thousands};
use callgrove_session::{Snapshot, design_text};
use callgrove_watch::{ExecutionField, FieldUnit, Measure, Statistic};

/// Microseconds in a day.
const DAY_US: u64 = 86_400_000_000;

/// Returns the short name of a function: without arguments and file.
pub fn short_name(func: &str) -> &str {
    let short = FunctionName::parse(func).short;
    if short.is_empty() { func } else { short }
}

/// Formats a duration given in microseconds: `1.5 ms`.
pub fn duration(duration_us: f64) -> String {
    DurationNs((duration_us * 1e3).round() as i64).to_string()
}

/// Formats a duration given in microseconds, or a dash.
pub fn duration_or_dash(duration_us: Option<f64>) -> String {
    duration_us.map_or_else(dash, duration)
}

/// Returns the cause that explains why a tree is unusual, and how much of it.
pub fn cause_text(snapshot: &Snapshot, tree: TreeIdx) -> Option<String> {
    let cause = snapshot.cause(tree)?.name();
    let analysis = snapshot.analysis()?;
    let share = analysis.write_shares.get(tree.index()).copied().flatten()?;
    Some(format!(
        "{}, {cause}: {} above usual, {} of it while the tracer wrote its own data",
        analysis.forest.code(tree),
        share.excess,
        share.covered.min(share.excess),
    ))
}

/// Returns why a tree is rare or long by design.
pub fn design_note(snapshot: &Snapshot, tree: TreeIdx) -> Option<String> {
    let analysis = snapshot.analysis()?;
    let text = design_text(snapshot.by_design(tree)?);
    let code = analysis.forest.code(tree);
    Some(format!("{code}, by design: {text}. Not an alarm."))
}

/// Returns the note on the held label of a tree.
pub fn held_text(snapshot: &Snapshot, tree: TreeIdx) -> Option<String> {
    let analysis = snapshot.analysis()?;
    let label = snapshot.label(tree).filter(|_| snapshot.is_held(tree))?;
    Some(format!(
        "{}, held {}: the label holds for this execution only; the model is not trained on it",
        analysis.forest.code(tree),
        label.name(),
    ))
}

/// Returns the author of the label of a tree.
pub fn author_text(snapshot: &Snapshot, tree: TreeIdx) -> Option<String> {
    let analysis = snapshot.analysis()?;
    let (code, label) = (analysis.forest.code(tree), snapshot.label(tree)?);
    let author = snapshot.label_author(tree)?;
    Some(format!("{code}, labelled {} by {author}", label.name()))
}

/// Formats a number with at most four significant digits and separated thousands.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let sign = if value < 0.0 { "−" } else { "" };
    match size {
        _ if !value.is_finite() => dash(),
        _ if size.fract() == 0.0 && size < 1e15 => format!("{sign}{}", thousands(size as usize)),
        0.0..1e-3 => format!("{sign}{size:.1e}"),
        1e-3..10.0 => format!("{sign}{size:.3}"),
        10.0..100.0 => format!("{sign}{size:.2}"),
        100.0..1_000.0 => format!("{sign}{size:.1}"),
        1_000.0..1e15 => format!("{sign}{}", thousands(size.round() as usize)),
        _ => format!("{sign}{size:.3e}"),
    }
}

/// Formats a number, or a dash.
pub fn number_or_dash(value: Option<f64>) -> String {
    value.map_or_else(dash, number)
}

/// `1 anomaly`, `2,345 anomalies`.
pub fn num_anomalies(count: u64) -> String {
    let noun = if count == 1 { "anomaly" } else { "anomalies" };
    format!("{} {noun}", thousands(count as usize))
}

/// Returns the sign for a missing value.
pub fn dash() -> String {
    "–".to_owned()
}

/// Formats a statistic of a measure, with its unit.
pub fn statistic(measure: Measure, statistic: Statistic, value: f64) -> String {
    if measure.is_duration() && !statistic.is_pure_number() {
        duration(value)
    } else {
        number(value)
    }
}

/// Formats the value of a field; times in UTC.
pub fn field(field: ExecutionField, value: f64) -> String {
    match field.unit() {
        FieldUnit::Number => number(value),
        FieldUnit::DurationUs => duration(value),
        FieldUnit::TimeUs => utc(value.max(0.0) as u64),
    }
}

/// Formats a time in microseconds since the epoch, in UTC: `2026-11-21 19:05:04.123456`.
pub fn utc(time_us: u64) -> String {
    let (year, month, day) = date(time_us / DAY_US);
    let clock = clock(time_us);
    format!("{year:04}-{month:02}-{day:02} {clock}")
}

/// Formats the time of the day in UTC: `19:05:04.123456`.
pub fn clock(time_us: u64) -> String {
    let in_day_us = time_us % DAY_US;
    let seconds = in_day_us / 1_000_000;
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!(
        "{hour:02}:{minute:02}:{second:02}.{:06}",
        in_day_us % 1_000_000
    )
}

/// Returns year, month and day of a day since the epoch, in the Gregorian calendar.
fn date(mut day: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    // Any 400 successive years have the same number of days.
    let mut year = 1970 + day / 146_097 * 400;
    day %= 146_097;
    loop {
        let num_days = if is_leap(year) { 366 } else { 365 };
        if day < num_days {
            break;
        }
        day -= num_days;
        year += 1;
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 1;
    for length in lengths {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    (year, month, day + 1)
}

/// Returns a duration rounded to three significant digits.
pub fn round_duration(duration: DurationNs) -> DurationNs {
    let mut step_ns = 1;
    while duration.0 / step_ns >= 1_000 {
        step_ns *= 10;
    }
    DurationNs((duration.0 as f64 / step_ns as f64).round() as i64 * step_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc() {
        assert_eq!(utc(0), "1970-01-01 00:00:00.000000");
        assert_eq!(utc(951_782_400_000_000), "2000-02-29 00:00:00.000000");
        assert_eq!(utc(1_795_231_715_233_994), "2026-11-21 03:28:35.233994");
        assert_eq!(utc(4_107_542_399_999_999), "2100-02-28 23:59:59.999999");
        assert_eq!(utc(4_107_542_400_000_000), "2100-03-01 00:00:00.000000");
    }

    #[test]
    fn values_have_units_and_few_digits() {
        assert_eq!(duration(1_500.0), "1.5 ms");
        assert_eq!(duration(0.25), "250 ns");
        let shown = [0.0, -3.0, 1.234_56, 12_345.6, 0.000_12, f64::NAN].map(number);
        assert_eq!(shown, ["0", "−3", "1.235", "12,346", "1.2e-4", "–"]);
        let severity = |kind| statistic(Measure::Severity, kind, 2_000.0);
        assert_eq!(
            [Statistic::Mean, Statistic::Count].map(severity),
            ["2 ms", "2,000"]
        );
    }
}
