//! The list of the selected pattern's anomalous occurrences.

use std::cell::RefCell;

use callgrove_actions::Action;
use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::relative_time;
use callgrove_model::{ExecRef, thousands};
use callgrove_session::{InspectCommand, ListedOccurrence, TimeRange};
use callgrove_widgets::table::{Cell, Clicked, Column, Sort, Table, empty_ui};
use callgrove_widgets::text::dash;
use egui::Ui;

use super::occurrence_rows::OccurrenceRows;
use super::selected_pattern::SelectedPattern;
use super::state::Run;

/// Precision of times, in nanoseconds.
const PIXEL_NS: f64 = 1_000.0;

/// The columns of the table.
const COLUMNS: [Column; 5] = [
    Column::number("Rank", 48.0),
    Column::number("At", 86.0),
    Column::number("Iteration", 70.0),
    Column::number("Duration", 74.0),
    Column::number("× d", 48.0),
];

/// Draws the rows in view; a click selects the call and moves the timeline there.
pub(super) fn anomalous_ui(
    ctx: &mut ViewContext<'_>,
    (run, chosen): (&Run, SelectedPattern<'_>),
    (rows, sort): (&mut OccurrenceRows, &mut Sort),
    ui: &mut Ui,
) {
    let [_, _, num_rows] = chosen.judged.counts;
    if num_rows == 0 {
        return empty_ui("No occurrence is longer than s × d.", ui);
    }
    let wanted = (chosen.pattern.id, chosen.reference, *sort);
    let rows = RefCell::new(rows);
    let at = |row: usize| rows.borrow_mut().at(&run.calls, wanted, row);
    let table = Table {
        salt: "anomalous occurrences",
        columns: &COLUMNS,
        num_rows,
        selected: None,
    };
    let clicked = ui
        .scope(|ui| {
            table.ui(ctx.theme, sort, ui, |row| {
                at(row).map_or_else(Vec::new, |it| cells(run, chosen, it))
            })
        })
        .inner;
    let picked = match clicked {
        Some(Clicked::Row(row)) => at(row).map(|it| it.occurrence),
        _ => None,
    };
    if let Some(occurrence) = picked {
        ctx.send(InspectCommand::Call(Some(ExecRef {
            lane: occurrence.lane,
            exec: occurrence.first,
        })));
        ctx.actions.push(Action::ShowTime(TimeRange {
            from: occurrence.start,
            to: occurrence.end(),
        }));
    }
}

fn cells(run: &Run, chosen: SelectedPattern<'_>, listed: ListedOccurrence) -> Vec<Cell> {
    let occurrence = listed.occurrence;
    let lane = run.names.name(run.calls.trace(), occurrence.lane);
    let rank = lane.strip_prefix("rank ").unwrap_or(&lane).to_owned();
    let usual = chosen.judged.usual.as_secs_f64();
    let times = occurrence.duration.as_secs_f64() / usual.max(1e-6);
    vec![
        Cell::Text(rank),
        Cell::Text(relative_time(occurrence.start, run.origin, PIXEL_NS)),
        Cell::Text(listed.iteration.map_or_else(dash, thousands)),
        Cell::Text(occurrence.duration.to_string()),
        Cell::Text(callgrove_widgets::text::number(
            (times * 10.0).round() / 10.0,
        )),
    ]
}
