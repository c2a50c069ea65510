//! Anomalies over time: by step, or by update.

use callgrove_actions::context::ViewContext;
use callgrove_watch::HeatMap;
use callgrove_widgets::text::{clock, number};
use callgrove_widgets::view_header;
use egui::{Align2, FontId, Pos2, Rect, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo};

use super::heat::{GUTTER, RIGHT};

/// Height of the plot, in points.
const HEIGHT: f32 = 96.0;

/// The horizontal axis of the plot.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum HistoryAxis {
    /// I/O steps, aligned with the heat map below.
    #[default]
    Steps,
    /// Updates of the server.
    Updates,
}

/// The selected axis.
#[derive(Default)]
pub(crate) struct HistoryState {
    axis: HistoryAxis,
}

/// A line with its name.
struct Line {
    name: String,
    values: Vec<f64>,
    color: egui::Color32,
}

/// Draws the lines: all anomalies, and those of the selected scope.
pub(super) fn history_ui(
    ctx: &ViewContext<'_>,
    state: &mut HistoryState,
    map: &HeatMap,
    ui: &mut Ui,
) {
    view_header(ui, "Anomalies over time", |ui| {
        ui.selectable_value(&mut state.axis, HistoryAxis::Updates, "By update")
            .on_hover_text("By packet of the server since this window connected");
        ui.selectable_value(&mut state.axis, HistoryAxis::Steps, "By step")
            .on_hover_text("By I/O step, aligned with the heat map below");
    });
    let (lines, ends) = match state.axis {
        HistoryAxis::Steps => by_step(ctx, map),
        HistoryAxis::Updates => by_update(ctx),
    };
    let size = Vec2::new(ui.available_width(), HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let plot = Rect::from_min_max(
        Pos2::new(rect.left() + GUTTER, rect.top() + 2.0),
        Pos2::new(rect.right() - RIGHT, rect.bottom() - 16.0),
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, label(&lines)));
    paint(ctx, &lines, &ends, plot, ui);
    if let Some(pointer) = response.hover_pos() {
        let num_values = lines.first().map_or(0, |line| line.values.len());
        let share = ((pointer.x - plot.left()) / plot.width()).clamp(0.0, 1.0);
        let at = ((share * num_values as f32) as usize).min(num_values.saturating_sub(1));
        let mut texts: Vec<String> = lines
            .iter()
            .filter_map(|line| Some(format!("{}: {}", line.name, number(*line.values.get(at)?))))
            .collect();
        if state.axis == HistoryAxis::Steps
            && let Some(column) = map.columns.get(at)
        {
            texts.insert(
                0,
                format!("Steps {} to {}", column.first_step, column.last_step),
            );
        }
        response.on_hover_text(texts.join("\n"));
    }
}

fn label(lines: &[Line]) -> String {
    let totals: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {}", line.name, number(line.values.iter().sum())))
        .collect();
    format!("Anomalies over time: {}", totals.join(", "))
}

fn by_step(ctx: &ViewContext<'_>, map: &HeatMap) -> (Vec<Line>, [String; 2]) {
    let mut lines = vec![Line {
        name: "all anomalies".to_owned(),
        values: map
            .columns
            .iter()
            .map(|column| column.total as f64)
            .collect(),
        color: ctx.theme.normal(),
    }];
    let chosen = ctx.scope().rank;
    let row = map
        .rows
        .iter()
        .find(|row| chosen.is_some_and(|(app, rank)| row.ranks.contains(app, rank)));
    lines.extend(row.map(|row| {
        Line {
            name: ctx.ranks_name(row.ranks),
            values: row
                .cells
                .iter()
                .map(|count| count.unwrap_or(0) as f64)
                .collect(),
            color: ctx.theme.label_normal(),
        }
    }));
    let first = map.columns.first().map(|column| column.first_step);
    let last = map.columns.last().map(|column| column.last_step);
    let step = |step: Option<u64>| step.map_or_else(String::new, |step| format!("step {step}"));
    (lines, [step(first), step(last)])
}

