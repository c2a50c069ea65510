//! The curve of a pattern's durations, in three parts with different colours and hatches.

use callgrove_actions::context::ViewContext;
use callgrove_actions::latest_answer::LatestAnswer;
use callgrove_model::count_of;
use callgrove_model::{DurationNs, thousands};
use callgrove_session::{CurveOf, JudgedPattern};
use callgrove_widgets::pointer_card;
use callgrove_widgets::theme::{SMALLEST_TEXT, Theme};
use egui::{
    Align2, Color32, FontId, Mesh, Painter, Pos2, Rangef, Rect, Role, Sense, Shape, Stroke, Ui,
    Vec2, WidgetInfo,
};

use super::handles::handles_ui;
use super::scale::{CurveScale, factor_text, share_text};
use super::selected_pattern::SelectedPattern;

/// Width of the duration labels at the left, in points.
const LEFT: f32 = 58.0;
/// Height of the share labels at the bottom, in points.
const BOTTOM: f32 = 18.0;
/// Height of the handle of q at the top, in points.
const TOP: f32 = 22.0;
/// Width of the handle of s at the right, in points.
const RIGHT: f32 = 30.0;
/// Height of the view from which the text above the curve wraps, in points.
const WRAPS_FROM: f32 = 190.0;
/// Width of the columns of the curve, in points.
const COLUMN: f32 = 1.0;
/// Distance between the lines of a hatch, in points.
const HATCH: f32 = 7.0;
/// Width of the line of a hatch, in points.
const LINE: f32 = 1.3;

/// A part of the curve.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CurvePart {
    /// The reference set: plain.
    Reference,
    /// Neither usual nor anomalous: hatched in one direction.
    Undecided,
    /// Beyond s × d: hatched in both directions, with a thick line.
    Anomalous,
}

impl CurvePart {
    pub(super) fn color(self, theme: &Theme) -> Color32 {
        match self {
            Self::Reference => theme.label_normal(),
            Self::Undecided => theme.warning(),
            Self::Anomalous => theme.abnormal(),
        }
    }

    fn line_width(self) -> f32 {
        match self {
            Self::Reference => 1.5,
            Self::Undecided => 2.2,
            Self::Anomalous => 3.2,
        }
    }
}

/// Draws the description, the curve and its handles; sends a new reference when a handle is dragged.
pub(super) fn curve_ui(
    ctx: &mut ViewContext<'_>,
    (chosen, curve): (SelectedPattern<'_>, &mut LatestAnswer<CurveOf>),
    ui: &mut Ui,
) {
    let reference = ctx.snapshot.inspected.reference;
    description_ui(chosen, ui);
    let (_, whole) = ui.allocate_space(ui.available_size().max(Vec2::new(60.0, 60.0)));
    let area = Rect::from_min_max(
        whole.min + Vec2::new(LEFT, TOP),
        whole.max - Vec2::new(RIGHT, BOTTOM),
    );
    if area.width() < 20.0 || area.height() < 20.0 {
        return;
    }
    let scale = CurveScale::new(area, chosen.pattern, chosen.judged.limit);
    let wanted = CurveOf {
        pattern: chosen.pattern.id,
        num_columns: (area.width() / COLUMN).ceil() as usize,
    };
    let known = (ctx.snapshot.calls()).and_then(|calls| curve.ask(calls, &wanted));
    let columns = known.filter(|(of, _)| of.pattern == wanted.pattern);
    let columns = columns.map_or(&[][..], |(_, columns)| columns);
    let id = ui.unique_id().with("curve");
    let response = ui.interact(area, id, Sense::hover());
    let text = description(chosen);
    response.widget_info(|| {
        let label = format!("Durations of {}", chosen.pattern.name);
        WidgetInfo {
            current_text_value: Some(text.clone()),
            ..WidgetInfo::labeled(Role::Canvas, true, label)
        }
    });
    let painter = ui.painter_at(whole);
    let drawing = CurveDrawing {
        theme: ctx.theme,
        painter: &painter,
        scale,
        chosen,
        columns,
    };
    drawing.paint();
    if let Some(pointer) = response.hover_pos()
        && let Some(duration) = drawing.duration_at(pointer.x)
    {
        let at = Pos2::new(pointer.x, scale.y(duration));
        painter.circle_stroke(at, 4.0, Stroke::new(1.5, ctx.theme.selection()));
        pointer_card(&response, egui::PopupAnchor::Pointer, ui, |ui| {
            ui.strong(duration.to_string());
            let rank = scale.rank_at(pointer.x);
            let slower = (chosen.pattern.num_occurrences).saturating_sub(rank + 1);
            ui.label(format!("{} are slower", thousands(slower)));
            ui.label(judgement_text(chosen.judged, duration));
        });
    }
    let changed = handles_ui(ctx, chosen, &scale, ui);
    if let Some(changed) = changed.filter(|changed| *changed != reference) {
        ctx.send(callgrove_session::InspectCommand::Reference(changed));
    }
}

fn judgement_text(judged: JudgedPattern, duration: DurationNs) -> &'static str {
    if duration <= judged.usual {
        "Not longer than usual"
    } else if duration <= judged.limit {
        "Longer than usual, but not anomalous"
    } else {
        "Anomalous"
    }
}

