//! The handles of q and s: dragged by the pointer, moved by the arrow keys, reset by a double click.

use callgrove_actions::context::ViewContext;
use callgrove_session::PatternReference;
use callgrove_widgets::theme::SMALLEST_TEXT;
use egui::{
    Align2, CursorIcon, EventFilter, FontId, Id, Key, Pos2, Rect, Response, Sense, Shape, Stroke,
    Ui, Vec2, WidgetInfo,
};

use super::scale::{CurveScale, factor_text, rounded_factor, share_text};
use super::selected_pattern::SelectedPattern;

/// Largest distance from the line of a handle at which it is grabbed, in points.
const REACH: f32 = 6.0;
/// Half the size of the grip of a handle, in points.
const GRIP: f32 = 5.0;
/// Change of q by one key press; with Shift a tenth of it.
const SHARE_STEP: f64 = 0.01;
/// Change of s by one key press; with Shift a tenth of it.
const FACTOR_STEP: f64 = 0.1;

/// A handle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Handle {
    /// The handle of q, a vertical line.
    Share,
    /// The handle of s, a horizontal line.
    Factor,
}

/// Returns whether a handle has the keyboard focus.
pub(super) fn has_focus(ui: &Ui) -> bool {
    let focused = ui.memory(egui::Memory::focused);
    [Handle::Share, Handle::Factor]
        .into_iter()
        .any(|handle| focused == Some(id_of(handle)))
}

fn id_of(handle: Handle) -> Id {
    Id::unique(match handle {
        Handle::Share => "handle of q",
        Handle::Factor => "handle of s",
    })
}

/// Draws both handles. Returns the reference that the user moved them to.
pub(super) fn handles_ui(
    ctx: &ViewContext<'_>,
    chosen: SelectedPattern<'_>,
    scale: &CurveScale,
    ui: &Ui,
) -> Option<PatternReference> {
    let reference = ctx.snapshot.inspected.reference;
    let share = handle_ui(ctx, Handle::Share, (chosen, scale), reference, ui);
    let after = share.unwrap_or(reference);
    let factor = handle_ui(ctx, Handle::Factor, (chosen, scale), after, ui);
    factor.or(share)
}

