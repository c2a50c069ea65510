//! The live heat map of anomalies by rank and step.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_model::count_of;
use callgrove_watch::{HeatMap, RankRange, Scope, WatchCommand};
use callgrove_widgets::table::empty_ui;
use callgrove_widgets::text::{num_anomalies, number};
use callgrove_widgets::{move_by_arrows, pointer_card, view_header};
use egui::{
    Align2, FontId, Key, Mesh, PopupAnchor, Pos2, Rect, Response, Role, ScrollArea, Sense, Shape,
    Stroke, StrokeKind, Ui, Vec2, WidgetInfo,
};

use super::blocks::{block_facts_ui, blocks_ui};

/// Width of the names of ranks, in points.
pub(super) const GUTTER: f32 = 64.0;
/// Width at the right reserved for the scroll bar, in points.
pub(super) const RIGHT: f32 = 12.0;
/// Minimum width of a column, in points.
const MIN_COLUMN_WIDTH: f32 = 3.0;
/// Range of the height of a row, in points.
const ROW_HEIGHTS: std::ops::RangeInclusive<f32> = 6.0..=32.0;

/// The layout, and the position of the keyboard cursor.
#[derive(Default)]
pub(crate) struct HeatState {
    made_of: Option<MadeOf>,
    map: Arc<HeatMap>,
    /// Row and column of the keyboard cursor.
    cursor: Option<(usize, usize)>,
    /// True if rows are sorted by their number of anomalies.
    is_by_total: bool,
    /// Column where a drag began.
    drag_from: Option<usize>,
}

/// The inputs of a layout: revision, open block, steps, columns.
type MadeOf = (u64, Option<RankRange>, Option<(u64, u64)>, usize);

impl HeatState {
    /// Returns the heat map for this width; laid out again only if an input changed.
    pub(crate) fn map(&mut self, ctx: &ViewContext<'_>, width: f32) -> Arc<HeatMap> {
        let available = (width - GUTTER - RIGHT).max(MIN_COLUMN_WIDTH);
        let max_columns = (available / MIN_COLUMN_WIDTH) as usize;
        let steps = ctx.scope().steps.filter(|(first, last)| first < last);
        let watch = &ctx.snapshot.watch;
        let made_of = (watch.revision(), watch.open_block(), steps, max_columns);
        if self.made_of != Some(made_of) {
            self.made_of = Some(made_of);
            let ranks = ctx.snapshot.watch.shown_ranks();
            let map = ranks.map(|ranks| HeatMap::new(ranks, steps, max_columns));
            self.map = Arc::new(map.unwrap_or_default());
        }
        Arc::clone(&self.map)
    }
}

/// The positions of rows and columns.
struct Grid<'a> {
    map: &'a HeatMap,
    /// Rows of the map in display order.
    order: Vec<usize>,
    area: Rect,
    column_width: f32,
    row_height: f32,
}

/// Draws the heat map. A click on a cell queries its executions or opens its block, a drag selects steps.
pub(crate) fn heat_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut HeatState,
    map: &HeatMap,
    ui: &mut Ui,
) {
    let title = if map.is_of_blocks {
        "Anomalies by block of ranks and I/O step"
    } else {
        "Anomalies by rank and I/O step"
    };
    view_header(ui, title, |ui| {
        legend_ui(ctx, map, ui);
        ui.checkbox(&mut state.is_by_total, "Sort by total")
            .on_hover_text(
                "List the ranks with the most anomalies in these steps first, not by rank",
            );
        if ctx.scope().steps.is_some()
            && ui
                .button("All steps")
                .on_hover_text("Show all steps")
                .clicked()
        {
            let focus = Scope {
                steps: None,
                ..ctx.scope()
            };
            ctx.watch(WatchCommand::Scope(focus));
        }
    });
    blocks_ui(ctx, ui);
    if ctx.snapshot.watch.shown_ranks().is_none() {
        return empty_ui("Waiting for the ranks of this block", ui);
    }
    if map.columns.is_empty() {
        return empty_ui("No data in this range of I/O steps", ui);
    }
    let available = ui.available_height();
    let row_height =
        (available / map.rows.len() as f32).clamp(*ROW_HEIGHTS.start(), *ROW_HEIGHTS.end());
    ScrollArea::vertical()
        .id_salt("heat map")
        .auto_shrink(false)
        .show(ui, |ui| {
            let size = Vec2::new(ui.available_width(), row_height * map.rows.len() as f32);
            let (_, whole) = ui.allocate_space(size);
            let area = Rect::from_min_max(
                Pos2::new(whole.left() + GUTTER, whole.top()),
                Pos2::new(whole.right() - RIGHT, whole.bottom()),
            );
            let grid = Grid {
                map,
                order: order(map, state.is_by_total),
                area,
                column_width: area.width() / map.columns.len() as f32,
                row_height,
            };
            let response = ui.interact(area, ui.unique_id().with("cells"), Sense::click_and_drag());
            response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, label(map)));
            paint(ctx, &grid, ui);
            interact(ctx, state, &grid, &response, ui);
        });
}

