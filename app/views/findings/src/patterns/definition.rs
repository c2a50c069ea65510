//! The definition of a pattern, unfolded by clicks.

use callgrove_actions::context::ViewContext;
use callgrove_session::{InspectCommand, OutlineLine, PatternId, Unfolding};
use egui::{Label, Pos2, Rect, RichText, ScrollArea, Sense, Ui, Vec2, WidgetInfo};

use super::state::PatternsState;

/// Height of a line, in points.
const LINE_HEIGHT: f32 = 20.0;
/// Indentation of a line relative to its parent, in points.
const INDENT: f32 = 14.0;
/// Width of the fold sign, in points.
const SIGN: f32 = 14.0;
/// Maximum depth that keys unfold.
const MAX_DEPTH: usize = 12;

/// Draws the lines that are in view; a click on a nested pattern unfolds it.
pub(super) fn definition_ui(
    ctx: &mut ViewContext<'_>,
    (id, state): (PatternId, &mut PatternsState),
    ui: &mut Ui,
) {
    let mut new_depth = None;
    ui.horizontal(|ui| {
        let depth = state.unfolding.depth;
        let fold = ui.add_enabled(depth > 0, egui::Button::new("Fold (←)").small());
        if fold.clicked() {
            new_depth = Some(depth.saturating_sub(1));
        }
        let unfold = ui.add_enabled(depth < MAX_DEPTH, egui::Button::new("Unfold (→)").small());
        if unfold.clicked() {
            new_depth = Some(depth + 1);
        }
        let levels = if depth == 1 { "level" } else { "levels" };
        ui.add(Label::new(RichText::new(format!("{depth} {levels} unfolded")).weak()).truncate());
    });
    let mut toggled = None;
    let mut looked_at = None;
    let lines = state.outline(id);
    ScrollArea::both()
        .id_salt("definition")
        .auto_shrink(false)
        .show_rows(ui, LINE_HEIGHT, lines.len(), |ui, rows| {
            ui.spacing_mut().item_spacing = Vec2::ZERO;
            for line in &lines[rows] {
                let response = line_ui(ctx, line, ui);
                if response.double_clicked() {
                    looked_at = line.pattern;
                } else if response.clicked() && line.pattern.is_some() {
                    toggled = Some(line.path.clone());
                }
            }
        });
    if let Some(path) = toggled {
        state.unfolding.toggle(&path);
    }
    if looked_at.is_some() {
        ctx.send(InspectCommand::Pattern(looked_at));
    }
    if let Some(depth) = new_depth {
        state.unfolding = Unfolding::to_depth(depth);
    }
}

/// Unfolds one more level, or folds one.
pub(super) fn unfold_level(unfolding: &mut Unfolding, by: isize) {
    let depth = unfolding.depth.saturating_add_signed(by).min(MAX_DEPTH);
    *unfolding = Unfolding::to_depth(depth);
}

fn line_ui(ctx: &ViewContext<'_>, line: &OutlineLine, ui: &mut Ui) -> egui::Response {
    let left = line.indent as f32 * INDENT + SIGN;
    let font = egui::FontId::proportional(13.0);
    let color = ctx.theme.text();
    let galley = ui.painter().layout_no_wrap(line.text.clone(), font, color);
    let width = (left + galley.size().x + 16.0).max(ui.available_width());
    let sense = if line.pattern.is_some() {
        Sense::click()
    } else {
        Sense::hover()
    };
    let (rect, response) = ui.allocate_exact_size(Vec2::new(width, LINE_HEIGHT), sense);
    let verb = match (line.pattern.is_some(), line.is_unfolded) {
        (false, _) => "",
        (true, true) => "Fold ",
        (true, false) => "Unfold ",
    };
    response.widget_info(|| {
        let role = if line.pattern.is_some() {
            egui::Role::Button
        } else {
            egui::Role::Label
        };
        WidgetInfo::labeled(role, true, format!("{verb}{}", line.text))
    });
    let is_hot = response.hovered() || response.has_focus();
    if is_hot && line.pattern.is_some() {
        ui.painter()
            .rect_filled(rect, 2.0, ctx.theme.card_focused());
    }
    let middle = rect.center().y;
    let x = rect.left() + left;
    if line.pattern.is_some() {
        let sign = if line.is_unfolded { "▼" } else { "▶" };
        let at = Pos2::new(x - SIGN + 2.0, middle);
        let font = egui::FontId::proportional(11.0);
        let weak = ctx.theme.weak_text();
        (ui.painter()).text(at, egui::Align2::LEFT_CENTER, sign, font, weak);
    }
    let mut x = x;
    if let Some(func) = line.func {
        let mark = Rect::from_center_size(Pos2::new(x + 4.0, middle), Vec2::splat(8.0));
        ui.painter()
            .rect_filled(mark, 2.0, ctx.theme.function(func));
        x += 12.0;
    }
    let at = Pos2::new(x, middle - galley.size().y / 2.0);
    ui.painter().galley(at, galley, color);
    if line.pattern.is_some() {
        response.on_hover_text("Click to unfold it here, double-click to select it as a pattern")
    } else {
        response
    }
}
