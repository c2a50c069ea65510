//! The timeline on the screen: takes zoom, pan, keys and clicks.

use callgrove_model::{DurationNs, LaneIdx, TimeNs};
use callgrove_session::{RowKind, Timeline};
use egui::containers::scroll_area::{DragScroll, ScrollSource};
use egui::{
    Align, Align2, Key, Layout, Pos2, Rect, Response, Role, ScrollArea, Sense, Shape, Stroke, Ui,
    UiBuilder, Vec2, WidgetInfo,
};

use super::layout::{RowBox, bar_at, nearest_line, row_boxes};
use super::paint::{Canvas, Hovered, paint_overview, window_at};
use super::state::{Shown, TimelineState};
use super::tooltip::{lane_name, tooltip_ui};
use super::window::Window;
use crate::context::ViewContext;
use crate::views::focus::Focus;
use crate::widgets::{count_of, view_header};

/// Width of the names of the rows, in points.
const GUTTER: f32 = 92.0;
/// Room for the triangle before a name.
const TRIANGLE_WIDTH: f32 = 16.0;
const OVERVIEW_HEIGHT: f32 = 14.0;
const AXIS_HEIGHT: f32 = 20.0;
/// How far from an arrow or a narrow bar the pointer may be.
const HIT_RADIUS: f32 = 4.0;
/// One press of a key zooms by this factor.
const KEY_ZOOM: f64 = 1.4;
/// One press of a key moves by this share of the window.
const KEY_PAN: f64 = 0.15;

/// Draws the timeline of the focused tree and takes zoom, pan and clicks.
pub fn timeline_ui(ctx: &mut ViewContext<'_>, state: &mut TimelineState, ui: &mut Ui) {
    match Focus::of(ctx.snapshot) {
        Some(focus) => state.show(focus),
        None => state.clear(),
    }
    header_ui(state, ui);
    let Some(shown) = state.shown() else {
        ui.centered_and_justified(|ui| ui.weak("Select a tree in the map or the list"));
        return;
    };
    overview_ui(ctx, shown, ui);
    let (_, axis) = ui.allocate_space(Vec2::new(ui.available_width(), AXIS_HEIGHT));
    let plot_width = (axis.width() - GUTTER).max(1.0);
    state.lay_out(
        plot_width * ui.pixels_per_point(),
        ctx.snapshot.detection.as_ref(),
    );
    let laid_out_for = state.shown().map(|shown| shown.window);
    let scroll = ScrollSource {
        mouse_wheel: false,
        drag: DragScroll::Never,
        scroll_bar: true,
    };
    ScrollArea::vertical()
        .scroll_source(scroll)
        .auto_shrink(false)
        .show(ui, |ui| rows_ui(ctx, state, axis, ui));
    if state.shown().map(|shown| shown.window) != laid_out_for {
        ui.ctx().request_repaint();
    }
}

fn header_ui(state: &mut TimelineState, ui: &mut Ui) {
    view_header(ui, "Timeline", |ui| {
        let Some(shown) = state.shown() else { return };
        if ui
            .button("Fit")
            .on_hover_text("Show the whole tree (F)")
            .clicked()
        {
            shown.fit();
        }
        let keys =
            "Wheel or W and S zoom, drag or A and D move, double click on a call shows it whole.";
        let length = DurationNs(shown.window.length_ns());
        ui.weak(format!("{} in view", round_duration(length)))
            .on_hover_text(keys);
        let Some(timeline) = shown.timeline() else {
            return;
        };
        if timeline.num_arrows_left_out > 0 {
            let text = count_of(timeline.num_arrows_left_out, "message");
            ui.weak(format!("{text} not drawn"))
                .on_hover_text("Zoom in to see all messages.");
        }
        if timeline.num_lanes_left_out > 0 {
            let text = format!(
                "{} not drawn",
                count_of(timeline.num_lanes_left_out, "rank")
            );
            ui.weak(text).on_hover_text(
                "The ranks that exchange the most messages with the tree are drawn.",
            );
        }
    });
}