fn label(map: &HeatMap) -> String {
    let total: u64 = map.columns.iter().map(|column| column.total).sum();
    let first = map.columns.first().map_or(0, |column| column.first_step);
    let last = map.columns.last().map_or(0, |column| column.last_step);
    let rows = if map.is_of_blocks {
        format!("{} of ranks", count_of(map.rows.len(), "block"))
    } else {
        count_of(map.rows.len(), "rank")
    };
    format!(
        "Heat map of {} on {rows}, steps {first} to {last}",
        num_anomalies(total),
    )
}

/// Returns the rows in display order.
fn order(map: &HeatMap, is_by_total: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..map.rows.len()).collect();
    if is_by_total {
        order.sort_by_key(|&row| std::cmp::Reverse(map.rows[row].total));
    }
    order
}

/// Returns the position of `count` on the colour scale: logarithmic, since counts differ by orders of magnitude.
fn share(count: u64, max: u64) -> f32 {
    ((count as f32).ln_1p() / (max.max(1) as f32).ln_1p()).clamp(0.0, 1.0)
}

fn legend_ui(ctx: &ViewContext<'_>, map: &HeatMap, ui: &mut Ui) {
    ui.weak(number(map.max_cell as f64));
    let (rect, _) = ui.allocate_exact_size(Vec2::new(72.0, 10.0), Sense::hover());
    let num_parts = 24;
    for part in 0..num_parts {
        let share = part as f32 / (num_parts - 1) as f32;
        let width = rect.width() / num_parts as f32;
        let place = Rect::from_min_size(
            Pos2::new(rect.left() + width * part as f32, rect.top()),
            Vec2::new(width + 0.5, rect.height()),
        );
        ui.painter().rect_filled(place, 0.0, ctx.theme.heat(share));
    }
    ui.weak("1");
}

impl Grid<'_> {
    fn cell(&self, shown_row: usize, column: usize) -> Rect {
        let min = Pos2::new(
            self.area.left() + self.column_width * column as f32,
            self.area.top() + self.row_height * shown_row as f32,
        );
        Rect::from_min_size(min, Vec2::new(self.column_width, self.row_height))
    }

    fn column_at(&self, x: f32) -> usize {
        let column = ((x - self.area.left()) / self.column_width).max(0.0) as usize;
        column.min(self.map.columns.len() - 1)
    }

    fn cell_at(&self, pointer: Pos2) -> Option<(usize, usize)> {
        if !self.area.contains(pointer) {
            return None;
        }
        let row = ((pointer.y - self.area.top()) / self.row_height) as usize;
        (row < self.order.len()).then(|| (row, self.column_at(pointer.x)))
    }

    fn steps(&self, first_column: usize, last_column: usize) -> (u64, u64) {
        (
            self.map.columns[first_column].first_step,
            self.map.columns[last_column].last_step,
        )
    }

    fn focus(&self, (shown_row, column): (usize, usize)) -> Scope {
        let ranks = self.map.rows[self.order[shown_row]].ranks;
        Scope {
            rank: Some((ranks.app, ranks.first_rank)),
            func: None,
            steps: Some(self.steps(column, column)),
        }
    }

    /// Opens the block of a cell, or queries the executions of its rank.
    fn choose(&self, ctx: &mut ViewContext<'_>, cell: (usize, usize), ui: &Ui) {
        if self.map.is_of_blocks {
            let ranks = self.map.rows[self.order[cell.0]].ranks;
            ctx.watch(WatchCommand::ShowRanks(Some(ranks)));
        } else {
            ctx.choose(self.focus(cell), ui);
        }
    }
}

fn paint(ctx: &ViewContext<'_>, grid: &Grid<'_>, ui: &Ui) {
    let clip = ui.clip_rect();
    let painter = ui.painter_at(clip);
    painter.rect_filled(grid.area, 0.0, ctx.theme.canvas());
    let gap = if grid.column_width > 6.0 { 1.0 } else { 0.0 };
    let mut mesh = Mesh::default();
    let chosen = ctx.scope().rank;
    for (shown_row, &row) in grid.order.iter().enumerate() {
        let line = grid.cell(shown_row, 0).with_max_x(grid.area.right());
        if !clip.intersects(line) {
            continue;
        }
        let cells = &grid.map.rows[row].cells;
        for (column, count) in cells.iter().enumerate() {
            let place = grid.cell(shown_row, column);
            let place = place
                .with_max_x(place.right() - gap)
                .with_max_y(place.bottom() - 1.0);
            match count {
                None => mesh.add_colored_rect(place, ctx.theme.grid()),
                Some(0) => {}
                Some(count) => {
                    let color = ctx.theme.heat(share(*count, grid.map.max_cell));
                    mesh.add_colored_rect(place, color);
                }
            }
        }
        let ranks = grid.map.rows[row].ranks;
        if chosen.is_some_and(|(app, rank)| ranks.contains(app, rank)) {
            let stroke = Stroke::new(1.5, ctx.theme.selection());
            painter.rect_stroke(line, 0.0, stroke, StrokeKind::Outside);
        }
    }
    painter.add(Shape::mesh(mesh));
    names(ctx, grid, ui);
}