fn handle_ui(
    ctx: &ViewContext<'_>,
    handle: Handle,
    (chosen, scale): (SelectedPattern<'_>, &CurveScale),
    reference: PatternReference,
    ui: &Ui,
) -> Option<PatternReference> {
    let [top, right] = scale.handles(reference.share, chosen.judged.limit);
    let area = scale.area;
    let place = match handle {
        Handle::Share => Rect::from_x_y_ranges(
            top.x - REACH..=top.x + REACH,
            area.top() - 20.0..=area.bottom(),
        ),
        Handle::Factor => Rect::from_x_y_ranges(
            area.left()..=area.right() + 26.0,
            right.y - REACH..=right.y + REACH,
        ),
    };
    let response = ui.interact(place, id_of(handle), Sense::click_and_drag());
    let (name, value) = match handle {
        Handle::Share => ("q, the share that is usual", reference.share),
        Handle::Factor => ("s, how many times d is anomalous", reference.factor),
    };
    response.widget_info(|| WidgetInfo::slider(true, value, name));
    if response.clicked() || response.drag_started() {
        response.request_focus();
    }
    paint(ctx, handle, (chosen, scale), (reference, &response), ui);
    let cursor = match handle {
        Handle::Share => CursorIcon::ResizeHorizontal,
        Handle::Factor => CursorIcon::ResizeVertical,
    };
    let hint = match handle {
        Handle::Share => "q: the fastest share of the occurrences, which counts as usual",
        Handle::Factor => "s: an occurrence longer than s × d is anomalous",
    };
    let text = format!("{hint}. Drag it or use the arrow keys; double-click resets it");
    let response = response.on_hover_cursor(cursor).on_hover_text(text);
    if response.double_clicked() {
        return Some(default_of(handle, reference));
    }
    if let Some(pointer) = response
        .interact_pointer_pos()
        .filter(|_| response.dragged())
    {
        return Some(match handle {
            Handle::Share => scale.with_share_at(pointer.x, reference),
            Handle::Factor => scale.with_factor_at(pointer.y, chosen.judged.usual, reference),
        });
    }
    keys(handle, reference, &response, ui)
}

fn default_of(handle: Handle, reference: PatternReference) -> PatternReference {
    let default = PatternReference::default();
    match handle {
        Handle::Share => PatternReference {
            share: default.share,
            ..reference
        },
        Handle::Factor => PatternReference {
            factor: default.factor,
            ..reference
        },
    }
}

/// Handles the keys of the focused handle: arrows move it; Delete resets it.
fn keys(
    handle: Handle,
    reference: PatternReference,
    response: &Response,
    ui: &Ui,
) -> Option<PatternReference> {
    if !response.has_focus() {
        return None;
    }
    let filter = EventFilter {
        horizontal_arrows: true,
        vertical_arrows: true,
        ..EventFilter::default()
    };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let pressed = |key| ui.input(|input| input.num_presses(key)) as f64;
    if pressed(Key::Delete) > 0.0 {
        return Some(default_of(handle, reference));
    }
    let more = pressed(Key::ArrowUp) + pressed(Key::ArrowRight);
    let less = pressed(Key::ArrowDown) + pressed(Key::ArrowLeft);
    let is_fine = ui.input(|input| input.modifiers.shift);
    let steps = (more - less) * if is_fine { 0.1 } else { 1.0 };
    if steps == 0.0 {
        return None;
    }
    Some(match handle {
        Handle::Share => PatternReference {
            share: ((reference.share + steps * SHARE_STEP) * 1e4)
                .round()
                .clamp(0.0, 1e4)
                / 1e4,
            ..reference
        },
        Handle::Factor => PatternReference {
            factor: rounded_factor(reference.factor + steps * FACTOR_STEP),
            ..reference
        },
    })
}

fn paint(
    ctx: &ViewContext<'_>,
    handle: Handle,
    (chosen, scale): (SelectedPattern<'_>, &CurveScale),
    (reference, response): (PatternReference, &Response),
    ui: &Ui,
) {
    let area = scale.area;
    let [top, right] = scale.handles(reference.share, chosen.judged.limit);
    let is_hot = response.hovered() || response.dragged() || response.has_focus();
    let color = if is_hot {
        ctx.theme.selection()
    } else {
        ctx.theme.text()
    };
    let painter = ui.painter();
    let stroke = Stroke::new(if is_hot { 2.0 } else { 1.2 }, color);
    let font = FontId::proportional(SMALLEST_TEXT);
    match handle {
        Handle::Share => {
            painter.vline(top.x, area.y_range(), stroke);
            let grip = vec![
                top,
                top + Vec2::new(-GRIP, -GRIP * 1.4),
                top + Vec2::new(GRIP, -GRIP * 1.4),
            ];
            painter.add(Shape::convex_polygon(grip, color, Stroke::NONE));
            let text = format!("q {}", share_text(reference.share));
            let galley = painter.layout_no_wrap(text, font, color);
            let half = galley.size().x / 2.0;
            let most = (area.right() - half).max(area.left() + half);
            let x = top.x.clamp(area.left() + half, most) - half;
            let y = area.top() - GRIP * 1.4 - galley.size().y;
            painter.galley(Pos2::new(x, y), galley, color);
        }
        Handle::Factor => {
            let ends = [Pos2::new(area.left(), right.y), right];
            painter.extend(Shape::dashed_line(&ends, stroke, 6.0, 4.0));
            let grip = vec![
                right,
                right + Vec2::new(GRIP * 1.4, -GRIP),
                right + Vec2::new(GRIP * 1.4, GRIP),
            ];
            painter.add(Shape::convex_polygon(grip, color, Stroke::NONE));
            let text = format!("{} × d", factor_text(reference.factor));
            // At the left, nothing is below the line at this height.
            let at = Pos2::new(area.left() + 4.0, right.y - 2.0);
            painter.text(at, Align2::LEFT_BOTTOM, text, font, color);
        }
    }
}
