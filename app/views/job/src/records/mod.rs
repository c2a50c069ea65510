//! The Records view: the query, and its answer as a scatter plot and as a table.

mod form;
mod scatter;

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_model::thousands;
use callgrove_session::Snapshot;
use callgrove_tables::RecordedRow;
use callgrove_watch::{ExecutionDocument, ExecutionField, QueryState, Results, WatchCommand};
use callgrove_widgets::table::{Cell, Clicked, Column, Sort, Table, empty_ui};
use callgrove_widgets::text::{dash, duration_or_dash, number_or_dash, short_name, utc};
use callgrove_widgets::{header_fact, in_picture, view_header};
use egui::{CentralPanel, Frame, Margin, Panel, RichText, Ui, Vec2};

use form::FormState;
use scatter::RecordScatterState;

/// States of the parts.
pub struct ExecutionsState {
    form: FormState,
    scatter: RecordScatterState,
    sort: Sort,
    /// True if the query form covers the answer, if both do not fit.
    is_asking: bool,
    /// True if the plot covers the table, if both do not fit.
    shows_plot: bool,
}

/// Width below which query and answer are not shown side by side, in points.
const MIN_WIDTH_FOR_BOTH: f32 = 680.0;
/// Size below which only the plot or the table is shown, in points.
const MIN_SIZE_FOR_BOTH: Vec2 = Vec2::new(360.0, 300.0);

impl Default for ExecutionsState {
    fn default() -> Self {
        Self {
            form: FormState::default(),
            scatter: RecordScatterState::default(),
            sort: Sort {
                column: 2,
                is_descending: true,
            },
            is_asking: false,
            shows_plot: false,
        }
    }
}

/// The columns of the table.
const COLUMNS: [Column; 11] = [
    Column::text("Execution", 92.0),
    Column::text("Function", 0.0),
    Column::number("Severity", 86.0),
    Column::text("Label", 84.0),
    Column::number("Score", 80.0),
    Column::number("Rank", 70.0),
    Column::number("Step", 70.0),
    Column::number("Exclusive", 96.0),
    Column::number("Inclusive", 96.0),
    Column::text("Entry (UTC)", 200.0),
    Column::text("Host", 110.0),
];

impl ExecutionsState {
    /// Moves the keyboard focus to the form of the query in the next frame.
    pub fn begin_search(&mut self) {
        self.form.begin();
        self.is_asking = true;
    }

    /// Fits the scatter plot to its records.
    pub fn fit(&mut self) {
        self.scatter.fit();
    }

    /// Returns the records in the order of the table, for a file.
    pub fn rows(&self, snapshot: &Snapshot, results: &Results) -> Vec<RecordedRow> {
        let order = self.order(snapshot, results).into_iter();
        let records = order.map(|at| &results.documents[at]);
        records
            .map(|record| RecordedRow::of(record, snapshot.record_label(record)))
            .collect()
    }

    /// Returns the documents in the order of the table.
    pub fn order(&self, snapshot: &Snapshot, results: &Results) -> Vec<usize> {
        let documents = &results.documents;
        let mut order: Vec<usize> = (0..documents.len()).collect();
        let field = match self.sort.column {
            2 => ExecutionField::Severity,
            4 => ExecutionField::Score,
            5 => ExecutionField::Rank,
            6 => ExecutionField::Step,
            7 => ExecutionField::RuntimeExclusive,
            8 => ExecutionField::RuntimeTotal,
            _ => ExecutionField::Entry,
        };
        let sort = self.sort;
        match sort.column {
            0 => sort.by_text(&mut order, |at| documents[at].event_id.as_str()),
            3 => sort.by_text(&mut order, |at| snapshot.record_label(&documents[at])),
            1 => sort.by_text(&mut order, |at| short_name(&documents[at].func)),
            10 => sort.by_text(&mut order, |at| documents[at].hostname.as_deref()),
            _ => sort.by_number(&mut order, |at| {
                field.value(&documents[at]).unwrap_or(f64::NEG_INFINITY)
            }),
        }
        order
    }
}

/// Draws the view.
pub fn executions_ui(ctx: &mut ViewContext<'_>, state: &mut ExecutionsState, ui: &mut Ui) {
    let frame = Frame::new().inner_margin(Margin {
        right: 8,
        ..Margin::ZERO
    });
    let is_narrow = ui.available_width() < MIN_WIDTH_FOR_BOTH;
    state.is_asking &= state.form.is_at(&ctx.snapshot.watch.visit().form);
    if in_picture(ui) {
        if let Some(results) = ctx.snapshot.watch.visit().results.clone() {
            results_ui(ctx, state, &results, ui);
        }
        return;
    }
    if is_narrow {
        if state.is_asking || ctx.snapshot.watch.visit().results.is_none() {
            state.is_asking &= !form::form_ui(ctx, &mut state.form, ui);
            return;
        }
    } else {
        Panel::left("question")
            .default_size(280.0)
            .size_range(200.0..=420.0)
            .frame(frame)
            .show(ui, |ui| form::form_ui(ctx, &mut state.form, ui));
        state.is_asking = false;
    }
    CentralPanel::no_frame().show(ui, |ui| {
        let Some(results) = ctx.snapshot.watch.visit().results.clone() else {
            state_ui(ctx, None, None, ui);
            return empty_ui(
                "Enter a query on the left, or click a rank, a function or a cell of the heat map.",
                ui,
            );
        };
        if is_narrow && ui.button("Edit query…").clicked() {
            state.is_asking = true;
        }
        results_ui(ctx, state, &results, ui);
    });
}