fn by_update(ctx: &ViewContext<'_>) -> (Vec<Line>, [String; 2]) {
    let entries = &ctx.snapshot.watch.updates().entries;
    let focus = ctx.scope();
    let line = |name: String, color, value: &dyn Fn(usize) -> f64| Line {
        name,
        values: (0..entries.len()).map(value).collect(),
        color,
    };
    let mut lines = vec![
        line("all anomalies".to_owned(), ctx.theme.normal(), &|at| {
            entries[at].num_anomalies as f64
        }),
        line(
            "ranks with anomalies".to_owned(),
            ctx.theme.weak_text(),
            &|at| entries[at].num_ranks as f64,
        ),
        line(
            "functions with anomalies".to_owned(),
            ctx.theme.accent(),
            &|at| entries[at].by_func.len() as f64,
        ),
    ];
    let count_of = |list: &[((u32, u32), u64)], key: (u32, u32)| {
        let place = list.binary_search_by_key(&key, |(known, _)| *known);
        place.map_or(0.0, |at| list[at].1 as f64)
    };
    if let Some(key) = focus.rank {
        let name = ctx.rank_name(key.0, key.1);
        let value = |at: usize| count_of(&entries[at].by_rank, key);
        lines.push(line(name, ctx.theme.label_normal(), &value));
    }
    if let Some(key) = focus.func {
        let name = ctx.func_name(key.0, key.1);
        let value = |at: usize| count_of(&entries[at].by_func, key);
        lines.push(line(name, ctx.theme.label_normal(), &value));
    }
    let time =
        |ms: Option<u64>| ms.map_or_else(String::new, |ms| clock(ms * 1_000)[..8].to_owned());
    let ends = [
        time(entries.front().map(|entry| entry.created_at_ms)),
        time(entries.back().map(|entry| entry.created_at_ms)),
    ];
    (lines, ends)
}

/// Paints each value as a step as wide as its column, above the cells that it sums up.
fn paint(ctx: &ViewContext<'_>, lines: &[Line], ends: &[String; 2], plot: Rect, ui: &Ui) {
    let painter = ui.painter_at(plot.expand2(Vec2::new(GUTTER, 16.0)));
    painter.rect_filled(plot, 0.0, ctx.theme.canvas());
    let largest = lines
        .iter()
        .flat_map(|line| &line.values)
        .copied()
        .fold(1.0, f64::max);
    let height = |value: f64| plot.bottom() - plot.height() * (value / largest) as f32;
    for line in lines {
        let width = plot.width() / line.values.len().max(1) as f32;
        let points: Vec<Pos2> = line
            .values
            .iter()
            .enumerate()
            .flat_map(|(at, &value)| {
                let left = plot.left() + width * at as f32;
                [left, left + width].map(|x| Pos2::new(x, height(value)))
            })
            .collect();
        painter.add(Shape::line(points, Stroke::new(1.5, line.color)));
    }
    let font = FontId::proportional(11.5);
    let text = |at: Pos2, anchor: Align2, text: &str| {
        painter.text(at, anchor, text, font.clone(), ctx.theme.weak_text());
    };
    let left = plot.left() - 4.0;
    text(
        Pos2::new(left, plot.top()),
        Align2::RIGHT_TOP,
        &number(largest),
    );
    text(Pos2::new(left, plot.bottom()), Align2::RIGHT_BOTTOM, "0");
    text(
        plot.left_bottom() + Vec2::new(0.0, 2.0),
        Align2::LEFT_TOP,
        &ends[0],
    );
    text(
        plot.right_bottom() + Vec2::new(0.0, 2.0),
        Align2::RIGHT_TOP,
        &ends[1],
    );
    for (at, line) in lines.iter().enumerate() {
        let place = plot.left_top() + Vec2::new(6.0, 2.0 + 13.0 * at as f32);
        painter.text(
            place,
            Align2::LEFT_TOP,
            format!("— {}", line.name),
            font.clone(),
            line.color,
        );
    }
}
