//! A change as the cells of a table row.

use callgrove_model::DurationNs;
use callgrove_session::ChangeRow;
use callgrove_widgets::table::Cell;

/// Returns the cells of a change.
pub(super) fn cells(row: &ChangeRow) -> Vec<Cell> {
    [
        cost_text(row.cost_us),
        change_text(row),
        row.kind.to_owned(),
        subject_text(row),
        ratio_text(row),
        certainty_text(row),
    ]
    .into_iter()
    .map(Cell::Text)
    .collect()
}

/// Returns the change as a sentence.
pub(super) fn sentence(row: &ChangeRow) -> String {
    let mut letters = row.words.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    format!("{}{}.", first.collect::<String>(), letters.as_str())
}

/// Returns the time that AFTER takes longer, with its sign.
fn cost_text(cost_us: i64) -> String {
    let sign = match cost_us {
        ..0 => "−",
        0 => "",
        1.. => "+",
    };
    format!("{sign}{}", DurationNs::from_us(cost_us.saturating_abs()))
}

/// Returns a sign and a word for the direction of the change.
fn change_text(row: &ChangeRow) -> String {
    let is_more = row.after > row.before;
    let text = match (row.aspect, is_more) {
        ("new", _) => "+ new",
        ("vanished", _) => "− vanished",
        ("duration", true) => "▲ longer",
        ("duration", false) => "▼ shorter",
        ("waiting", true) => "▲ waits more",
        ("waiting", false) => "▼ waits less",
        (_, true) => "▲ more often",
        (_, false) => "▼ less often",
    };
    text.to_owned()
}

/// Returns the function with its caller, or the kind of incident.
fn subject_text(row: &ChangeRow) -> String {
    match (row.kind, &row.path[..]) {
        ("iterations", _) => "all iterations".to_owned(),
        ("incidents", _) if row.function == "any" => "all incidents".to_owned(),
        (_, [.., caller, _]) => format!("{} under {caller}", row.function),
        _ => row.function.clone(),
    }
}

/// Returns the corrected p-value, with a question mark if the change may be chance.
fn certainty_text(row: &ChangeRow) -> String {
    let doubt = if row.sure { "" } else { "? " };
    format!("{doubt}{:.1e}", row.corrected_p)
}

fn ratio_text(row: &ChangeRow) -> String {
    let Some(ratio) = row.ratio else {
        return String::new();
    };
    match (row.ratio_low, row.ratio_high) {
        (Some(low), Some(high)) => format!("{} ({}–{})", figure(ratio), figure(low), figure(high)),
        _ => figure(ratio),
    }
}

/// Formats a ratio with as many digits as show its difference from 1.
fn figure(ratio: f64) -> String {
    if (0.9..1.1).contains(&ratio) {
        format!("{ratio:.3}")
    } else if ratio >= 100.0 {
        format!("{ratio:.0}")
    } else {
        format!("{ratio:.2}")
    }
}
