//! The names of the rows: they fold and unfold stacks, and have a context menu.

use callgrove_session::RowKind;
use egui::{
    Align2, Color32, Key, Pos2, Rect, Response, Role, Sense, Shape, Stroke, Ui, Vec2, WidgetInfo,
};

use super::lanes::LaneCanvas;
use super::layout::PlacedRow;
use super::scene::RowRequest;

/// Width of the column of row names, in points.
pub const GUTTER: f32 = 104.0;
/// Width of the triangle before a name, in points.
const TRIANGLE_WIDTH: f32 = 16.0;
/// Indentation of the threads of a rank, in points.
const INSET: f32 = 8.0;
/// Maximum height of a name, in points.
const NAME_HEIGHT: f32 = 22.0;
/// Row height below which names are smaller, in points.
const SMALL_BELOW: f32 = 18.0;

/// An action at the name of a row.
pub(super) enum NameAction {
    /// Shows the row as a stack, or as a strip.
    Fold(bool),
    /// Another action.
    Request(RowRequest),
}

/// Draws the name of a row in the left part of `gutter`, whose top is that of the first row.
pub(super) fn name_ui(
    canvas: &LaneCanvas,
    row: &PlacedRow,
    (gutter, is_for_picture): (Rect, bool),
    ui: &mut Ui,
) -> Option<NameAction> {
    let height = (row.bottom - row.top).min(NAME_HEIGHT);
    let top = gutter.top() + row.bars_top.min(row.bottom - height);
    let inset = if row.lane.is_first { 0.0 } else { INSET };
    let place = Rect::from_min_max(
        Pos2::new(gutter.left() + inset, top),
        Pos2::new(gutter.right() - 6.0, top + height),
    );
    let name = canvas.names().name(canvas.trace(), row.lane.lane);
    let short = if row.lane.is_first {
        name.as_str()
    } else {
        // `rank 7` is drawn above it.
        name.splitn(3, ' ').nth(2).unwrap_or(&name)
    };
    let is_stack = row.kind != RowKind::Strip;
    if is_for_picture {
        paint_name(ui, place, short, ui.visuals().text_color());
        return None;
    }
    let response = button(ui, place, (&name, short), is_stack, row);
    let mut done = response.clicked().then_some(NameAction::Fold(!is_stack));
    if response.has_focus()
        && ui.input(|input| input.modifiers.is_none() && input.key_pressed(Key::P))
    {
        done = Some(NameAction::Request(RowRequest::Pin));
    }
    response.context_menu(|ui| {
        let pin = if row.lane.is_pinned {
            "Unpin"
        } else {
            "Pin to the top (P)"
        };
        let fold = if is_stack {
            "Show as a strip"
        } else {
            "Show as a stack"
        };
        for (text, action) in [
            (fold, NameAction::Fold(!is_stack)),
            (pin, NameAction::Request(RowRequest::Pin)),
            ("Only this rank", NameAction::Request(RowRequest::Only)),
            ("All ranks", NameAction::Request(RowRequest::All)),
        ] {
            if ui.button(text).clicked() {
                done = Some(action);
                ui.close();
            }
        }
    });
    done
}

/// Paints a name and returns its rectangle.
fn paint_name(ui: &Ui, place: Rect, short: &str, color: Color32) -> Rect {
    let style = if place.height() < SMALL_BELOW + 4.0 {
        egui::TextStyle::Small
    } else {
        egui::TextStyle::Body
    };
    let font = style.resolve(ui.style());
    let at = Pos2::new(place.left() + TRIANGLE_WIDTH, place.center().y);
    let painter = ui.painter_at(place.expand(2.0));
    painter.text(at, Align2::LEFT_CENTER, short, font, color)
}

/// Draws a name with a triangle that points down while the lane is unfolded.
fn button(
    ui: &mut Ui,
    place: Rect,
    (name, short): (&str, &str),
    is_open: bool,
    row: &PlacedRow,
) -> Response {
    let response = ui.interact(place, ui.unique_id().with(name), Sense::click());
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_open, name));
    let is_pinned = row.lane.is_pinned;
    let is_strong = response.hovered() || response.has_focus() || is_pinned;
    let color = if is_strong {
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
    let painter = ui.painter_at(place.expand(2.0));
    painter.add(Shape::convex_polygon(corners.to_vec(), color, Stroke::NONE));
    let text = paint_name(ui, place, short, color);
    if is_pinned {
        let stroke = Stroke::new(1.5, color);
        painter.hline(text.x_range(), text.bottom(), stroke);
    }
    if response.has_focus() {
        let stroke = Stroke::new(1.0, color);
        painter.rect_stroke(place, 2.0, stroke, egui::StrokeKind::Inside);
    }
    let fold = if is_open {
        "Show this row as a strip"
    } else {
        "Show the calls of this row as a stack"
    };
    response
        .on_hover_cursor(egui::CursorIcon::PointingHand)
        .on_hover_text(format!("{name}\n{fold}; right click for more"))
}
