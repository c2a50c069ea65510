//! The timeline canvas as a widget.

use callgrove_model::count_of;
use callgrove_model::{DurationNs, ExecRef, LaneIdx, thousands};
use callgrove_session::{RowQuery, TimeRange};
use egui::containers::scroll_area::{DragScroll, ScrollSource};
use egui::{Key, Pos2, Rangef, Rect, Response, Role, ScrollArea, Sense, Ui, Vec2, WidgetInfo};

use super::cascade::{call_of, cascade_text, cascade_tooltip};
use super::iterations::{ITERATIONS_HEIGHT, split_axis};
use super::lanes::LaneCanvas;
use super::layout::{PlacedRow, bar_at, nearest_line, rows_between};
use super::names::{GUTTER, NameAction, name_ui};
use super::navigate::{
    begin_range, choose_range, glide, keep_arrows, snapped, take_keys, take_steps,
};
use super::paint::LaneDrawing;
use super::scene::{Hovered, LaneActions, LaneScene, RowRequest};
use super::tooltip::tooltip_ui;
use super::window::Window;

/// Height of the axis, in points.
const AXIS_HEIGHT: f32 = 30.0;
/// Height of the band that shows the number of messages that are not drawn, in points.
const DENSITY_HEIGHT: f32 = 6.0;
/// Largest distance from the pointer to an arrow or a narrow bar that it hits, in points.
const HIT_RADIUS: f32 = 4.0;

/// Actions requested by keys.
struct Keys {
    wants_fit: bool,
    wants_search: bool,
    wants_mark: bool,
    stepped: Option<ExecRef>,
}

impl LaneCanvas {
    /// Draws axis and rows in the remaining area of `ui`, and handles zoom, pan, clicks and keys.
    pub fn ui(&mut self, shown: &LaneScene<'_>, ui: &mut Ui) -> LaneActions {
        let query = RowQuery {
            selection: shown.tree,
            pinned: shown.ranks.pinned.clone(),
            lifted: shown.ranks.lifted.clone(),
            filter: shown.ranks.filter.clone(),
            sort: shown.ranks.sort,
            root: shown.cascade.map(|cascade| {
                let lane = self.trace().lane(cascade.root.lane);
                (lane.program, lane.rank)
            }),
        };
        self.arrange(shown.theme, &query, shown.call, shown.flagged);
        let width = ui.available_width();
        let has_iterations = shown
            .patterns
            .is_some_and(|known| !known.iteration_bounds().is_empty());
        let axis_height = AXIS_HEIGHT
            + if has_iterations {
                ITERATIONS_HEIGHT
            } else {
                0.0
            };
        let (_, axis) = ui.allocate_space(Vec2::new(width, axis_height));
        let (_, band) = ui.allocate_space(Vec2::new(width, DENSITY_HEIGHT));
        let looked_at = self.view.window();
        let scroll = ScrollSource {
            mouse_wheel: false,
            drag: DragScroll::Never,
            scroll_bar: true,
        };
        let height = if shown.theme.is_for_picture() {
            // No row of a picture is cut.
            self.height_of_whole_rows(ui.available_height())
        } else {
            f32::INFINITY
        };
        let done = ScrollArea::vertical()
            .id_salt(shown.id)
            .max_height(height)
            .scroll_source(scroll)
            .auto_shrink(false)
            .show(ui, |ui| self.rows_ui(shown, (axis, band), ui))
            .inner;
        if self.view.window() != looked_at {
            ui.ctx().request_repaint();
        }
        done
    }

    /// Returns the largest height up to `available` in which no row is cut, but at least the first.
    fn height_of_whole_rows(&self, available: f32) -> f32 {
        let mut bottoms = self.rows().iter().map(|row| row.bottom);
        let first = bottoms.next().unwrap_or(available);
        if self.height() <= available {
            return available;
        }
        bottoms
            .take_while(|bottom| *bottom <= available)
            .last()
            .unwrap_or(first)
    }

