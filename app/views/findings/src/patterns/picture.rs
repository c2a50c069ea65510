//! The patterns as a picture: the table, the curve of the selected one, its slowest occurrences and the iterations.

use callgrove_actions::context::ViewContext;
use callgrove_model::count_of;
use callgrove_widgets::table::ROW_HEIGHT;
use callgrove_widgets::{LegendItem, LegendMark, ViewNotes};
use egui::{Frame, Margin, Panel, RichText, Ui};

use super::curve::CurvePart;
use super::imbalance;
use super::part::part_ui;
use super::pattern_rows::PatternRows;
use super::pattern_table;
use super::state::{PatternsState, ShownPart};
use callgrove_session::InspectCommand;

/// Fraction of the height that the table has at most.
const TABLE_SHARE: f32 = 0.4;
/// Fraction of the width that the curve has.
const CURVE_SHARE: f32 = 0.55;
/// Height from which the strip of iterations is drawn, in points.
const STRIP_FROM: f32 = 380.0;

/// Draws all parts; tables end with a whole row.
pub fn patterns_picture_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut PatternsState,
    ui: &mut Ui,
) -> ViewNotes {
    state.refresh(ctx.snapshot);
    if let Some(id) = pattern_table::first(ctx.snapshot, state) {
        ctx.send(InspectCommand::Pattern(Some(id)));
    }
    state.revealed = ctx.snapshot.inspected.pattern.or(state.revealed);
    let (Some(patterns), Some(num_patterns)) = (
        ctx.snapshot.patterns().cloned(),
        state.listed().map(PatternRows::len),
    ) else {
        return ViewNotes::default();
    };
    let iterations = patterns.iterations.as_ref().filter(|known| known.num() > 0);
    if let Some(iterations) = iterations.filter(|_| ui.available_height() >= STRIP_FROM) {
        Panel::bottom("imbalance of iterations")
            .exact_size(imbalance::HEIGHT + 8.0)
            .show_separator_line(false)
            .frame(Frame::new())
            .show(ui, |ui| {
                imbalance::imbalance_ui(ctx, (iterations, &mut state.uneven), ui);
            });
    }
    let table_height = table_height(ui.available_height() * TABLE_SHARE, num_patterns);
    Panel::top("all patterns")
        .exact_size(table_height)
        .show_separator_line(false)
        .frame(Frame::new())
        .show(ui, |ui| pattern_table::listed_ui(ctx, state, ui));
    ui.add_space(8.0);
    let width = ui.available_width();
    let margin = Margin {
        right: 10,
        ..Margin::ZERO
    };
    Panel::left("curve of the pattern")
        .exact_size(width * CURVE_SHARE)
        .resizable(false)
        .show_separator_line(false)
        .frame(Frame::new().inner_margin(margin))
        .show(ui, |ui| part_ui(ctx, ShownPart::Curve, state, ui));
    ui.label(RichText::new("Anomalous occurrences, the longest first").strong());
    let height = table_height_within(ui.available_height());
    ui.allocate_ui(egui::Vec2::new(ui.available_width(), height), |ui| {
        ui.set_max_height(height);
        part_ui(ctx, ShownPart::Anomalous, state, ui);
    });
    notes(ctx, state, num_patterns)
}

/// Returns the height of a table with its headings and as many whole rows as fit.
fn table_height(available: f32, num_rows: usize) -> f32 {
    table_height_within(available).min(ROW_HEIGHT * (num_rows as f32 + 1.0) + 2.0)
}

fn table_height_within(available: f32) -> f32 {
    let num_rows = ((available - 2.0) / ROW_HEIGHT).floor() - 1.0;
    ROW_HEIGHT * (num_rows.max(1.0) + 1.0) + 2.0
}

fn notes(ctx: &ViewContext<'_>, state: &PatternsState, num_patterns: usize) -> ViewNotes {
    let mut facts = vec![count_of(num_patterns, "pattern")];
    let selected = ctx.snapshot.inspected.pattern.zip(state.run.as_ref());
    let chosen = selected.and_then(|(id, run)| run.listed.chosen(id));
    if let Some(chosen) = &chosen {
        facts.push(format!("below: {}", chosen.pattern.name));
    }
    let parts = [
        (CurvePart::Reference, "usual: the fastest share q, up to d"),
        (CurvePart::Undecided, "neither usual nor anomalous"),
        (CurvePart::Anomalous, "anomalous: longer than s × d"),
    ];
    let legend = parts.map(|(part, text)| {
        let mark = LegendMark::Interval(part.color(ctx.theme));
        LegendItem::new(mark, text)
    });
    ViewNotes {
        title: "Patterns".to_owned(),
        facts,
        legend: if chosen.is_some() {
            legend.into()
        } else {
            Vec::new()
        },
    }
}
