//! The incidents of the watched run that cost most, as a table in words.

use std::sync::Arc;

use callgrove_session::watch::WatchCommand;
use egui::Ui;

use crate::context::ViewContext;
use crate::text::{clock, duration};
use crate::widgets::table::{Cell, Clicked, Column, Sort, Table, empty_ui};

/// Place of the delay among the columns.
const DELAY: usize = 3;

const COLUMNS: [Column; 4] = [
    Column::text("Began (UTC)", 130.0),
    Column::text("What", 0.0),
    Column::number("Step", 70.0),
    Column::number("Delay", 110.0),
];

/// How the table is sorted.
pub(super) struct IncidentTableState {
    sort: Sort,
}

impl Default for IncidentTableState {
    fn default() -> Self {
        Self {
            sort: Sort {
                column: DELAY,
                is_descending: true,
            },
        }
    }
}

/// Draws the table; a click opens the record of the root.
pub(super) fn incidents_ui(ctx: &mut ViewContext<'_>, state: &mut IncidentTableState, ui: &mut Ui) {
    let incidents = ctx.snapshot.watch.incidents().to_vec();
    if incidents.is_empty() {
        return empty_ui(
            "No incident is recorded. They are found where a database is given, some steps after they happened.",
            ui,
        );
    }
    let mut order: Vec<usize> = (0..incidents.len()).collect();
    match state.sort.column {
        0 => state
            .sort
            .by_text(&mut order, |at| incidents[at].record.start),
        1 => state
            .sort
            .by_text(&mut order, |at| incidents[at].record.rid),
        2 => state
            .sort
            .by_text(&mut order, |at| incidents[at].record.io_step),
        _ => state
            .sort
            .by_text(&mut order, |at| incidents[at].record.delay),
    }
    let most_us = incidents
        .iter()
        .map(|it| it.record.delay)
        .max()
        .unwrap_or(0);
    let table = Table {
        salt: "watched incidents",
        columns: &COLUMNS,
        num_rows: order.len(),
        selected: None,
    };
    let cells = |at: usize| {
        let incident = &incidents[order[at]];
        let delay_us = incident.record.delay as f64;
        vec![
            Cell::Text(clock(incident.record.start)),
            Cell::Text(incident.in_words(duration)),
            Cell::Text(incident.record.io_step.to_string()),
            Cell::Bar(
                (delay_us / most_us.max(1) as f64) as f32,
                duration(delay_us),
            ),
        ]
    };
    if let Some(Clicked::Row(at)) = table.ui(ctx.theme, &mut state.sort, ui, cells) {
        let incident = Arc::clone(&incidents[order[at]]);
        ctx.watch(WatchCommand::OpenIncident(incident));
    }
}
