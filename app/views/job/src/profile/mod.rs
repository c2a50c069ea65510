//! The Profile view: all functions with their times and anomalies.

use callgrove_actions::context::ViewContext;
use callgrove_model::count_of;
use callgrove_session::Command;
use callgrove_tables::FunctionRow;
use callgrove_watch::{FuncOverview, Overview, Scope};
use callgrove_widgets::table::{Cell, Clicked, Column, Sort, Table, empty_ui, search_ui};
use callgrove_widgets::text::{dash, duration, number, short_name};
use callgrove_widgets::{header_fact, view_header};
use egui::Ui;

/// Sort order and search text of the table.
pub struct FunctionsState {
    sort: Sort,
    search: String,
    wants_focus: bool,
}

impl Default for FunctionsState {
    fn default() -> Self {
        Self {
            sort: Sort {
                column: FIRST_FIGURE,
                is_descending: true,
            },
            search: String::new(),
            wants_focus: false,
        }
    }
}

impl FunctionsState {
    /// Moves the keyboard focus to the search field in the next frame.
    pub fn begin_search(&mut self) {
        self.wants_focus = true;
    }

    /// Returns the listed functions in their order, as indices into [`Overview::funcs`].
    fn listed(&self, overview: &Overview) -> Vec<usize> {
        let search = self.search.trim().to_lowercase();
        let mut rows: Vec<usize> = (0..overview.funcs.len())
            .filter(|&at| overview.funcs[at].name.to_lowercase().contains(&search))
            .collect();
        let figure = self.sort.column.checked_sub(FIRST_FIGURE);
        if let Some(figure) = figure.map(|at| &FIGURES[at]) {
            let value = |at: usize| (figure.value)(overview, &overview.funcs[at]);
            self.sort.by_number(&mut rows, value);
        } else {
            let name = |at: usize| short_name(&overview.funcs[at].name).to_lowercase();
            self.sort.by_text(&mut rows, name);
        }
        rows
    }

    /// Returns the listed functions for a file.
    pub fn rows(&self, overview: &Overview) -> Vec<FunctionRow> {
        let listed = self.listed(overview).into_iter();
        let funcs = listed.map(|at| &overview.funcs[at]);
        funcs
            .map(|func| FunctionRow::of(func, overview.share_of_anomalies(func)))
            .collect()
    }
}

/// The format of a figure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FigureFormat {
    Number,
    Time,
    /// A time of anomalies, of which there may be none.
    TimeOfAnomalies,
    /// A percentage.
    Share,
    /// A percentage as the length of a bar.
    Bar,
}

/// A column of numbers.
struct Figure {
    name: &'static str,
    width: f32,
    format: FigureFormat,
    value: fn(&Overview, &FuncOverview) -> f64,
}

const fn figure(
    name: &'static str,
    width: f32,
    format: FigureFormat,
    value: fn(&Overview, &FuncOverview) -> f64,
) -> Figure {
    Figure {
        name,
        width,
        format,
        value,
    }
}

/// The figures of a function, the most important first.
#[rustfmt::skip]
const FIGURES: [Figure; 13] = [
    figure("Severity total", 104.0, FigureFormat::TimeOfAnomalies, |_, func| func.metrics.severity.accumulate),
    figure("Severity max", 104.0, FigureFormat::TimeOfAnomalies, |_, func| func.metrics.severity.maximum),
    figure("Anomalies", 90.0, FigureFormat::Number, |_, func| func.anomalies.accumulate),
    figure("Share", 80.0, FigureFormat::Bar, Overview::share_of_anomalies),
    figure("Calls", 100.0, FigureFormat::Number, |_, func| func.exclusive.count as f64),
    figure("Anomalous", 90.0, FigureFormat::Share, |_, func| func.anomalies.accumulate / (func.exclusive.count as f64).max(1.0)),
    figure("Excl. total", 96.0, FigureFormat::Time, |_, func| func.exclusive.accumulate),
    figure("Excl. mean", 96.0, FigureFormat::Time, |_, func| func.exclusive.mean),
    figure("Excl. max", 96.0, FigureFormat::Time, |_, func| func.exclusive.maximum),
    figure("Excl. σ", 90.0, FigureFormat::Time, |_, func| func.exclusive.stddev),
    figure("Incl. total", 96.0, FigureFormat::Time, |_, func| func.inclusive.accumulate),
    figure("Incl. mean", 96.0, FigureFormat::Time, |_, func| func.inclusive.mean),
    figure("Score max", 90.0, FigureFormat::Number, |_, func| func.metrics.score.maximum),
];

/// Index of the first figure, after the columns of the name and of the link to the trees.
const FIRST_FIGURE: usize = 2;

fn columns() -> Vec<Column> {
    let first = [Column::text("Function", 210.0), Column::text("Trees", 64.0)];
    let figures = FIGURES
        .iter()
        .map(|figure| Column::number(figure.name, figure.width));
    first.into_iter().chain(figures).collect()
}

/// Draws the table; a click queries the records of a function, its link compares the trees of its executions.
pub fn functions_ui(ctx: &mut ViewContext<'_>, state: &mut FunctionsState, ui: &mut Ui) {
    let overview = ctx.snapshot.watch.overview();
    view_header(ui, "Profile of all functions", |ui| {
        search_ui(
            &mut state.search,
            &mut state.wants_focus,
            "Search functions",
            ui,
        );
        header_fact(ui, count_of(overview.funcs.len(), "function"));
    });
    let rows = state.listed(overview);
    if rows.is_empty() {
        return empty_ui("No matching functions", ui);
    }
    let focused = ctx.scope().func;
    let table = Table {
        salt: "functions",
        columns: &columns(),
        num_rows: rows.len(),
        selected: rows
            .iter()
            .position(|&at| focused == Some((overview.funcs[at].app, overview.funcs[at].fid))),
    };
    let has_trace = ctx.snapshot.trace().is_some();
    let cells = |row: usize| {
        let func = &overview.funcs[rows[row]];
        let name = short_name(&func.name);
        let link = if has_trace {
            Cell::Link("Compare", format!("Compare executions of {name}"))
        } else {
            Cell::Text(String::new())
        };
        let first = [
            Cell::Marked(ctx.color_of(&func.name), name.to_owned()),
            link,
        ];
        let figures = FIGURES.iter().map(|figure| cell(overview, func, figure));
        first.into_iter().chain(figures).collect()
    };
    match table.ui(ctx.theme, &mut state.sort, ui, cells) {
        Some(Clicked::Row(row)) => {
            let func = &overview.funcs[rows[row]];
            let focus = Scope {
                func: Some((func.app, func.fid)),
                ..Scope::default()
            };
            ctx.choose(focus, ui);
        }
        Some(Clicked::Link(row)) => {
            let function = overview.funcs[rows[row]].name.clone();
            ctx.send(Command::SetRoot { function });
        }
        None => {}
    }
}

fn cell(overview: &Overview, func: &FuncOverview, figure: &Figure) -> Cell {
    let value = (figure.value)(overview, func);
    match figure.format {
        FigureFormat::TimeOfAnomalies if func.metrics.count.count == 0 => Cell::Text(dash()),
        FigureFormat::Time | FigureFormat::TimeOfAnomalies => Cell::Text(duration(value)),
        FigureFormat::Bar => Cell::Bar(value as f32, format!("{:.1} %", value * 100.0)),
        FigureFormat::Share => Cell::Text(format!("{:.2} %", value * 100.0)),
        FigureFormat::Number => Cell::Text(number(value)),
    }
}
