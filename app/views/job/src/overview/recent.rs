//! The table of the newest anomalies by rank and function, or of the incidents.
//!
//! Chimbuko draws the same six numbers (program, rank, function, severity, score, count) as a radar chart. Its axes
//! have no common unit and their order determines the shape, so shapes cannot be compared; a table with small bars can
//! be sorted by any of them, and names its values.

use callgrove_actions::context::ViewContext;
use callgrove_model::thousands;
use callgrove_watch::{MetricsData, Scope, Watch};
use callgrove_widgets::table::{Cell, Clicked, Column, Sort, Table, empty_ui};
use callgrove_widgets::text::{clock, duration, number, short_name};
use callgrove_widgets::view_header;
use egui::Ui;

use super::incidents::{IncidentTableState, incidents_ui};

/// Sort order and scope of the table.
pub(crate) struct RecentState {
    sort: Sort,
    /// The scope that the user chose; `None` picks one that has data.
    is_whole_run: Option<bool>,
    /// True if incidents are listed instead.
    lists_incidents: bool,
    incidents: IncidentTableState,
}

impl Default for RecentState {
    fn default() -> Self {
        Self {
            sort: Sort {
                column: SEVERITY,
                is_descending: true,
            },
            is_whole_run: None,
            lists_incidents: false,
            incidents: IncidentTableState::default(),
        }
    }
}

/// Index of the column of the total severity.
const SEVERITY: usize = 6;

/// The columns of the table.
const COLUMNS: [Column; 8] = [
    Column::text("Received (UTC)", 110.0),
    Column::text("Rank", 90.0),
    Column::text("Function", 0.0),
    Column::text("Steps", 110.0),
    Column::number("Count", 90.0),
    Column::number("Severity max", 110.0),
    Column::number("Severity total", 110.0),
    Column::number("Score max", 100.0),
];

/// One row.
struct Row<'a> {
    key: (u32, u32, u32),
    created_at_ms: u64,
    metrics: &'a MetricsData,
}

/// Draws the table; a click queries the executions of the function on the rank.
pub(crate) fn recent_ui(ctx: &mut ViewContext<'_>, state: &mut RecentState, ui: &mut Ui) {
    let watch = &ctx.snapshot.watch;
    let omitted = watch
        .shown_ranks()
        .map_or(0, |ranks| u64::from(ranks.num_omitted_metrics));
    let is_whole_run = header_ui(state, watch.updates().recent.is_empty(), omitted, ui);
    if state.lists_incidents {
        return incidents_ui(ctx, &mut state.incidents, ui);
    }
    let rows = rows(watch, is_whole_run);
    if rows.is_empty() {
        return empty_ui("No anomalies since this window connected", ui);
    }
    let mut order: Vec<usize> = (0..rows.len()).collect();
    sort(ctx, state.sort, &rows, &mut order);
    let largest = |value: &dyn Fn(&MetricsData) -> f64| {
        rows.iter()
            .map(|row| value(row.metrics))
            .fold(1e-9, f64::max)
    };
    let most = largest(&|metrics| metrics.count.accumulate);
    let severest = largest(&|metrics| metrics.severity.maximum);
    let severest_total = largest(&|metrics| metrics.severity.accumulate);
    let highest = largest(&|metrics| metrics.score.maximum);
    let table = Table {
        salt: "newest",
        columns: &COLUMNS,
        num_rows: order.len(),
        selected: None,
    };
    let cells = |at: usize| {
        let row = &rows[order[at]];
        let (app, rank, fid) = row.key;
        let metrics = row.metrics;
        let name = watch
            .overview()
            .func(app, fid)
            .map_or("", |func| &func.name);
        let bar =
            |value: f64, largest: f64, text: String| Cell::Bar((value / largest) as f32, text);
        let severity = &metrics.severity;
        vec![
            Cell::Text(clock(row.created_at_ms * 1_000)[..8].to_owned()),
            Cell::Text(ctx.rank_name(app, rank)),
            Cell::Marked(ctx.color_of(name), short_name(name).to_owned()),
            Cell::Text(format!(
                "{} to {}",
                metrics.first_io_step, metrics.last_io_step
            )),
            bar(
                metrics.count.accumulate,
                most,
                number(metrics.count.accumulate.round()),
            ),
            bar(severity.maximum, severest, duration(severity.maximum)),
            bar(
                severity.accumulate,
                severest_total,
                duration(severity.accumulate),
            ),
            bar(
                metrics.score.maximum,
                highest,
                number(metrics.score.maximum),
            ),
        ]
    };
    if let Some(Clicked::Row(at)) = table.ui(ctx.theme, &mut state.sort, ui, cells) {
        let row = &rows[order[at]];
        let (app, rank, fid) = row.key;
        let focus = Scope {
            rank: Some((app, rank)),
            func: Some((app, fid)),
            steps: Some((row.metrics.first_io_step, row.metrics.last_io_step)),
        };
        ctx.choose(focus, ui);
    }
}

