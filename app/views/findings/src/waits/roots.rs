//! The list of roots, where delays began; the one that caused most delay first.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::relative_time;
use callgrove_model::{FunctionName, TimeNs, thousands};
use callgrove_session::{InspectCommand, RootCause, RunCauses};
use callgrove_widgets::delay::{commands_to_show_incident, kind_text};
use callgrove_widgets::table::{Cell, Clicked, Column, Table, empty_ui};
use egui::Ui;

use super::WaitsState;

/// Precision of times, in nanoseconds.
const PIXEL_NS: f64 = 1_000.0;

/// The columns of the list.
const COLUMNS: [Column; 7] = [
    Column::number("Rank", 48.0),
    Column::text("Function", 0.0),
    Column::number("Caused", 72.0),
    Column::number("Delayed", 66.0),
    Column::text("Cause", 118.0),
    Column::number("At", 90.0),
    Column::number("Own delay", 80.0),
];

/// Returns the incident of a root: the one that it began, else the one of its call.
fn incident_of(causes: &RunCauses, root: usize) -> Option<usize> {
    let mut incidents = causes.incidents().iter();
    let began = incidents.position(|incident| incident.root == causes.roots()[root]);
    began.or_else(|| causes.incident_of(root))
}

/// Draws the list; a click selects the root's incident and its call.
pub(super) fn roots_ui(
    ctx: &mut ViewContext<'_>,
    causes: &RunCauses,
    state: &mut WaitsState,
    ui: &mut Ui,
) {
    let roots = causes.roots();
    let rows = state.roots();
    if rows.is_empty() {
        let text = if roots.is_empty() {
            "No delays were unusual for this run."
        } else {
            "No delays began in the selected time range."
        };
        return empty_ui(text, ui);
    }
    let most = roots.iter().map(|root| root.caused).max();
    let most = most.unwrap_or_default().as_secs_f64().max(1e-9);
    let selected = ctx.snapshot.inspected.call;
    let table = Table {
        salt: "roots of delays",
        columns: &COLUMNS,
        num_rows: rows.len(),
        selected: rows.iter().position(|&at| Some(roots[at].call) == selected),
    };
    let mut sort = state.sort;
    let origin = state.origin();
    let clicked = ui
        .scope(|ui| {
            table.ui(ctx.theme, &mut sort, ui, |row| {
                cells(ctx, causes, &roots[rows[row]], origin, most)
            })
        })
        .inner;
    let picked = match clicked {
        Some(Clicked::Row(row)) => Some(rows[row]),
        _ => None,
    };
    state.sort = sort;
    if let Some(root) = picked {
        if let Some(incident) = incident_of(causes, root) {
            for command in commands_to_show_incident(ctx.snapshot, incident) {
                ctx.send(command);
            }
        }
        ctx.send(InspectCommand::Call(Some(roots[root].call)));
    }
}

fn cells(
    ctx: &ViewContext<'_>,
    causes: &RunCauses,
    root: &RootCause,
    origin: TimeNs,
    most: f64,
) -> Vec<Cell> {
    let name = FunctionName::parse(causes.trace().names.name(root.func)).short;
    let victims = usize::try_from(root.num_victims).unwrap_or(usize::MAX);
    let share = root.caused.as_secs_f64() / most;
    vec![
        Cell::Text(root.rank.to_string()),
        Cell::Marked(ctx.theme.function(root.func), name.to_owned()),
        Cell::Bar(share as f32, root.caused.to_string()),
        Cell::Text(thousands(victims)),
        Cell::Marked(ctx.theme.cause(root.kind), kind_text(root.kind).to_owned()),
        Cell::Text(relative_time(root.start, origin, PIXEL_NS)),
        Cell::Text(root.own_delay.to_string()),
    ]
}