/// Returns the description of the curve: usual duration, and how many occurrences exceed it.
fn description(chosen: SelectedPattern<'_>) -> String {
    let [_, undecided, anomalous] = chosen.judged.counts;
    format!(
        "{} of {} longer than {} × d = {}, which cost {} above usual; {} neither usual nor anomalous",
        thousands(anomalous),
        count_of(chosen.pattern.num_occurrences, "occurrence"),
        factor_text(chosen.reference.factor),
        chosen.judged.limit,
        chosen.judged.excess,
        thousands(undecided),
    )
}

fn description_ui(chosen: SelectedPattern<'_>, ui: &mut Ui) {
    let text = format!(
        "Usual: d = {}, reached by {} of them. {}.",
        chosen.judged.usual,
        share_text(chosen.reference.share),
        description(chosen)
    );
    let label = egui::Label::new(egui::RichText::new(text).small());
    let wraps = ui.available_height() >= WRAPS_FROM;
    ui.add(if wraps {
        label.wrap()
    } else {
        label.truncate()
    });
}

struct CurveDrawing<'a> {
    theme: &'a Theme,
    painter: &'a Painter,
    scale: CurveScale,
    chosen: SelectedPattern<'a>,
    /// Durations from left to right; empty while they are unknown.
    columns: &'a [DurationNs],
}

