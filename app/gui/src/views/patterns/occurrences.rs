//! The list of the selected pattern's anomalous occurrences.

use callgrove_model::ExecRef;
use callgrove_session::{Command, Occurrence, TimeRange};
use egui::Ui;

use super::chosen::Chosen;
use super::order::{Order, occurrence};
use super::state::{PatternsState, ShownPatterns};
use crate::app::Action;
use crate::canvas::time::relative_time;
use crate::context::ViewContext;
use crate::text::dash;
use crate::widgets::table::{Cell, Clicked, Column, Table, empty_ui};
use crate::widgets::thousands;

/// Times are told to the microsecond.
const PIXEL_NS: f64 = 1_000.0;

const COLUMNS: [Column; 5] = [
    Column::number("Rank", 48.0),
    Column::number("At", 86.0),
    Column::number("Iteration", 70.0),
    Column::number("Duration", 74.0),
    Column::number("× d", 48.0),
];

/// Draws those in view; a click selects the call and moves the timeline there.
pub(super) fn anomalous_ui(
    ctx: &mut ViewContext<'_>,
    patterns: &callgrove_session::RunPatterns,
    chosen: Chosen<'_>,
    state: &mut PatternsState,
    ui: &mut Ui,
) {
    let reference = ctx.snapshot.reference;
    state.order = Order::refresh(state.order.take(), chosen, reference, state.listed_sort);
    let by_duration = chosen.curve.anomalous(reference);
    if by_duration.is_empty() {
        return empty_ui("No occurrence took longer than s × d.", ui);
    }
    let mut sort = state.listed_sort;
    let Some(shown) = state.shown(patterns, ctx.snapshot) else {
        return;
    };
    let order = state.order.as_ref();
    let at = |row: usize| {
        let place = match order {
            Some(order) => order.place(row),
            None if sort.is_descending => by_duration.iter().rev().nth(row).copied(),
            None => by_duration.get(row).copied(),
        };
        place.and_then(|place| occurrence(chosen, place))
    };
    let table = Table {
        salt: "anomalous occurrences",
        columns: &COLUMNS,
        num_rows: by_duration.len(),
        selected: None,
    };
    let mut asked = sort;
    let clicked = ui
        .scope(|ui| {
            table.ui(ctx.theme, &mut asked, ui, |row| {
                at(row).map_or_else(Vec::new, |it| cells(&shown, chosen, it))
            })
        })
        .inner;
    let wish = match clicked {
        Some(Clicked::Row(row)) => at(row).copied(),
        _ => None,
    };
    sort = asked;
    state.listed_sort = sort;
    if let Some(occurrence) = wish {
        ctx.send(Command::SelectCall(Some(ExecRef {
            lane: occurrence.lane,
            exec: occurrence.first,
        })));
        ctx.actions.push(Action::ShowTime(TimeRange {
            from: occurrence.start,
            to: occurrence.end(),
        }));
    }
}

fn cells(shown: &ShownPatterns<'_>, chosen: Chosen<'_>, occurrence: &Occurrence) -> Vec<Cell> {
    let trace = shown.patterns.trace();
    let lane = shown.names.name(trace, occurrence.lane);
    let rank = lane.strip_prefix("rank ").unwrap_or(&lane).to_owned();
    let iteration = (shown.patterns).iteration_at(occurrence.lane, occurrence.start);
    let usual = chosen.curve.usual(shown.reference).as_secs_f64();
    let times = occurrence.duration.as_secs_f64() / usual.max(1e-6);
    vec![
        Cell::Text(rank),
        Cell::Text(relative_time(occurrence.start, shown.origin, PIXEL_NS)),
        Cell::Text(iteration.map_or_else(dash, thousands)),
        Cell::Text(occurrence.duration.to_string()),
        Cell::Text(crate::text::number((times * 10.0).round() / 10.0)),
    ]
}
