//! The matrix as a widget: a row waits for a column.

use callgrove_actions::Action;
use callgrove_actions::context::ViewContext;
use callgrove_widgets::theme::SMALLEST_TEXT;
use callgrove_widgets::{move_by_arrows, pointer_card};
use egui::{
    Align2, FontId, Key, Mesh, PopupAnchor, Pos2, Rect, Response, Role, Sense, Shape, Stroke,
    StrokeKind, Ui, Vec2, WidgetInfo,
};

use super::grid::WaitGrid;

/// Minimum size of a cell, in points.
pub(super) const MIN_CELL: f32 = 3.0;
/// Maximum size of a cell, in points.
const MAX_CELL: f32 = 56.0;
/// Width of the rank numbers at the left, in points.
const LEFT: f32 = 44.0;
/// Height of the rank numbers at the top, in points.
const TOP: f32 = 34.0;
/// Cell width from which cells show their time, in points.
const TEXT_FROM: f32 = 42.0;
/// Minimum distance between two rank numbers, in points.
const NUMBER_SPACING: f32 = 24.0;

/// Returns the number of groups of ranks that fit into `size`.
pub(super) fn max_groups(size: Vec2) -> usize {
    let side = (size.x - LEFT).min(size.y - TOP).max(MIN_CELL);
    (side / MIN_CELL) as usize
}

/// The positions of the cells.
struct CellLayout<'a> {
    grid: &'a WaitGrid,
    area: Rect,
    cell: f32,
}

impl CellLayout<'_> {
    fn rect(&self, row: usize, column: usize) -> Rect {
        let at = Vec2::new(column as f32, row as f32) * self.cell;
        Rect::from_min_size(self.area.min + at, Vec2::splat(self.cell))
    }

    fn at(&self, pointer: Pos2) -> Option<(usize, usize)> {
        if !self.area.contains(pointer) {
            return None;
        }
        let place = (pointer - self.area.min) / self.cell;
        let at = (place.y as usize, place.x as usize);
        (at.0 < self.grid.len() && at.1 < self.grid.len()).then_some(at)
    }
}

/// Draws the matrix; a click pins both ranks to the top of the timeline. `cursor` is moved by the arrow keys.
pub(super) fn matrix_ui(
    ctx: &mut ViewContext<'_>,
    grid: &WaitGrid,
    cursor: &mut Option<(usize, usize)>,
    ui: &mut Ui,
) {
    let (_, whole) = ui.allocate_space(ui.available_size().max(Vec2::splat(60.0)));
    let available = (whole.width() - LEFT).min(whole.height() - TOP - 4.0);
    let cell = (available / grid.len().max(1) as f32).min(MAX_CELL);
    let side = cell * grid.len() as f32;
    let area = Rect::from_min_size(whole.min + Vec2::new(LEFT, TOP), Vec2::splat(side));
    let layout = CellLayout { grid, area, cell };
    let id = ui.unique_id().with("matrix of waits");
    let response = ui.interact(area, id, Sense::click());
    let summary = grid.summary();
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(summary.clone()),
        ..WidgetInfo::labeled(Role::Canvas, true, "Matrix of waits between ranks")
    });
    paint(ctx, &layout, whole, ui);
    let pointed = response.hover_pos().and_then(|pointer| layout.at(pointer));
    if response.clicked() {
        response.request_focus();
    }
    let asked = keys(cursor, grid, &response, ui);
    let marked = pointed.or(cursor.filter(|_| response.has_focus()));
    let Some((row, column)) = marked else { return };
    paint_cross(ctx, &layout, (row, column), ui);
    let anchor = if pointed.is_some() {
        PopupAnchor::Pointer
    } else {
        PopupAnchor::Position(layout.rect(row, column).right_bottom())
    };
    pointer_card(&response, anchor, ui, |ui| {
        ui.label(grid.text(row, column));
        if row != column {
            let back = grid.cell(column, row);
            if back.num_waits > 0 {
                ui.weak(format!("In the opposite direction: {}", back.total));
            }
        }
        if grid.per_group() == 1 {
            ui.weak("Click to pin both ranks to the top of the timeline");
        }
    });
    if (response.clicked() || asked) && grid.per_group() == 1 {
        *cursor = Some((row, column));
        for &(program, rank) in grid.ranks(column).iter().chain(grid.ranks(row)) {
            ctx.actions.push(Action::ShowRank(program, rank));
        }
    }
}

