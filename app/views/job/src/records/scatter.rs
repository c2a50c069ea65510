//! The scatter plot of executions: one field against another, a colour and a shape for each function.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_canvas::points::{
    Aspect, Axis, MarkShape, PointMark, PointScene, PointsState, Ruler, SelectionMode, mark_shape,
    plane_value, points_ui,
};
use callgrove_model::count_of;
use callgrove_watch::{ExecutionDocument, ExecutionField, FieldUnit, Results, WatchCommand};
use callgrove_widgets::text::{self, short_name};
use callgrove_widgets::{pointer_card, view_header};
use egui::{Align2, ComboBox, FontId, PopupAnchor, Rect, Response, Ui, Vec2};

/// Width of the legend, in points.
const LEGEND: f32 = 190.0;
/// Minimum width of a plot with a legend, in points.
const WIDTH_FOR_LEGEND: f32 = 560.0;
/// Margin at the right of a plot without a legend, in points.
const EDGE: f32 = 8.0;
/// Maximum number of functions in the legend.
const MAX_LEGEND: usize = 10;
/// The shapes of functions, in turn.
const SHAPES: [MarkShape; 4] = [
    MarkShape::Disc,
    MarkShape::Square,
    MarkShape::Triangle,
    MarkShape::Diamond,
];

/// The plotted fields, and the visible part.
pub(crate) struct RecordScatterState {
    x: ExecutionField,
    y: ExecutionField,
    is_log: [bool; 2],
    points: PointsState,
    /// The inputs of the points; `None` forces a rebuild.
    known: Option<(Arc<Results>, bool)>,
}

impl Default for RecordScatterState {
    fn default() -> Self {
        Self {
            x: ExecutionField::Entry,
            y: ExecutionField::Severity,
            is_log: [false, true],
            points: PointsState::default(),
            known: None,
        }
    }
}

impl RecordScatterState {
    pub(crate) fn fit(&mut self) {
        self.points.fit();
    }

    /// Takes over other results. The visible part stays if they extend the same answer.
    fn prepare(&mut self, ctx: &ViewContext<'_>, results: &Arc<Results>) {
        let is_dark = ctx.theme.is_dark();
        let known = self.known.as_ref();
        if known.is_some_and(|(known, known_dark)| {
            Arc::ptr_eq(known, results) && *known_dark == is_dark
        }) {
            return;
        }
        let is_same_answer = known.is_some_and(|(known, _)| {
            known.request.id == results.request.id
                && known.documents.len() == results.documents.len()
        });
        let coordinate = |document: &ExecutionDocument, field: ExecutionField, is_log: bool| {
            let value = field.value(document);
            value.map_or(f64::NAN, |value| plane_value(value, is_log))
        };
        let place = |document: &Arc<ExecutionDocument>| {
            [
                coordinate(document, self.x, self.is_log[0]),
                coordinate(document, self.y, self.is_log[1]),
            ]
        };
        let places = results.documents.iter().map(place).collect();
        let marks = results.documents.iter().map(|document| mark(ctx, document));
        self.points.set_points(places, marks.collect());
        if !is_same_answer {
            self.points.fit();
        }
        self.known = Some((Arc::clone(results), is_dark));
    }
}

/// Draws the plot; a click opens an execution.
pub(super) fn scatter_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut RecordScatterState,
    results: &Arc<Results>,
    ui: &mut Ui,
) {
    header_ui(state, ui);
    state.prepare(ctx, results);
    let open = ctx.snapshot.watch.visit().document.clone();
    let open = open.and_then(|open| {
        let mut documents = results.documents.iter();
        documents.position(|document| Arc::ptr_eq(&open, document))
    });
    let selected: Vec<u32> = open.iter().map(|&point| point as u32).collect();
    let (x, y) = (state.x, state.y);
    let texts = [x, y].map(|field| move |value: f64, axis: Axis| tick_text(field, value, axis));
    let has_legend = ui.available_width() > WIDTH_FOR_LEGEND;
    let scene = PointScene {
        theme: ctx.theme,
        label: format!(
            "Scatter plot of {}, {} against {}",
            count_of(results.documents.len(), "execution"),
            y.name(),
            x.name()
        ),
        aspect: Aspect::Free,
        rulers: Some([0, 1].map(|axis| Ruler {
            is_log: state.is_log[axis],
            text: &texts[axis],
        })),
        right: if has_legend { LEGEND } else { EDGE },
        selected: &selected,
        focus: open,
        has_focus: ctx.has_focus,
        pointed: None,
    };
    let output = points_ui(&scene, &mut state.points, ui);
    if has_legend {
        let place = output
            .response
            .rect
            .with_min_x(output.transform.rect().right());
        let num_hidden = results.documents.len() - state.points.cloud().num_placed();
        legend_ui(ctx, results, num_hidden, place, ui);
    }
    if let Some(index) = output.hovered {
        tooltip_ui(state, &results.documents[index], &output.response, ui);
    }
    let picked = output
        .taken
        .filter(|taken| !taken.is_drawn && taken.mode == SelectionMode::Replace);
    if let Some(&[index]) = picked.as_ref().map(|taken| &taken.points[..]) {
        ctx.watch(WatchCommand::Open(index));
    }
}