/// To three significant digits.
fn round_duration(duration: DurationNs) -> DurationNs {
    let mut step_ns = 1;
    while duration.0 / step_ns >= 1_000 {
        step_ns *= 10;
    }
    DurationNs((duration.0 as f64 / step_ns as f64).round() as i64 * step_ns)
}

/// The whole trace as a strip; pressing it moves the window there.
fn overview_ui(ctx: &ViewContext<'_>, shown: &mut Shown, ui: &mut Ui) {
    let size = Vec2::new(ui.available_width(), OVERVIEW_HEIGHT);
    let (area, response) = ui.allocate_exact_size(size, Sense::click_and_drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, "Overview of the trace"));
    let strip = area.with_min_x((area.left() + GUTTER).min(area.right() - 1.0));
    if let Some(pointer) = response
        .interact_pointer_pos()
        .filter(|_| response.is_pointer_button_down_on())
    {
        shown.window = window_at(strip, shown, pointer.x);
    }
    let forest = &shown.focus.analysis.forest;
    let abnormal: Vec<(TimeNs, TimeNs)> =
        ctx.snapshot
            .detection
            .as_ref()
            .map_or(Vec::new(), |detection| {
                let trees = detection.order.iter().take(detection.num_abnormal);
                trees
                    .map(|&tree| (forest.tree(tree).entry()[0], forest.tree(tree).exit()))
                    .collect()
            });
    paint_overview(ui.painter(), ctx.theme, strip, shown, &abnormal);
    let text = egui::RichText::new("Whole run").small().weak();
    let name = Rect::from_min_max(
        area.min + Vec2::new(TRIANGLE_WIDTH, 0.0),
        Pos2::new(strip.left(), area.bottom()),
    );
    ui.scope_builder(
        UiBuilder::new()
            .max_rect(name)
            .layout(Layout::left_to_right(Align::Center)),
        |ui| ui.label(text),
    );
}

fn rows_ui(ctx: &mut ViewContext<'_>, state: &mut TimelineState, axis: Rect, ui: &mut Ui) {
    let Some(shown) = state.shown() else { return };
    let Some(rows) = shown.timeline().map(|timeline| timeline.rows.as_slice()) else {
        return;
    };
    let room = ui.available_height();
    let (boxes, height) = row_boxes(rows, shown.num_levels, room);
    let height = height.max(room);
    let (_, area) = ui.allocate_space(Vec2::new(ui.available_width(), height));
    let plot = area.with_min_x((area.left() + GUTTER).min(area.right() - 1.0));
    let label = format!("Timeline of {}", shown.focus.code());
    let response = ui.interact(plot, ui.unique_id().with("rows"), Sense::click_and_drag());
    let has_pointer = response.contains_pointer();
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, label.as_str()));
    navigate(ui, &response, plot, shown);
    take_keys(ui, &response, plot, shown);
    let axis = axis.with_min_x(plot.left());
    let painter = ui.painter_at(plot);
    let canvas = Canvas {
        shown,
        theme: ctx.theme,
        painter: &painter,
        plot,
        boxes: &boxes,
    };
    let Some(timeline) = shown.timeline() else {
        return;
    };
    let pointer = response.hover_pos().filter(|_| !response.dragged());
    let hovered = pointer.and_then(|pointer| hit(&canvas, timeline, pointer));
    canvas.paint_rows(timeline, hovered);
    let axis_painter = ui
        .ctx()
        .layer_painter(ui.layer_id())
        .with_clip_rect(axis.expand2(Vec2::new(0.0, 1.0)));
    canvas.paint_axis(&axis_painter, axis, pointer.map(|pointer| pointer.x));
    if let Some(hovered) = hovered {
        tooltip_ui(&canvas, timeline, hovered, &response, ui);
    }
    let zoomed = act(ctx, &response, hovered, shown.bounds);
    let toggled = names_ui(shown, timeline, &boxes, area, ui);
    if let Some(window) = zoomed {
        shown.window = window;
    }
    state.has_pointer = has_pointer;
    if let Some(lane) = toggled {
        state.toggle_lane(lane);
        ui.ctx().request_repaint();
    }
}