    fn rows_ui(
        &mut self,
        shown: &LaneScene<'_>,
        (axis, band): (Rect, Rect),
        ui: &mut Ui,
    ) -> LaneActions {
        let size = Vec2::new(
            ui.available_width(),
            self.height().max(ui.available_height()),
        );
        let (_, area) = ui.allocate_space(size);
        let edge = (area.left() + GUTTER).min(area.right() - 1.0);
        let (gutter, plot) = (area.with_max_x(edge), area.with_min_x(edge));
        let (axis, band) = (axis.with_min_x(edge), band.with_min_x(edge));
        self.scroll(area, plot, ui);
        // The id is explicit, so that a drag continues while neighbouring panels appear and disappear.
        let id = egui::Id::unique(("time canvas", shown.id));
        let response = ui.interact(plot, id, Sense::click_and_drag());
        if response.clicked() {
            response.request_focus();
        }
        keep_arrows(&response, ui);
        begin_range(self, shown.range, &response, ui);
        scroll_by_wheel(gutter, ui);
        glide(self, &response, ui);
        let keys = self.keys_ui(shown, &response, ui);
        let clip = ui.clip_rect().y_range();
        let heights = Rangef::new(clip.min - area.top(), clip.max - area.top());
        let in_view = rows_between(self.rows(), heights);
        let width_px = plot.width() * ui.pixels_per_point();
        if self.lay_out(in_view.clone(), width_px, shown.tree, shown.call) {
            ui.ctx().request_repaint();
        }
        let tile = self.view.window().tile(width_px);
        self.find_occurrences(in_view.clone(), tile, shown.occurrences);
        let mut value = self.in_view_text(&in_view);
        value.extend(shown.cascade.map(cascade_text));
        response.widget_info(|| WidgetInfo {
            current_text_value: Some(value.clone()),
            ..WidgetInfo::labeled(Role::Canvas, true, shown.name)
        });
        let painter = ui.painter_at(plot);
        let drawing = LaneDrawing {
            canvas: self,
            shown,
            painter: &painter,
            plot,
            in_view: in_view.clone(),
        };
        let hovered = draw(&drawing, &response, (axis, band), ui);
        let middle = response.hover_pos().unwrap_or(plot.center());
        let snapped_time = snapped(drawing.canvas, plot, middle, ui);
        let mark = shown
            .range
            .or(Some(TimeRange::between(snapped_time, snapped_time)));
        let pressed = response.interact_pointer_pos();
        let pressed = pressed.map(|at| snapped(drawing.canvas, plot, at, ui));
        let range = choose_range(self, &response, pressed, ui);
        let clicked = hovered.filter(|_| response.clicked() && range.is_none());
        self.zoom_to(clicked.as_ref(), &response);
        let row = self.names_ui(in_view, (gutter, shown.theme.is_for_picture()), ui);
        if let Some(cascade) = shown.cascade {
            self.paint_root_name(cascade, gutter, shown.theme, ui);
        }
        if let Some(Hovered::Bar { lane, bar }) = clicked {
            self.clicked = Some(ExecRef {
                lane,
                exec: bar.exec,
            });
        } else if let Some(call) = clicked.as_ref().and_then(call_of) {
            self.clicked = Some(call);
        }
        LaneActions {
            clicked,
            stepped: keys.stepped,
            range,
            row,
            wants_fit: keys.wants_fit,
            wants_search: keys.wants_search,
            mark: mark.filter(|_| keys.wants_mark),
        }
    }

    /// Scrolls to the first row, or to the row that was requested.
    fn scroll(&mut self, area: Rect, plot: Rect, ui: &Ui) {
        if std::mem::take(&mut self.wants_top) {
            let first = Rect::from_min_size(area.min, Vec2::splat(1.0));
            ui.scroll_to_rect(first, None);
        }
        if let Some(row) = self.scroll_to.take().and_then(|lane| self.row_of(lane)) {
            let row = self.rows()[row];
            let y = area.top() + row.top..=area.top() + row.bottom;
            ui.scroll_to_rect(Rect::from_x_y_ranges(plot.x_range(), y), None);
        }
    }

    /// Handles keys: those that zoom and pan while the canvas has the focus or the pointer, the others while it has the
    /// focus.
    fn keys_ui(&mut self, shown: &LaneScene<'_>, response: &Response, ui: &Ui) -> Keys {
        let is_typing = ui.ctx().text_edit_focused();
        let is_focused = !is_typing && (shown.has_focus || response.has_focus());
        let takes_keys = is_focused || (!is_typing && response.contains_pointer());
        if takes_keys {
            take_keys(self, response, ui);
        }
        let pressed = |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
        Keys {
            wants_fit: takes_keys && pressed(Key::F),
            wants_search: is_focused && pressed(Key::Slash),
            wants_mark: takes_keys && pressed(Key::M),
            stepped: is_focused
                .then(|| take_steps(self, shown.call, ui))
                .flatten(),
        }
    }

    /// Zooms to a call on a double click.
    fn zoom_to(&mut self, hovered: Option<&Hovered>, response: &Response) {
        if let Some(Hovered::Bar { bar, .. }) = hovered
            && response.double_clicked()
        {
            self.view.jump(Window::around(bar.from, bar.to, 0.1));
        }
    }