fn header_ui(state: &mut RecordScatterState, ui: &mut Ui) {
    view_header(ui, "Executions as points", |ui| {
        if ui
            .button("Fit")
            .on_hover_text("Show all executions (F)")
            .clicked()
        {
            state.fit();
        }
        let before = (state.x, state.y, state.is_log);
        for (name, axis) in [("y", 1), ("x", 0)] {
            let field = if axis == 0 {
                &mut state.x
            } else {
                &mut state.y
            };
            ui.checkbox(&mut state.is_log[axis], "log")
                .on_hover_text("Logarithmic scale; values that are not positive are left out")
                .accessible_name(format!("Logarithmic {name} axis"));
            ComboBox::from_id_salt(("axis", axis))
                .selected_text(format!("{name}: {}", field.name()))
                .width(140.0)
                .show_ui(ui, |ui| {
                    for choice in ExecutionField::ALL {
                        ui.selectable_value(field, choice, choice.name());
                    }
                })
                .response
                .accessible_name(format!("Field of the {name} axis"));
        }
        if before != (state.x, state.y, state.is_log) {
            state.known = None;
        }
    });
}

/// Formats a tick; times of the day have only as many decimals as the step between ticks needs.
fn tick_text(field: ExecutionField, value: f64, axis: Axis) -> String {
    match field.unit() {
        FieldUnit::Number => text::number(value),
        FieldUnit::DurationUs => text::duration(value),
        FieldUnit::TimeUs => {
            let clock = text::clock(value.max(0.0) as u64);
            let num_chars = match axis.to - axis.from {
                length if length > 2e7 => 8,
                length if length > 2e4 => 12,
                _ => 15,
            };
            clock[..num_chars].to_owned()
        }
    }
}

/// Returns the mark of an execution. All of them are anomalies that the user queried, so none is merged into the
/// density.
fn mark(ctx: &ViewContext<'_>, document: &ExecutionDocument) -> PointMark {
    PointMark {
        color: ctx.color_of(&document.func),
        ring: egui::Color32::TRANSPARENT,
        shape: shape(&document.func),
        is_prominent: true,
    }
}

/// Returns the shape of a function, derived from its name alone, so that it is always the same. Shapes distinguish
/// functions with similar colours.
fn shape(func: &str) -> MarkShape {
    let kind: usize = func.bytes().map(usize::from).sum();
    SHAPES[kind % SHAPES.len()]
}

/// Draws the functions with most points, and the number of points without a position on these axes.
fn legend_ui(ctx: &ViewContext<'_>, results: &Results, num_hidden: usize, place: Rect, ui: &Ui) {
    let painter = ui.painter_at(place);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for document in &results.documents {
        *counts.entry(document.func.as_str()).or_default() += 1;
    }
    let num_funcs = counts.len();
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let font = FontId::proportional(12.0);
    let mut at = place.left_top() + Vec2::new(14.0, 12.0);
    let mut line = |text: String, func: Option<&str>| {
        if let Some(func) = func {
            painter.add(mark_shape(shape(func), at, 4.0, ctx.color_of(func)));
        }
        let place = at + Vec2::new(10.0, 0.0);
        let color = ctx.theme.weak_text();
        painter.text(place, Align2::LEFT_CENTER, text, font.clone(), color);
        at.y += 15.0;
    };
    for (func, count) in counts.into_iter().take(MAX_LEGEND) {
        line(format!("{} ({count})", short_name(func)), Some(func));
    }
    if num_funcs > MAX_LEGEND {
        line(
            format!("and {}", count_of(num_funcs - MAX_LEGEND, "other function")),
            None,
        );
    }
    if num_hidden > 0 {
        line(
            format!(
                "{} without values on these axes",
                count_of(num_hidden, "execution")
            ),
            None,
        );
    }
}

fn tooltip_ui(
    state: &RecordScatterState,
    document: &ExecutionDocument,
    response: &Response,
    ui: &Ui,
) {
    pointer_card(response, PopupAnchor::Pointer, ui, |ui| {
        ui.strong(short_name(&document.func));
        ui.monospace(&document.event_id);
        for field in [state.x, state.y] {
            let value = field.value(document);
            let value = value.map_or_else(text::dash, |value| text::field(field, value));
            ui.label(format!("{}: {value}", field.name()));
        }
        ui.label(format!(
            "Severity {}, score {}",
            text::duration_or_dash(document.severity_us),
            text::number_or_dash(document.score)
        ));
        ui.weak("Click to open");
    });
}