fn results_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut ExecutionsState,
    results: &Arc<Results>,
    ui: &mut Ui,
) {
    let available = ui.available_size();
    let fits_both = available.x >= MIN_SIZE_FOR_BOTH.x && available.y >= MIN_SIZE_FOR_BOTH.y;
    let turns = (!fits_both).then_some(&mut state.shows_plot);
    state_ui(ctx, Some(results), turns, ui);
    if results.documents.is_empty() {
        if results.is_complete {
            let known = results.incident.as_ref().map(|incident| {
                let incident = incident.sentence();
                format!(
                    "No executions were recorded for this incident because none was anomalous: {incident}. A trace of the run contains all of them."
                )
            });
            let no_matches =
                "No execution matches all conditions. Remove one, or query the other collection.";
            empty_ui(known.as_deref().unwrap_or(no_matches), ui);
        }
        return;
    }
    if !fits_both && state.shows_plot {
        return scatter::scatter_ui(ctx, &mut state.scatter, results, ui);
    }
    if !fits_both {
        return table_ui(ctx, state, results, ui);
    }
    let half = ui.available_height() * 0.5;
    let frame = Frame::new().inner_margin(Margin {
        bottom: 8,
        ..Margin::ZERO
    });
    Panel::top("scatter")
        .resizable(true)
        .default_size(half)
        .min_size(120.0)
        .frame(frame)
        .show(ui, |ui| {
            scatter::scatter_ui(ctx, &mut state.scatter, results, ui);
        });
    CentralPanel::no_frame().show(ui, |ui| table_ui(ctx, state, results, ui));
}

/// Draws the number of executions, the state of the query, the button for more, and the switch between plot and table.
fn state_ui(
    ctx: &mut ViewContext<'_>,
    results: Option<&Arc<Results>>,
    shows_plot: Option<&mut bool>,
    ui: &mut Ui,
) {
    view_header(ui, "Executions", |ui| {
        if let Some(shows_plot) = shows_plot {
            ui.toggle_value(shows_plot, "Plot")
                .on_hover_text("Switch between plot and table");
        }
        let is_asking = matches!(ctx.snapshot.watch.query(), QueryState::Asked(_));
        let can_more =
            results.is_some_and(|results| !results.is_complete && !results.documents.is_empty());
        if can_more
            && ui
                .add_enabled(!is_asking, egui::Button::new("More"))
                .on_hover_text("Fetch the next page")
                .clicked()
        {
            ctx.watch(WatchCommand::More);
        }
        if is_asking {
            ui.weak("Querying…");
        }
        let is_reported =
            |results: &&Arc<Results>| results.is_complete || !results.documents.is_empty();
        if let Some(results) = results.filter(is_reported) {
            let num_known = thousands(results.documents.len());
            let text = match results.total {
                Some(total) => format!("{num_known} of {}", thousands(total as usize)),
                None if results.is_complete => num_known,
                None => format!("{num_known} or more"),
            };
            header_fact(ui, text);
        }
    });
    if let QueryState::Failed(cause) = ctx.snapshot.watch.query() {
        ui.label(RichText::new(format!("▲ {cause}")).color(ctx.theme.warning()));
    }
}

fn table_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut ExecutionsState,
    results: &Results,
    ui: &mut Ui,
) {
    let order = state.order(ctx.snapshot, results);
    let open = ctx.snapshot.watch.visit().document.as_ref();
    let table = Table {
        salt: "executions",
        columns: &COLUMNS,
        num_rows: order.len(),
        selected: order.iter().position(|&index| {
            open.is_some_and(|open| Arc::ptr_eq(open, &results.documents[index]))
        }),
    };
    let cells = |row: usize| cells(ctx, &results.documents[order[row]]);
    if let Some(Clicked::Row(row)) = table.ui(ctx.theme, &mut state.sort, ui, cells) {
        ctx.watch(WatchCommand::Open(order[row]));
    }
}

fn cells(ctx: &ViewContext<'_>, document: &ExecutionDocument) -> Vec<Cell> {
    let whole = |value: Option<u64>| value.map_or_else(dash, |value| value.to_string());
    let name = short_name(&document.func).to_owned();
    let label = match ctx.snapshot.record_label(document) {
        Some(label) => Cell::Marked(ctx.theme.label(label), label.name().to_owned()),
        None => Cell::Text(String::new()),
    };
    vec![
        Cell::Text(document.event_id.clone()),
        Cell::Marked(ctx.color_of(&document.func), name),
        Cell::Text(duration_or_dash(document.severity_us)),
        label,
        Cell::Text(number_or_dash(document.score)),
        Cell::Text(whole(document.rank.map(u64::from))),
        Cell::Text(whole(document.step)),
        Cell::Text(duration_or_dash(document.runtime_exclusive_us)),
        Cell::Text(duration_or_dash(document.runtime_total_us)),
        Cell::Text(document.entry_us.map_or_else(dash, utc)),
        Cell::Text(document.hostname.clone().unwrap_or_else(dash)),
    ]
}
