//! The profile: all functions with their times and anomalies.

use callgrove_session::watch::{FuncOverview, Overview, Scope};
use egui::Ui;

use crate::context::{ViewContext, short_name};
use crate::text::{dash, duration, number};
use crate::widgets::table::{Cell, Column, Sort, Table, empty_ui, search_ui};
use crate::widgets::{count_of, view_header};

/// How the table is sorted and searched.
pub(crate) struct FunctionsState {
    sort: Sort,
    search: String,
    wants_focus: bool,
}

impl Default for FunctionsState {
    fn default() -> Self {
        Self {
            sort: Sort {
                column: SHARE,
                is_descending: true,
            },
            search: String::new(),
            wants_focus: false,
        }
    }
}

impl FunctionsState {
    pub(crate) fn begin_search(&mut self) {
        self.wants_focus = true;
    }
}

const fn number_column(name: &'static str, width: f32) -> Column {
    Column {
        name,
        width,
        is_number: true,
    }
}

/// Place of the share of anomalies among the columns.
const SHARE: usize = 2;

const COLUMNS: [Column; 14] = [
    Column {
        name: "Function",
        width: 0.0,
        is_number: false,
    },
    number_column("Anomalies", 90.0),
    number_column("Share", 80.0),
    number_column("Calls", 100.0),
    number_column("Anomalous", 90.0),
    number_column("Excl. total", 96.0),
    number_column("Excl. mean", 96.0),
    number_column("Excl. max", 96.0),
    number_column("Excl. σ", 90.0),
    number_column("Incl. total", 96.0),
    number_column("Incl. mean", 96.0),
    number_column("Severity max", 104.0),
    number_column("Severity total", 104.0),
    number_column("Score max", 90.0),
];

/// Draws the table; a click asks for the executions of a function.
pub(crate) fn functions_ui(ctx: &mut ViewContext<'_>, state: &mut FunctionsState, ui: &mut Ui) {
    let overview = ctx.snapshot.watch.overview();
    view_header(ui, "Profile of all functions", |ui| {
        search_ui(
            &mut state.search,
            &mut state.wants_focus,
            "Search functions",
            ui,
        );
        ui.weak(count_of(overview.funcs.len(), "function"));
    });
    let search = state.search.trim().to_lowercase();
    let mut rows: Vec<usize> = (0..overview.funcs.len())
        .filter(|&at| overview.funcs[at].name.to_lowercase().contains(&search))
        .collect();
    if rows.is_empty() {
        return empty_ui("No function has this in its name.", ui);
    }
    if state.sort.column == 0 {
        let name = |at: usize| short_name(&overview.funcs[at].name).to_lowercase();
        state.sort.by_text(&mut rows, name);
    } else {
        let column = state.sort.column;
        let key = |at: usize| value(overview, &overview.funcs[at], column);
        state.sort.by_number(&mut rows, key);
    }
    let focused = ctx.scope().func;
    let table = Table {
        salt: "functions",
        columns: &COLUMNS,
        num_rows: rows.len(),
        selected: rows
            .iter()
            .position(|&at| focused == Some((overview.funcs[at].app, overview.funcs[at].fid))),
    };
    let cells = |row: usize| {
        let func = &overview.funcs[rows[row]];
        let name = Cell::Marked(ctx.color_of(&func.name), short_name(&func.name).to_owned());
        let others = (1..COLUMNS.len()).map(|column| cell(overview, func, column));
        std::iter::once(name).chain(others).collect()
    };
    let clicked = table.ui(ctx.theme, &mut state.sort, ui, cells);
    if let Some(row) = clicked {
        let func = &overview.funcs[rows[row]];
        let focus = Scope {
            func: Some((func.app, func.fid)),
            ..Scope::default()
        };
        ctx.choose(focus, ui);
    }
}

/// What a column shows of a function, as a number.
fn value(overview: &Overview, func: &FuncOverview, column: usize) -> f64 {
    match column {
        1 => func.anomalies.accumulate,
        SHARE => overview.share_of_anomalies(func),
        3 => func.exclusive.count as f64,
        4 => func.anomalies.accumulate / (func.exclusive.count as f64).max(1.0),
        5 => func.exclusive.accumulate,
        6 => func.exclusive.mean,
        7 => func.exclusive.maximum,
        8 => func.exclusive.stddev,
        9 => func.inclusive.accumulate,
        10 => func.inclusive.mean,
        11 => func.metrics.severity.maximum,
        12 => func.metrics.severity.accumulate,
        _ => func.metrics.score.maximum,
    }
}

fn cell(overview: &Overview, func: &FuncOverview, column: usize) -> Cell {
    let value = value(overview, func, column);
    match column {
        SHARE => Cell::Bar(value as f32, format!("{:.1} %", value * 100.0)),
        4 => Cell::Text(format!("{:.2} %", value * 100.0)),
        11..=13 if func.metrics.count.count == 0 => Cell::Text(dash()),
        5..=12 => Cell::Text(duration(value)),
        _ => Cell::Text(number(value)),
    }
}