/// Wheel and pinch zoom to the pointer; drag moves the window and scrolls the rows.
fn navigate(ui: &Ui, response: &Response, plot: Rect, shown: &mut Shown) {
    if let Some(pointer) = response.hover_pos() {
        let (wheel, pinch) = ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
        let factor = f64::from((wheel.y * 0.005).exp() * pinch);
        if (factor - 1.0).abs() > 1e-4 {
            let anchor = f64::from((pointer.x - plot.left()) / plot.width());
            shown.window = shown.window.zoomed(factor, anchor, shown.bounds);
        }
        if wheel.x != 0.0 {
            shown.window = shown
                .window
                .panned(f64::from(-wheel.x / plot.width()), shown.bounds);
        }
    }
    if response.dragged() {
        let delta = response.drag_delta();
        shown.window = shown
            .window
            .panned(f64::from(-delta.x / plot.width()), shown.bounds);
        ui.scroll_with_delta(Vec2::new(0.0, delta.y));
    }
    if response.clicked() {
        response.request_focus();
    }
}

fn take_keys(ui: &Ui, response: &Response, plot: Rect, shown: &mut Shown) {
    if !(response.contains_pointer() || response.has_focus()) || ui.ctx().text_edit_focused() {
        return;
    }
    let anchor = response.hover_pos().map_or(0.5, |pointer| {
        f64::from((pointer.x - plot.left()) / plot.width())
    });
    let (window, bounds) = (shown.window, shown.bounds);
    let pressed = |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
    if pressed(Key::W) {
        shown.window = window.zoomed(KEY_ZOOM, anchor, bounds);
    } else if pressed(Key::S) {
        shown.window = window.zoomed(1.0 / KEY_ZOOM, anchor, bounds);
    } else if pressed(Key::A) {
        shown.window = window.panned(-KEY_PAN, bounds);
    } else if pressed(Key::D) {
        shown.window = window.panned(KEY_PAN, bounds);
    } else if pressed(Key::F) {
        shown.fit();
    }
}

/// What is under the pointer: a mark, else a bar, else an arrow.
fn hit(canvas: &Canvas<'_>, timeline: &Timeline, pointer: Pos2) -> Option<Hovered> {
    let marks = canvas.shown.marks().iter();
    let near = marks
        .map(|mark| {
            (
                mark.tree,
                canvas
                    .mark_rect(mark.row, mark.from, mark.to)
                    .distance_to_pos(pointer),
            )
        })
        .filter(|&(_, distance)| distance <= 3.0)
        .min_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((tree, _)) = near {
        return Some(Hovered::Mark(tree));
    }
    let slack_ns = (canvas.pixel_ns() * 1.5) as i64;
    let bar = canvas
        .boxes
        .iter()
        .zip(&timeline.rows)
        .enumerate()
        .find_map(|(at, (row_box, row))| {
            let level = row_box.level_at(pointer.y - canvas.plot.top())?;
            let bar = bar_at(row, level, canvas.time_at(pointer.x), slack_ns)?;
            Some(Hovered::Bar { row: at, bar: *bar })
        });
    bar.or_else(|| {
        let lines = timeline.arrows.iter().enumerate();
        let lines = lines.filter_map(|(at, arrow)| Some((at, canvas.arrow_line(arrow)?)));
        nearest_line(lines, pointer, HIT_RADIUS).map(Hovered::Arrow)
    })
}

/// What a click does: a mark selects its tree; a double click shows a call whole.
fn act(
    ctx: &mut ViewContext<'_>,
    response: &Response,
    hovered: Option<Hovered>,
    bounds: Window,
) -> Option<Window> {
    match hovered? {
        Hovered::Mark(tree) => {
            if response.clicked() {
                ctx.select(tree);
            }
            None
        }
        Hovered::Bar { bar, .. } => response
            .double_clicked()
            .then(|| Window::around(bar.from, bar.to, 0.1).within(bounds)),
        Hovered::Arrow(_) => None,
    }
}

