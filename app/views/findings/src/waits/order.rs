//! The listed roots and their order.

use callgrove_model::FunctionName;
use callgrove_session::{RootCause, RunCauses, TimeRange};
use callgrove_widgets::table::Sort;

/// The initial order.
pub(super) const BY_CAUSED: Sort = Sort {
    column: 2,
    is_descending: true,
};

/// Returns the roots within a time range, as indices into [`RunCauses::roots`], in order.
pub(super) fn in_order(causes: &RunCauses, range: Option<TimeRange>, sort: Sort) -> Vec<usize> {
    let all = causes.roots();
    let is_inside = |root: &RootCause| {
        range.is_none_or(|range| root.start <= range.to && root.end >= range.from)
    };
    let mut rows: Vec<usize> = (0..all.len()).filter(|&at| is_inside(&all[at])).collect();
    let name = |at: usize| FunctionName::parse(causes.trace().names.name(all[at].func)).short;
    match sort.column {
        0 => sort.by_text(&mut rows, |at| all[at].rank),
        1 => sort.by_text(&mut rows, name),
        2 => sort.by_text(&mut rows, |at| all[at].caused),
        3 => sort.by_text(&mut rows, |at| all[at].num_victims),
        4 => sort.by_text(&mut rows, |at| all[at].kind),
        5 => sort.by_text(&mut rows, |at| all[at].start),
        _ => sort.by_text(&mut rows, |at| all[at].own_delay),
    }
    rows
}
