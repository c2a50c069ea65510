//! The table of live trends, and of the costliest live incidents.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_watch::{Scope, TrendRecord, WatchCommand};
use callgrove_widgets::table::{Cell, Clicked, Column, Sort, Table, empty_ui};
use callgrove_widgets::text::{clock, duration};
use egui::Ui;

/// Index of the delay column.
const DELAY: usize = 3;

/// The columns of the table.
const COLUMNS: [Column; 4] = [
    Column::text("Began (UTC)", 130.0),
    Column::text("Description", 0.0),
    Column::number("Step", 70.0),
    Column::number("Delay", 110.0),
];

/// Sort order of the table.
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

/// Returns the time of a trend: throughout, or from a time on.
fn trend_time(trend: &TrendRecord) -> String {
    match (trend.kind.as_str(), trend.start) {
        (_, Some(start_us)) => clock(u64::try_from(start_us).unwrap_or(0)),
        ("growth", None) => "growing".to_owned(),
        (_, None) => "throughout".to_owned(),
    }
}

/// Draws the table. A click opens the record of the root of an incident, or queries the executions of a trend's
/// function on its first rank.
pub(super) fn incidents_ui(ctx: &mut ViewContext<'_>, state: &mut IncidentTableState, ui: &mut Ui) {
    let incidents = ctx.snapshot.watch.incidents().to_vec();
    let trends = ctx.snapshot.watch.trends();
    if incidents.is_empty() && trends.is_empty() {
        return empty_ui(
            "No incidents or trends recorded. They are detected some steps after they happen, if the job has a database.",
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
    let trend_us = trends.iter().map(|it| u64::try_from(it.cost).unwrap_or(0));
    let most_us = trend_us.max().unwrap_or(0).max(most_us);
    let table = Table {
        salt: "watched incidents",
        columns: &COLUMNS,
        num_rows: trends.len() + order.len(),
        selected: None,
    };
    let bar = |cost_us: f64| {
        let share = (cost_us / most_us.max(1) as f64) as f32;
        Cell::Bar(share, duration(cost_us))
    };
    let cells = |at: usize| {
        // Trends come before the incidents, in order of their cost.
        let Some(at) = at.checked_sub(trends.len()) else {
            let trend = &trends[at];
            let doubt = trend.doubt.as_ref().map(|doubt| format!(" ({doubt})"));
            return vec![
                Cell::Text(trend_time(trend)),
                Cell::Text(format!("{}{}", trend.words, doubt.unwrap_or_default())),
                Cell::Text(trend.io_step.to_string()),
                bar(trend.cost as f64),
            ];
        };
        let incident = &incidents[order[at]];
        let delay_us = incident.record.delay as f64;
        vec![
            Cell::Text(clock(incident.record.start)),
            Cell::Text(incident.sentence()),
            Cell::Text(incident.record.io_step.to_string()),
            bar(delay_us),
        ]
    };
    let Some(Clicked::Row(at)) = table.ui(ctx.theme, &mut state.sort, ui, cells) else {
        return;
    };
    let command = match at.checked_sub(trends.len()) {
        Some(at) => WatchCommand::OpenIncident(Arc::clone(&incidents[order[at]])),
        None => WatchCommand::QueryScope(Scope {
            rank: trends[at].ranks.first().map(|&rank| (trends[at].pid, rank)),
            func: Some((trends[at].pid, trends[at].fid)),
            ..Scope::default()
        }),
    };
    ctx.watch(command);
}
