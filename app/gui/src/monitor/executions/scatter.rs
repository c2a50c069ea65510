//! Executions as points: any field against any other, a colour and a shape for each function.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_session::monitor::{
    ExecutionDocument, ExecutionField, FieldUnit, MonitorCommand, Results,
};
use egui::{
    Align2, Color32, ComboBox, FontId, Key, PopupAnchor, Pos2, Rect, Response, Role, Sense, Shape,
    Stroke, Tooltip, Ui, Vec2, WidgetInfo,
};

use crate::monitor::context::{MonitorContext, short_name};
use crate::canvas::points::Axis;
use crate::monitor::text;
use crate::widgets::{count_of, view_header};

/// Room for the numbers of the axes, in points.
const LEFT: f32 = 76.0;
const BOTTOM: f32 = 22.0;
/// Room for the legend, in points, where the plot can spare it.
const LEGEND: f32 = 190.0;
/// The least width of a plot that can, in points.
const WIDTH_FOR_LEGEND: f32 = 560.0;
/// How far from a mark the pointer may be, in points.
const HIT_RADIUS: f32 = 10.0;
/// Half the size of a mark, in points.
const MARK: f32 = 4.0;
/// Functions named in the legend.
const MAX_LEGEND: usize = 10;

/// What is plotted, and which part of it is seen.
pub(super) struct ScatterState {
    x: ExecutionField,
    y: ExecutionField,
    is_log: [bool; 2],
    /// The axes, and what they were fitted to; `None` fits them anew.
    axes: Option<(Arc<Results>, [Axis; 2])>,
}

impl Default for ScatterState {
    fn default() -> Self {
        Self {
            x: ExecutionField::Entry,
            y: ExecutionField::Severity,
            is_log: [false, true],
            axes: None,
        }
    }
}

impl ScatterState {
    pub(super) fn fit(&mut self) {
        self.axes = None;
    }

    /// The axes for these results: fitted, unless the person has chosen a part of the same answer.
    fn axes(&mut self, results: &Arc<Results>) -> [Axis; 2] {
        if let Some((known, axes)) = &self.axes
            && known.request.id == results.request.id
            && known.documents.len() == results.documents.len()
        {
            return *axes;
        }
        let axis = |field: ExecutionField, is_log: bool| {
            let values = results
                .documents
                .iter()
                .filter_map(|document| field.value(document));
            Axis::around(values, is_log)
        };
        let axes = [axis(self.x, self.is_log[0]), axis(self.y, self.is_log[1])];
        self.axes = Some((Arc::clone(results), axes));
        axes
    }
}

/// Draws the plot; a click opens an execution.
pub(super) fn scatter_ui(
    ctx: &mut MonitorContext<'_>,
    state: &mut ScatterState,
    results: &Arc<Results>,
    ui: &mut Ui,
) {
    header_ui(state, ui);
    let mut axes = state.axes(results);
    let (response, painter) = ui.allocate_painter(ui.available_size(), Sense::click_and_drag());
    let rect = response.rect;
    let plot = Rect::from_min_max(
        Pos2::new(rect.left() + LEFT, rect.top() + 4.0),
        Pos2::new(rect.right() - legend_width(rect), rect.bottom() - BOTTOM),
    );
    response.widget_info(|| {
        let label = format!(
            "Scatter plot of {}, {} against {}",
            count_of(results.documents.len(), "execution"),
            state.y.name(),
            state.x.name()
        );
        WidgetInfo::labeled(Role::Canvas, true, label)
    });
    navigate(&mut axes, plot, &response, ui);
    state.axes = Some((Arc::clone(results), axes));
    let place = |document: &ExecutionDocument| {
        let x = axes[0].share_of(state.x.value(document)?);
        let y = axes[1].share_of(state.y.value(document)?);
        (x.is_finite() && y.is_finite()).then(|| {
            Pos2::new(
                plot.left() + plot.width() * x as f32,
                plot.bottom() - plot.height() * y as f32,
            )
        })
    };
    painter.rect_filled(plot, 0.0, ctx.theme.canvas());
    axes_ui(ctx, state, axes, plot, &painter);
    let inner = painter.with_clip_rect(plot.intersect(painter.clip_rect()));
    let open = ctx.monitor.place().document.clone();
    let pointer = response.hover_pos().filter(|_| !response.dragged());
    let mut nearest: Option<(f32, usize)> = None;
    let mut num_hidden = 0;
    for (index, document) in results.documents.iter().enumerate() {
        let Some(at) = place(document) else {
            num_hidden += 1;
            continue;
        };
        let is_open = open
            .as_ref()
            .is_some_and(|open| Arc::ptr_eq(open, document));
        inner.add(mark(ctx, document, at, is_open));
        if let Some(pointer) = pointer.filter(|_| plot.contains(at)) {
            let distance = at.distance(pointer);
            if distance <= HIT_RADIUS && nearest.is_none_or(|(least, _)| distance < least) {
                nearest = Some((distance, index));
            }
        }
    }
    if rect.width() > WIDTH_FOR_LEGEND {
        let place = rect.with_min_x(plot.right());
        let painter = painter.with_clip_rect(place.intersect(painter.clip_rect()));
        legend_ui(ctx, results, num_hidden, place, &painter);
    }
    if let Some((_, index)) = nearest {
        let document = &results.documents[index];
        if let Some(at) = place(document) {
            inner.circle_stroke(at, MARK + 3.0, Stroke::new(1.5, ctx.theme.selection()));
        }
        tooltip_ui(state, document, &response, ui);
        if response.clicked() {
            ctx.send(MonitorCommand::Open(index));
        }
    }
}

/// Room at the right of the plot.
fn legend_width(rect: Rect) -> f32 {
    if rect.width() > WIDTH_FOR_LEGEND {
        LEGEND
    } else {
        8.0
    }
}

