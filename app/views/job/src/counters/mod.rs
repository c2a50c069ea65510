//! The Counters view: all counters with the statistics of their values.

use callgrove_actions::context::ViewContext;
use callgrove_model::count_of;
use callgrove_tables::CounterRow;
use callgrove_watch::{CounterStats, Statistic};
use callgrove_widgets::table::{Cell, Column, Sort, Table, empty_ui, search_ui};
use callgrove_widgets::text::number;
use callgrove_widgets::{header_fact, view_header};
use egui::Ui;

/// Sort order and search text of the table.
pub struct CountersState {
    sort: Sort,
    search: String,
    wants_focus: bool,
}

impl Default for CountersState {
    fn default() -> Self {
        Self {
            sort: Sort {
                column: 0,
                is_descending: false,
            },
            search: String::new(),
            wants_focus: false,
        }
    }
}

impl CountersState {
    /// Moves the keyboard focus to the search field in the next frame.
    pub fn begin_search(&mut self) {
        self.wants_focus = true;
    }

    /// Returns the indices of the listed counters in their order.
    fn listed(&self, counters: &[CounterStats]) -> Vec<usize> {
        let search = self.search.trim().to_lowercase();
        let mut rows: Vec<usize> = (0..counters.len())
            .filter(|&at| counters[at].counter.to_lowercase().contains(&search))
            .collect();
        let sort = self.sort;
        match sort.column {
            0 => sort.by_text(&mut rows, |at| counters[at].counter.as_str()),
            1 => sort.by_text(&mut rows, |at| counters[at].app),
            column => sort.by_number(&mut rows, |at| {
                STATISTICS[column - 2].of(&counters[at].stats)
            }),
        }
        rows
    }

    /// Returns the listed counters for a file.
    pub fn rows(&self, counters: &[CounterStats]) -> Vec<CounterRow> {
        let listed = self.listed(counters).into_iter();
        listed.map(|at| CounterRow::of(&counters[at])).collect()
    }
}

/// The statistics in the order of the columns after name and program.
const STATISTICS: [Statistic; 8] = [
    Statistic::Count,
    Statistic::Mean,
    Statistic::Minimum,
    Statistic::Maximum,
    Statistic::Stddev,
    Statistic::Total,
    Statistic::Skewness,
    Statistic::Kurtosis,
];

/// The columns of the table.
const COLUMNS: [Column; 10] = [
    Column::text("Counter", 0.0),
    Column::number("Program", 80.0),
    Column::number("Count", 100.0),
    Column::number("Mean", 110.0),
    Column::number("Minimum", 110.0),
    Column::number("Maximum", 110.0),
    Column::number("σ", 110.0),
    Column::number("Total", 130.0),
    Column::number("Skewness", 90.0),
    Column::number("Kurtosis", 90.0),
];

/// Draws the table.
pub fn counters_ui(ctx: &mut ViewContext<'_>, state: &mut CountersState, ui: &mut Ui) {
    let counters = &ctx.snapshot.watch.overview().counters;
    view_header(ui, "Counters over all ranks", |ui| {
        search_ui(
            &mut state.search,
            &mut state.wants_focus,
            "Search counters",
            ui,
        );
        header_fact(ui, count_of(counters.len(), "counter"));
    });
    if counters.is_empty() {
        let text = "No counters recorded. TAU records hardware counters (TAU_METRICS), and message sizes if it traces MPI.";
        return empty_ui(text, ui);
    }
    let rows = state.listed(counters);
    if rows.is_empty() {
        return empty_ui("No matching counters", ui);
    }
    let table = Table {
        salt: "counters",
        columns: &COLUMNS,
        num_rows: rows.len(),
        selected: None,
    };
    table.ui(ctx.theme, &mut state.sort, ui, |row| {
        let counter = &counters[rows[row]];
        let texts = [counter.counter.clone(), counter.app.to_string()];
        let values = STATISTICS.map(|statistic| number(statistic.of(&counter.stats)));
        texts.into_iter().chain(values).map(Cell::Text).collect()
    });
}