/// Draws the heading with the choice of scope. Returns whether the scope is the whole run.
fn header_ui(state: &mut RecentState, nothing_new: bool, num_omitted: u64, ui: &mut Ui) -> bool {
    let mut is_whole_run = state.is_whole_run.unwrap_or(nothing_new);
    let mut title = if state.lists_incidents {
        "Incidents".to_owned()
    } else {
        "Anomalies by rank and function".to_owned()
    };
    if is_whole_run && !state.lists_incidents && num_omitted > 0 {
        title += &format!(", without {} with fewer", thousands(num_omitted));
    }
    view_header(ui, &title, |ui| {
        let shown = (!state.lists_incidents).then_some(is_whole_run);
        let whole = ui.selectable_label(shown == Some(true), "Whole run");
        let newest = ui.selectable_label(shown == Some(false), "Newest");
        let incidents = ui.selectable_label(state.lists_incidents, "Incidents");
        if whole.clicked() || newest.clicked() {
            is_whole_run = whole.clicked();
            state.is_whole_run = Some(is_whole_run);
            state.lists_incidents = false;
        }
        state.lists_incidents |= incidents.clicked();
        incidents.on_hover_text(
            "When several ranks stalled together, and which of them delayed the others",
        );
        whole.on_hover_text("All anomalies since the start of the run");
        newest.on_hover_text(
            "The newest anomalies of each rank and function, since this window connected",
        );
    });
    is_whole_run
}

/// Returns the rows of the whole run, or the newest of each rank and function.
fn rows(watch: &Watch, is_whole_run: bool) -> Vec<Row<'_>> {
    if !is_whole_run {
        let recent = watch.updates().recent.iter();
        let row = recent.map(|(key, recent)| Row {
            key: *key,
            created_at_ms: recent.created_at_ms,
            metrics: &recent.metrics,
        });
        return row.collect();
    }
    let known = watch.shown_ranks().map(|ranks| &ranks.metrics);
    let row = known.into_iter().flatten().map(|known| Row {
        key: (known.app, known.rank, known.fid),
        created_at_ms: known.metrics.max_timestamp_us / 1_000,
        metrics: &known.metrics,
    });
    row.collect()
}

fn sort(ctx: &ViewContext<'_>, sort: Sort, rows: &[Row<'_>], order: &mut [usize]) {
    let name = |at: usize| {
        let (app, _, fid) = rows[at].key;
        ctx.func_name(app, fid).to_lowercase()
    };
    let number = |at: usize| {
        let metrics = rows[at].metrics;
        match sort.column {
            3 => metrics.first_io_step as f64,
            4 => metrics.count.accumulate,
            5 => metrics.severity.maximum,
            SEVERITY => metrics.severity.accumulate,
            _ => metrics.score.maximum,
        }
    };
    match sort.column {
        0 => sort.by_text(order, |at| rows[at].created_at_ms),
        1 => sort.by_text(order, |at| (rows[at].key.0, rows[at].key.1)),
        2 => sort.by_text(order, name),
        _ => sort.by_number(order, number),
    }
}