fn header_ui(state: &mut ScatterState, ui: &mut Ui) {
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
                .on_hover_text("Equal factors are equally long; what is not positive is left out")
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
            state.fit();
        }
    });
}

/// Wheel and pinch zoom to the pointer, drag moves; so do W S A D while the pointer is on the plot.
fn navigate(axes: &mut [Axis; 2], plot: Rect, response: &Response, ui: &Ui) {
    if let Some(pointer) = response.hover_pos() {
        let (wheel, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
        let mut factor = f64::from((wheel * 0.005).exp() * pinch);
        let mut shift = 0.0;
        if !ui.ctx().text_edit_focused() {
            let pressed =
                |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
            let zooms = [(Key::W, 1.5), (Key::S, 1.0 / 1.5)];
            let pans = [(Key::A, -0.2), (Key::D, 0.2)];
            factor *= zooms
                .into_iter()
                .filter(|(key, _)| pressed(*key))
                .map(|(_, factor)| factor)
                .product::<f64>();
            shift = pans
                .into_iter()
                .filter(|(key, _)| pressed(*key))
                .map(|(_, shift)| shift)
                .sum();
        }
        if (factor - 1.0).abs() > 1e-4 {
            let x = f64::from((pointer.x - plot.left()) / plot.width());
            let y = f64::from((plot.bottom() - pointer.y) / plot.height());
            *axes = [axes[0].zoomed(factor, x), axes[1].zoomed(factor, y)];
        }
        if shift != 0.0 {
            axes[0] = axes[0].panned(shift);
        }
    }
    if response.dragged() {
        let delta = response.drag_delta();
        axes[0] = axes[0].panned(f64::from(-delta.x / plot.width()));
        axes[1] = axes[1].panned(f64::from(delta.y / plot.height()));
    }
}

fn axes_ui(
    ctx: &MonitorContext<'_>,
    state: &ScatterState,
    axes: [Axis; 2],
    plot: Rect,
    painter: &egui::Painter,
) {
    let font = FontId::proportional(11.5);
    let color = ctx.theme.weak_text();
    let grid = Stroke::new(1.0, ctx.theme.grid());
    let x_ticks = axes[0].ticks((plot.width() / 110.0) as usize);
    for value in x_ticks {
        let x = plot.left() + plot.width() * axes[0].share_of(value) as f32;
        painter.vline(x, plot.y_range(), grid);
        let at = Pos2::new(x, plot.bottom() + 3.0);
        let text = tick_text(state.x, value, axes[0]);
        painter.text(at, Align2::CENTER_TOP, text, font.clone(), color);
    }
    let y_ticks = axes[1].ticks((plot.height() / 36.0) as usize);
    for value in y_ticks {
        let y = plot.bottom() - plot.height() * axes[1].share_of(value) as f32;
        painter.hline(plot.x_range(), y, grid);
        let at = Pos2::new(plot.left() - 4.0, y);
        let text = tick_text(state.y, value, axes[1]);
        painter.text(at, Align2::RIGHT_CENTER, text, font.clone(), color);
    }
}

/// Times of the day need only as many decimals as neighbouring ticks.
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

/// Circle, square, triangle or diamond: what colours do not tell, shapes do.
fn mark(ctx: &MonitorContext<'_>, document: &ExecutionDocument, at: Pos2, is_open: bool) -> Shape {
    let color = ctx.color(&document.func);
    let stroke = if is_open {
        Stroke::new(2.0, ctx.theme.selection())
    } else {
        Stroke::new(0.5, ctx.theme.canvas())
    };
    let kind = ctx
        .monitor
        .name_id(&document.func)
        .map_or(0, callgrove_model::FuncId::index);
    shape(kind, at, color, stroke)
}

fn shape(kind: usize, at: Pos2, color: Color32, stroke: Stroke) -> Shape {
    let corners: &[[f32; 2]] = match kind % 4 {
        0 => {
            return egui::epaint::CircleShape {
                center: at,
                radius: MARK,
                fill: color,
                stroke,
            }
            .into();
        }
        1 => &[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
        2 => &[[0.0, -1.2], [1.1, 0.8], [-1.1, 0.8]],
        _ => &[[0.0, -1.3], [1.3, 0.0], [0.0, 1.3], [-1.3, 0.0]],
    };
    let corners = corners
        .iter()
        .map(|corner| at + Vec2::from(*corner) * MARK)
        .collect();
    Shape::convex_polygon(corners, color, stroke)
}

/// The functions with most points, and how many points have no place on these axes.
fn legend_ui(
    ctx: &MonitorContext<'_>,
    results: &Results,
    num_hidden: usize,
    place: Rect,
    painter: &egui::Painter,
) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for document in &results.documents {
        *counts.entry(document.func.as_str()).or_default() += 1;
    }
    let num_funcs = counts.len();
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let font = FontId::proportional(11.5);
    let mut at = place.left_top() + Vec2::new(14.0, 12.0);
    let mut line = |text: String, func: Option<&str>| {
        if let Some(func) = func {
            let kind = ctx
                .monitor
                .name_id(func)
                .map_or(0, callgrove_model::FuncId::index);
            painter.add(shape(kind, at, ctx.color(func), Stroke::NONE));
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
                "{} without a place on these axes",
                count_of(num_hidden, "execution")
            ),
            None,
        );
    }
}

fn tooltip_ui(state: &ScatterState, document: &ExecutionDocument, response: &Response, ui: &Ui) {
    Tooltip::always_open(
        ui.ctx().clone(),
        ui.layer_id(),
        response.id,
        PopupAnchor::Pointer,
    )
    .gap(12.0)
    .show(|ui| {
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