impl CurveDrawing<'_> {
    fn paint(&self) {
        let area = self.scale.area;
        self.painter.rect_filled(area, 0.0, self.theme.canvas());
        self.paint_grid();
        if !self.columns.is_empty() {
            for (part, x) in self.parts() {
                self.paint_part(part, x);
            }
        }
        let y = self.scale.y(self.chosen.judged.usual);
        let stroke = Stroke::new(1.0, self.theme.weak_text());
        let ends = [area.left(), area.right()].map(|x| Pos2::new(x, y));
        self.painter
            .extend(Shape::dashed_line(&ends, stroke, 2.0, 3.0));
        let at = Pos2::new(area.right() + 4.0, y);
        self.text(at, Align2::LEFT_CENTER, "d".to_owned());
        let stroke = Stroke::new(1.0, self.theme.outline());
        self.painter
            .rect_stroke(area, 0.0, stroke, egui::StrokeKind::Outside);
    }

    /// Returns the parts of the curve that exist, each with its horizontal range.
    fn parts(&self) -> Vec<(CurvePart, Rangef)> {
        let [usual, undecided, _] = self.chosen.judged.counts;
        let bounds = [
            self.scale.area.left(),
            self.scale.x_after(usual),
            self.scale.x_after(usual + undecided),
            self.scale.area.right(),
        ];
        let parts = [
            CurvePart::Reference,
            CurvePart::Undecided,
            CurvePart::Anomalous,
        ];
        let ranges = bounds.windows(2).map(|ends| Rangef::new(ends[0], ends[1]));
        let placed = parts.into_iter().zip(ranges);
        placed.filter(|(_, x)| x.span() > 0.0).collect()
    }

    fn duration_at(&self, x: f32) -> Option<DurationNs> {
        let column = self.scale.column_at(x, self.columns.len());
        self.columns.get(column).copied()
    }

    fn y_at(&self, x: f32) -> f32 {
        self.scale.y(self.duration_at(x).unwrap_or_default())
    }

    /// Fills a part below the curve and draws its line, with one query for each column.
    fn paint_part(&self, part: CurvePart, x: Rangef) {
        let color = part.color(self.theme);
        let bottom = self.scale.area.bottom();
        let num_columns = (x.span() / COLUMN).ceil().max(1.0) as usize;
        let mut mesh = Mesh::default();
        let mut line = Vec::with_capacity(num_columns + 1);
        for column in 0..num_columns {
            let left = x.min + column as f32 * COLUMN;
            let right = (left + COLUMN).min(x.max);
            let y = self.y_at(f32::midpoint(left, right));
            let place = Rect::from_x_y_ranges(left..=right, y..=bottom);
            mesh.add_colored_rect(place, color.gamma_multiply(0.16));
            hatch(&mut mesh, part, place, color.gamma_multiply(0.75));
            line.push(Pos2::new(left, y));
        }
        line.push(Pos2::new(x.max, self.y_at(x.max - 0.01)));
        self.painter.add(Shape::mesh(mesh));
        let stroke = Stroke::new(part.line_width(), color);
        self.painter.add(Shape::line(line, stroke));
    }

    fn paint_grid(&self) {
        let area = self.scale.area;
        let stroke = Stroke::new(1.0, self.theme.grid());
        for duration in self.scale.duration_ticks() {
            let y = self.scale.y(duration);
            self.painter.hline(area.x_range(), y, stroke);
            let at = Pos2::new(area.left() - 5.0, y);
            self.text(at, Align2::RIGHT_CENTER, duration.to_string());
        }
        let mut free_from = f32::NEG_INFINITY;
        for (x, text) in self.scale.share_ticks() {
            self.painter.vline(x, area.y_range(), stroke);
            let width = text.chars().count() as f32 * SMALLEST_TEXT * 0.6;
            if x - width / 2.0 >= free_from && x + width / 2.0 <= area.right() + RIGHT {
                free_from = x + width / 2.0 + 4.0;
                let at = Pos2::new(x, area.bottom() + 3.0);
                self.text(at, Align2::CENTER_TOP, text);
            }
        }
    }

    fn text(&self, at: Pos2, anchor: Align2, text: String) {
        let font = FontId::proportional(SMALLEST_TEXT);
        let color = self.theme.weak_text();
        self.painter.text(at, anchor, text, font, color);
    }
}

/// Adds the lines of a hatch within one column.
fn hatch(mesh: &mut Mesh, part: CurvePart, column: Rect, color: Color32) {
    let ways: &[f32] = match part {
        CurvePart::Reference => &[],
        CurvePart::Undecided => &[1.0],
        CurvePart::Anomalous => &[1.0, -1.0],
    };
    for way in ways {
        // A line passes where x ± y is a multiple of the distance.
        let offset = (way * column.left()).rem_euclid(HATCH);
        let mut y = (column.top() / HATCH).floor() * HATCH + offset;
        while y < column.bottom() {
            let line = Rangef::new(y.max(column.top()), (y + LINE).min(column.bottom()));
            if line.span() > 0.0 {
                mesh.add_colored_rect(Rect::from_x_y_ranges(column.x_range(), line), color);
            }
            y += HATCH;
        }
    }
}