fn paint(ctx: &ViewContext<'_>, layout: &CellLayout<'_>, whole: Rect, ui: &Ui) {
    let CellLayout { grid, area, cell } = *layout;
    let painter = ui.painter_at(whole);
    painter.rect_filled(area, 0.0, ctx.theme.canvas());
    let gap = if cell > 8.0 { 1.0 } else { 0.0 };
    let mut mesh = Mesh::default();
    for row in 0..grid.len() {
        for column in 0..grid.len() {
            let known = grid.cell(row, column);
            let place = layout.rect(row, column);
            let place = place
                .with_max_x(place.right() - gap)
                .with_max_y(place.bottom() - gap);
            if known.num_waits > 0 {
                mesh.add_colored_rect(place, ctx.theme.heat(grid.share(known)));
            } else if row == column {
                mesh.add_colored_rect(place, ctx.theme.grid());
            }
        }
    }
    painter.add(Shape::mesh(mesh));
    let stroke = Stroke::new(1.0, ctx.theme.outline());
    painter.rect_stroke(area, 0.0, stroke, StrokeKind::Outside);
    let font = FontId::proportional(SMALLEST_TEXT);
    if cell >= TEXT_FROM {
        for row in 0..grid.len() {
            for column in 0..grid.len() {
                let known = grid.cell(row, column);
                if known.num_waits > 0 {
                    let color = ctx.theme.text_on(ctx.theme.heat(grid.share(known)));
                    let middle = layout.rect(row, column).center();
                    let text = short_time(known.total);
                    painter.text(middle, Align2::CENTER_CENTER, text, font.clone(), color);
                }
            }
        }
    }
    let weak = ctx.theme.weak_text();
    let every = (NUMBER_SPACING / cell.max(0.1)).ceil().max(1.0) as usize;
    for group in (0..grid.len()).step_by(every) {
        let number = grid.number(group);
        let above = Pos2::new(layout.rect(0, group).center().x, area.top() - 3.0);
        painter.text(above, Align2::CENTER_BOTTOM, &number, font.clone(), weak);
        let left_of_row = Pos2::new(area.left() - 4.0, layout.rect(group, 0).center().y);
        painter.text(
            left_of_row,
            Align2::RIGHT_CENTER,
            &number,
            font.clone(),
            weak,
        );
    }
    let above = Pos2::new(area.left(), area.top() - 18.0);
    painter.text(above, Align2::LEFT_BOTTOM, "… for rank", font.clone(), weak);
    let corner = Pos2::new(area.left() - 4.0, area.top() - 3.0);
    painter.text(corner, Align2::RIGHT_BOTTOM, "waits", font, weak);
}

/// Formats a time with at most three digits: `1.2 s`, `341 µs`.
fn short_time(time: callgrove_model::DurationNs) -> String {
    let mut unit = 1_i64;
    while time.0 / unit >= 1_000 {
        unit *= 10;
    }
    let rounded = (time.0 + unit / 2) / unit * unit;
    callgrove_model::DurationNs(rounded).to_string()
}

/// Paints row and column of the hovered cell.
fn paint_cross(
    ctx: &ViewContext<'_>,
    layout: &CellLayout<'_>,
    (row, column): (usize, usize),
    ui: &Ui,
) {
    let cell = layout.rect(row, column);
    let faint = Stroke::new(1.0, ctx.theme.selection().gamma_multiply(0.5));
    let across = cell
        .with_min_x(layout.area.left())
        .with_max_x(layout.area.right());
    let along = cell
        .with_min_y(layout.area.top())
        .with_max_y(layout.area.bottom());
    for rect in [across, along] {
        ui.painter()
            .rect_stroke(rect, 0.0, faint, StrokeKind::Inside);
    }
    let stroke = Stroke::new(2.0, ctx.theme.selection());
    ui.painter()
        .rect_stroke(cell, 0.0, stroke, StrokeKind::Outside);
}

/// Moves the cursor by the arrow keys of the focused matrix. Returns whether Enter was pressed.
fn keys(
    cursor: &mut Option<(usize, usize)>,
    grid: &WaitGrid,
    response: &Response,
    ui: &Ui,
) -> bool {
    if !response.has_focus() || grid.len() == 0 {
        return false;
    }
    let size = (grid.len(), grid.len());
    *cursor = Some(move_by_arrows(
        cursor.unwrap_or_default(),
        size,
        response,
        ui,
    ));
    ui.input(|input| input.key_pressed(Key::Enter))
}
