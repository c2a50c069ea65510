//! The matrix on the screen: a row waits for a column.

use egui::{
    Align2, FontId, Key, Mesh, PopupAnchor, Pos2, Rect, Response, Role, Sense, Shape, Stroke,
    StrokeKind, Ui, Vec2, WidgetInfo,
};

use super::grid::WaitGrid;
use crate::app::Action;
use crate::context::ViewContext;
use crate::theme::SMALLEST_TEXT;
use crate::widgets::{move_by_arrows, pointer_card};

/// Cells are at least and at most so wide, in points.
pub(super) const LEAST_CELL: f32 = 3.0;
const MOST_CELL: f32 = 56.0;
/// Room for the numbers of ranks, in points.
const LEFT: f32 = 44.0;
const TOP: f32 = 34.0;
/// Cells from this width on have their time in them.
const TEXT_FROM: f32 = 42.0;
/// Between two numbers of ranks, in points.
const NUMBER_SPACING: f32 = 24.0;

/// How many groups of ranks have room.
pub(super) fn max_groups(room: Vec2) -> usize {
    let side = (room.x - LEFT).min(room.y - TOP).max(LEAST_CELL);
    (side / LEAST_CELL) as usize
}

/// Where the cells are.
struct Places<'a> {
    grid: &'a WaitGrid,
    area: Rect,
    cell: f32,
}

impl Places<'_> {
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

/// Draws the square; a click puts both ranks on top of the timeline. `cursor` is moved by the arrows.
pub(super) fn matrix_ui(
    ctx: &mut ViewContext<'_>,
    grid: &WaitGrid,
    cursor: &mut Option<(usize, usize)>,
    ui: &mut Ui,
) {
    let (_, whole) = ui.allocate_space(ui.available_size().max(Vec2::splat(60.0)));
    let room = (whole.width() - LEFT).min(whole.height() - TOP - 4.0);
    let cell = (room / grid.len().max(1) as f32).min(MOST_CELL);
    let side = cell * grid.len() as f32;
    let area = Rect::from_min_size(whole.min + Vec2::new(LEFT, TOP), Vec2::splat(side));
    let places = Places { grid, area, cell };
    let id = ui.unique_id().with("matrix of waits");
    let response = ui.interact(area, id, Sense::click());
    let summary = grid.summary();
    response.widget_info(|| WidgetInfo {
        current_text_value: Some(summary.clone()),
        ..WidgetInfo::labeled(Role::Canvas, true, "Who waits for whom")
    });
    paint(ctx, &places, whole, ui);
    let pointed = response.hover_pos().and_then(|pointer| places.at(pointer));
    if response.clicked() {
        response.request_focus();
    }
    let asked = keys(cursor, grid, &response, ui);
    let marked = pointed.or(cursor.filter(|_| response.has_focus()));
    let Some((row, column)) = marked else { return };
    paint_cross(ctx, &places, (row, column), ui);
    let anchor = if pointed.is_some() {
        PopupAnchor::Pointer
    } else {
        PopupAnchor::Position(places.rect(row, column).right_bottom())
    };
    pointer_card(&response, anchor, ui, |ui| {
        ui.label(grid.words(row, column));
        if row != column {
            let back = grid.cell(column, row);
            if back.num_waits > 0 {
                ui.weak(format!("The other way round: {}", back.total));
            }
        }
        if grid.per_group() == 1 {
            ui.weak("Click puts both ranks on top of the timeline");
        }
    });
    if (response.clicked() || asked) && grid.per_group() == 1 {
        *cursor = Some((row, column));
        for &(program, rank) in grid.ranks(column).iter().chain(grid.ranks(row)) {
            ctx.actions.push(Action::ShowRank(program, rank));
        }
    }
}

fn paint(ctx: &ViewContext<'_>, places: &Places<'_>, whole: Rect, ui: &Ui) {
    let Places { grid, area, cell } = *places;
    let painter = ui.painter_at(whole);
    painter.rect_filled(area, 0.0, ctx.theme.canvas());
    let gap = if cell > 8.0 { 1.0 } else { 0.0 };
    let mut mesh = Mesh::default();
    for row in 0..grid.len() {
        for column in 0..grid.len() {
            let known = grid.cell(row, column);
            let place = places.rect(row, column);
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
                    let middle = places.rect(row, column).center();
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
        let above = Pos2::new(places.rect(0, group).center().x, area.top() - 3.0);
        painter.text(above, Align2::CENTER_BOTTOM, &number, font.clone(), weak);
        let beside = Pos2::new(area.left() - 4.0, places.rect(group, 0).center().y);
        painter.text(beside, Align2::RIGHT_CENTER, &number, font.clone(), weak);
    }
    let above = Pos2::new(area.left(), area.top() - 18.0);
    painter.text(above, Align2::LEFT_BOTTOM, "… for rank", font.clone(), weak);
    let corner = Pos2::new(area.left() - 4.0, area.top() - 3.0);
    painter.text(corner, Align2::RIGHT_BOTTOM, "waits", font, weak);
}

/// Three digits at most: `1.2 s`, `341 µs`.
fn short_time(time: callgrove_model::DurationNs) -> String {
    let mut unit = 1_i64;
    while time.0 / unit >= 1_000 {
        unit *= 10;
    }
    let rounded = (time.0 + unit / 2) / unit * unit;
    callgrove_model::DurationNs(rounded).to_string()
}

/// Row and column of the cell that is pointed at.
fn paint_cross(ctx: &ViewContext<'_>, places: &Places<'_>, (row, column): (usize, usize), ui: &Ui) {
    let cell = places.rect(row, column);
    let faint = Stroke::new(1.0, ctx.theme.selection().gamma_multiply(0.5));
    let across = cell
        .with_min_x(places.area.left())
        .with_max_x(places.area.right());
    let along = cell
        .with_min_y(places.area.top())
        .with_max_y(places.area.bottom());
    for rect in [across, along] {
        ui.painter()
            .rect_stroke(rect, 0.0, faint, StrokeKind::Inside);
    }
    let stroke = Stroke::new(2.0, ctx.theme.selection());
    ui.painter()
        .rect_stroke(cell, 0.0, stroke, StrokeKind::Outside);
}

/// In focus the arrows move the cursor; whether Enter asks for its ranks.
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