/// Paints the names of as many rows as fit.
fn names(ctx: &ViewContext<'_>, grid: &Grid<'_>, ui: &Ui) {
    let every = (14.0 / grid.row_height).ceil().max(1.0) as usize;
    let font = FontId::proportional(11.5);
    for (shown_row, &row) in grid.order.iter().enumerate().step_by(every) {
        let place = grid.cell(shown_row, 0);
        if ui.clip_rect().intersects(place) {
            let ranks = grid.map.rows[row].ranks;
            let name = if ranks.first_rank == ranks.last_rank {
                ctx.rank_name(ranks.app, ranks.first_rank)
            } else {
                format!("{}–{}", ranks.first_rank, ranks.last_rank)
            };
            let name = name.replace(" of program ", " / ");
            ui.painter().text(
                Pos2::new(grid.area.left() - 4.0, place.center().y),
                Align2::RIGHT_CENTER,
                name,
                font.clone(),
                ctx.theme.weak_text(),
            );
        }
    }
}

fn interact(
    ctx: &mut ViewContext<'_>,
    state: &mut HeatState,
    grid: &Grid<'_>,
    response: &Response,
    ui: &Ui,
) {
    let hovered = response
        .hover_pos()
        .and_then(|pointer| grid.cell_at(pointer));
    if response.clicked() {
        response.request_focus();
        if let Some(cell) = hovered {
            grid.choose(ctx, cell, ui);
        }
    }
    take_drag(ctx, state, grid, response, ui);
    take_keys(ctx, state, grid, response, ui);
    let marked = hovered.or(state.cursor.filter(|_| response.has_focus()));
    let Some(cell) = marked else {
        return;
    };
    let stroke = Stroke::new(1.5, ctx.theme.selection());
    ui.painter()
        .rect_stroke(grid.cell(cell.0, cell.1), 0.0, stroke, StrokeKind::Outside);
    let anchor = if hovered.is_some() {
        PopupAnchor::Pointer
    } else {
        PopupAnchor::Position(grid.cell(cell.0, cell.1).right_bottom())
    };
    pointer_card(response, anchor, ui, |ui| tooltip_ui(ctx, grid, cell, ui));
}

/// Selects steps by a drag along them.
fn take_drag(
    ctx: &mut ViewContext<'_>,
    state: &mut HeatState,
    grid: &Grid<'_>,
    response: &Response,
    ui: &Ui,
) {
    let Some(pointer) = response.interact_pointer_pos() else {
        return;
    };
    if response.drag_started() {
        let origin = ui.input(|input| input.pointer.press_origin());
        state.drag_from = origin.map(|origin| grid.column_at(origin.x));
    }
    let Some(from) = state.drag_from else {
        return;
    };
    let to = grid.column_at(pointer.x);
    let (first, last) = (from.min(to), from.max(to));
    let marked = Rect::from_min_max(
        grid.cell(0, first).left_top(),
        Pos2::new(grid.cell(0, last).right(), grid.area.bottom()),
    );
    let stroke = Stroke::new(1.0, ctx.theme.selection());
    ui.painter()
        .rect_stroke(marked, 0.0, stroke, StrokeKind::Inside);
    if response.drag_stopped() {
        state.drag_from = None;
        let focus = Scope {
            steps: Some(grid.steps(first, last)),
            ..ctx.scope()
        };
        ctx.watch(WatchCommand::Scope(focus));
    }
}

/// Handles keys: arrows move the cursor, Enter has the effect of a click on its cell.
fn take_keys(
    ctx: &mut ViewContext<'_>,
    state: &mut HeatState,
    grid: &Grid<'_>,
    response: &Response,
    ui: &Ui,
) {
    if !response.has_focus() {
        return;
    }
    let size = (grid.order.len(), grid.map.columns.len());
    let cursor = state.cursor.unwrap_or((0, size.1 - 1));
    let cursor = move_by_arrows(cursor, size, response, ui);
    state.cursor = Some(cursor);
    if ui.input(|input| input.key_pressed(Key::Enter)) {
        grid.choose(ctx, cursor, ui);
    }
}

fn tooltip_ui(ctx: &ViewContext<'_>, grid: &Grid<'_>, cell: (usize, usize), ui: &mut Ui) {
    let row = &grid.map.rows[grid.order[cell.0]];
    let (first, last) = grid.steps(cell.1, cell.1);
    ui.strong(ctx.ranks_name(row.ranks));
    ui.label(if first == last {
        format!("Step {first}")
    } else {
        format!("Steps {first} to {last}")
    });
    ui.label(match row.cells[cell.1] {
        None => "No data".to_owned(),
        Some(count) => num_anomalies(count),
    });
    if grid.map.is_of_blocks {
        block_facts_ui(ctx, row.ranks, ui);
        ui.weak("Click to see its ranks");
    } else {
        ui.weak("Click to query its executions");
    }
}