    fn names_ui(
        &mut self,
        in_view: std::ops::Range<usize>,
        (gutter, is_for_picture): (Rect, bool),
        ui: &mut Ui,
    ) -> Option<(LaneIdx, RowRequest)> {
        let mut asked = None;
        for row in Vec::from(&self.rows()[in_view]) {
            let lane = row.lane.lane;
            match name_ui(self, &row, (gutter, is_for_picture), ui) {
                Some(NameAction::Fold(is_stack)) => {
                    self.set_stack(lane, is_stack);
                    ui.ctx().request_repaint();
                }
                Some(NameAction::Request(request)) => asked = Some((lane, request)),
                None => {}
            }
        }
        asked
    }

    /// Returns the visible content as text.
    fn in_view_text(&self, in_view: &std::ops::Range<usize>) -> String {
        let length = DurationNs(self.view.window().length_ns());
        let rows = self.rows();
        let lanes = rows
            .get(in_view.start)
            .zip(rows.get(in_view.end.saturating_sub(1)));
        let lanes = lanes.map_or_else(String::new, |(first, last)| {
            let name = |row: &PlacedRow| self.names().name(self.trace(), row.lane.lane);
            format!(", {} to {}", name(first), name(last))
        });
        let messages = self.messages().map_or_else(String::new, |found| {
            format!(
                ", {} of {} drawn",
                thousands(found.arrows.len()),
                count_of(found.num_messages, "message")
            )
        });
        format!(
            "{length} in view{lanes} of {}{messages}",
            count_of(rows.len(), "row")
        )
    }
}

/// Scrolls the rows when the wheel is used over the names.
fn scroll_by_wheel(gutter: Rect, ui: &Ui) {
    if ui.rect_contains_pointer(gutter.intersect(ui.clip_rect())) {
        let wheel = ui.input(egui::InputState::smooth_scroll_delta);
        ui.scroll_with_delta(Vec2::new(0.0, wheel.y));
    }
}

/// Paints everything. Returns the item under the pointer.
fn draw(
    drawing: &LaneDrawing<'_>,
    response: &Response,
    (axis, band): (Rect, Rect),
    ui: &Ui,
) -> Option<Hovered> {
    let pointer = response.hover_pos().filter(|_| !response.dragged());
    let hovered = pointer.and_then(|pointer| hit(drawing, pointer));
    drawing.paint_rows(hovered.as_ref());
    let above = ui.ctx().layer_painter(ui.layer_id());
    let clipped = |rect: Rect| above.with_clip_rect(rect.expand2(Vec2::new(0.0, 1.0)));
    let time = pointer.map(|pointer| snapped(drawing.canvas, drawing.plot, pointer, ui));
    let (axis, iterations) = split_axis(axis, !drawing.iteration_bounds().is_empty());
    drawing.paint_axis(&clipped(axis), axis, time);
    drawing.paint_iterations(&above, iterations, time);
    drawing.paint_density(&clipped(band), band);
    let write = pointer.and_then(|pointer| drawing.write_at(pointer));
    if hovered.is_some() || write.is_some() {
        let under_pointer = (hovered.as_ref(), write.as_ref());
        match &hovered {
            Some(path) if call_of(path).is_some() => {
                cascade_tooltip(drawing.canvas, path, (response, ui));
            }
            _ => tooltip_ui(
                (drawing.canvas, drawing.shown.patterns),
                under_pointer,
                response,
                ui,
            ),
        }
    }
    hovered
}

/// Returns the item under the pointer: a mark, else the path of a delay, else a bar, else an arrow.
fn hit(drawing: &LaneDrawing<'_>, pointer: Pos2) -> Option<Hovered> {
    let near = drawing
        .marks()
        .map(|mark| (mark, drawing.mark_rect(&mark).distance_to_pos(pointer)))
        .filter(|&(_, distance)| distance <= 3.0)
        .min_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((mark, _)) = near {
        return Some(Hovered::Mark(mark));
    }
    if let Some(path) = drawing.cascade_at(pointer) {
        return Some(path);
    }
    let canvas = drawing.canvas;
    let y = pointer.y - drawing.plot.top();
    let rows = canvas.rows();
    let row = rows.get(rows.partition_point(|row| row.bottom <= y));
    let bar = row.and_then(|row| {
        let slack_ns = (drawing.pixel_ns() * 1.5) as i64;
        let bars = canvas.bars(row.lane.lane);
        let bar = bar_at(bars, row.level_at(y)?, drawing.time_at(pointer.x), slack_ns)?;
        Some(Hovered::Bar {
            lane: row.lane.lane,
            bar: *bar,
        })
    });
    bar.or_else(|| {
        let arrows = &canvas.messages()?.arrows;
        let lines = arrows.iter().enumerate();
        let lines = lines.filter_map(|(at, arrow)| Some((at, drawing.arrow_line(arrow)?)));
        let nearest = nearest_line(lines, pointer, HIT_RADIUS)?;
        Some(Hovered::Arrow(arrows[nearest]))
    })
}