/// The names of the rows; those of context lanes open and close them. The answer is the lane to
/// open or close.
fn names_ui(
    shown: &Shown,
    timeline: &Timeline,
    boxes: &[RowBox],
    area: Rect,
    ui: &mut Ui,
) -> Option<LaneIdx> {
    let mut toggled = None;
    for (row, row_box) in timeline.rows.iter().zip(boxes) {
        let size = Vec2::new(GUTTER - 6.0, row_box.level_height.max(18.0));
        let place =
            Rect::from_min_size(Pos2::new(area.left(), area.top() + row_box.bars_top), size);
        if !ui.is_rect_visible(place) {
            continue;
        }
        let name = lane_name(shown, row.lane);
        if row.kind == RowKind::Selected {
            let text = place.with_min_x(place.left() + TRIANGLE_WIDTH);
            let layout = Layout::left_to_right(Align::Center);
            ui.scope_builder(UiBuilder::new().max_rect(text).layout(layout), |ui| {
                ui.strong(name)
            });
        } else if lane_button(ui, place, &name, row.kind == RowKind::Stack).clicked() {
            toggled = Some(row.lane);
        }
    }
    toggled
}

/// A name with a triangle that points down while the lane is open.
fn lane_button(ui: &mut Ui, place: Rect, name: &str, is_open: bool) -> Response {
    let response = ui.interact(place, ui.unique_id().with(name), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_open, name));
    let color = if response.hovered() || response.has_focus() {
        ui.visuals().strong_text_color()
    } else {
        ui.visuals().text_color()
    };
    let middle = Pos2::new(place.left() + TRIANGLE_WIDTH / 2.0 - 1.0, place.center().y);
    let corners = [
        Vec2::new(-2.5, -4.0),
        Vec2::new(3.5, 0.0),
        Vec2::new(-2.5, 4.0),
    ]
    .map(|corner| middle + if is_open { -corner.rot90() } else { corner });
    ui.painter()
        .add(Shape::convex_polygon(corners.to_vec(), color, Stroke::NONE));
    let font = egui::TextStyle::Body.resolve(ui.style());
    let at = Pos2::new(place.left() + TRIANGLE_WIDTH, place.center().y);
    ui.painter()
        .text(at, Align2::LEFT_CENTER, name, font, color);
    let hint = if is_open {
        "Show this rank as a strip"
    } else {
        "Show the calls of this rank as a stack"
    };
    response
        .on_hover_cursor(egui::CursorIcon::PointingHand)
        .on_hover_text(hint)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use callgrove_model::TreeIdx;
    use callgrove_session::{Command, Selection, Snapshot};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;
    use crate::test_support::{demo_snapshot, with_focus};
    use crate::theme::Theme;

    /// The view with the commands that it sent.
    fn harness(snapshot: Snapshot) -> (Harness<'static, TimelineState>, Rc<RefCell<Vec<Command>>>) {
        let theme = Theme::new(true, snapshot.trace.as_ref());
        let sent = Rc::new(RefCell::new(Vec::new()));
        let commands = Rc::clone(&sent);
        let draw = move |ui: &mut Ui, state: &mut TimelineState| {
            let mut commands = commands.borrow_mut();
            let mut ctx = ViewContext {
                snapshot: &snapshot,
                theme: &theme,
                commands: &mut commands,
                actions: &mut Vec::new(),
                has_focus: false,
            };
            timeline_ui(&mut ctx, state, ui);
        };
        let harness = Harness::builder()
            .with_size([1000.0, 400.0])
            .build_ui_state(draw, TimelineState::default());
        (harness, sent)
    }

    fn focused() -> (Harness<'static, TimelineState>, Rc<RefCell<Vec<Command>>>) {
        let (mut harness, sent) = harness(with_focus(&demo_snapshot(), TreeIdx(3)));
        harness.run();
        (harness, sent)
    }

    fn window(harness: &mut Harness<'static, TimelineState>) -> Window {
        harness.state_mut().shown().expect("a tree is shown").window
    }

    #[test]
    fn without_a_tree_it_says_what_to_do() {
        let (mut harness, _) = harness(demo_snapshot());
        harness.run();
        harness.get_by_label("Select a tree in the map or the list");
    }

    #[test]
    fn the_tree_fills_the_window_at_first() {
        let (mut harness, _) = focused();
        harness.get_by_label("Timeline of #0-3");
        harness.get_by_label("rank 0");
        let window = window(&mut harness);
        let shown = harness.state_mut().shown().expect("a tree is shown");
        let share = shown.focus.cs_tree().duration().0 as f64 / window.length_ns() as f64;
        assert!((0.8..0.9).contains(&share), "{share}");
    }

    #[test]
    fn keys_zoom_and_move_while_the_pointer_is_on_the_rows() {
        let (mut harness, _) = focused();
        let start = window(&mut harness);
        harness.key_press(Key::W);
        harness.run();
        assert_eq!(window(&mut harness), start, "the pointer is elsewhere");
        harness.get_by_label("Timeline of #0-3").hover();
        harness.run();
        harness.key_press(Key::W);
        harness.run();
        let zoomed = window(&mut harness);
        assert!(zoomed.length_ns() < start.length_ns() && zoomed.from > start.from);
        harness.key_press(Key::D);
        harness.run();
        assert!(window(&mut harness).from > zoomed.from);
        harness.key_press(Key::F);
        harness.run();
        assert_eq!(window(&mut harness), start);
    }

    #[test]
    fn a_context_rank_opens_into_a_stack() {
        let (mut harness, _) = focused();
        let kinds = |harness: &mut Harness<'static, TimelineState>| -> Vec<RowKind> {
            let timeline = harness
                .state_mut()
                .shown()
                .and_then(|shown| shown.timeline())
                .expect("it is laid out");
            timeline.rows.iter().map(|row| row.kind).collect()
        };
        assert_eq!(kinds(&mut harness), [RowKind::Selected, RowKind::Strip]);
        harness.get_by_label("rank 1").click();
        harness.run();
        assert_eq!(kinds(&mut harness), [RowKind::Selected, RowKind::Stack]);
    }

    #[test]
    fn clicking_the_mark_of_an_abnormal_execution_selects_it() {
        let (mut harness, sent) = focused();
        let shown = harness.state_mut().shown().expect("a tree is shown");
        // The whole run, in which the marks are narrow.
        shown.window = shown.bounds;
        harness.run();
        let rect = harness.get_by_label("Timeline of #0-3").rect();
        let shown = harness.state_mut().shown().expect("a tree is shown");
        let mark = *shown
            .marks()
            .iter()
            .find(|mark| mark.row == 0)
            .expect("rank 0 has slow executions");
        let x = rect.left() + shown.window.share_of(mark.from) as f32 * rect.width() + 1.0;
        let at = Pos2::new(x, rect.top() + 3.0);
        harness.hover_at(at);
        harness.drag_at(at);
        harness.drop_at(at);
        harness.run();
        assert_eq!(*sent.borrow(), [Command::Select(Selection::One(mark.tree))]);
    }

    #[test]
    fn a_new_tree_gets_its_own_window_and_opened_ranks_stay_open() {
        let first = with_focus(&demo_snapshot(), TreeIdx(3));
        let second = with_focus(&first, TreeIdx(5));
        let mut state = TimelineState::default();
        state.show(Focus::of(&first).expect("a tree is focused"));
        state.toggle_lane(LaneIdx(1));
        let window = state.shown().expect("a tree is shown").window;
        state.show(Focus::of(&second).expect("a tree is focused"));
        state.lay_out(500.0, None);
        let shown = state.shown().expect("a tree is shown");
        assert_ne!(shown.window, window);
        assert_eq!(
            shown.timeline().expect("it is laid out").rows[1].kind,
            RowKind::Stack
        );
    }
}
