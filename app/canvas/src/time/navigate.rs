//! Zoom, pan, snapping and selection of a time range, by pointer and keys.

use callgrove_model::{ExecRef, TimeNs};
use callgrove_session::{CallWay, StepFrom, TimeRange};
use egui::{EventFilter, Key, Modifiers, Pos2, Rect, Response, Ui, Vec2};

use super::lanes::LaneCanvas;
use super::scene::RangeChoice;
use super::window::Window;

/// Zoom factor of one key press.
const KEY_ZOOM: f64 = 1.4;
/// Fraction of the window that one key press pans.
const KEY_PAN: f64 = 0.15;
/// Distance within which the pointer snaps to the edge of a call, in points.
const SNAP_RADIUS: f32 = 5.0;
/// Distance that Page up and Page down scroll, in points.
const PAGE: f32 = 200.0;

/// Zooms to the pointer by wheel and pinch; pans and scrolls by drag.
pub(super) fn glide(canvas: &mut LaneCanvas, response: &Response, ui: &Ui) {
    let now = ui.input(|input| input.time);
    let plot = response.rect;
    let (window, bounds) = (canvas.view.window(), canvas.view.bounds());
    let mut new = window;
    if let Some(pointer) = response.hover_pos() {
        let (wheel, pinch) = ui.input(|input| (input.smooth_scroll_delta(), input.zoom_delta()));
        let factor = f64::from((wheel.y * 0.005).exp() * pinch);
        if (factor - 1.0).abs() > 1e-4 {
            let anchor = f64::from((pointer.x - plot.left()) / plot.width());
            new = new.zoomed(factor, anchor, bounds);
        }
        if wheel.x != 0.0 {
            new = new.panned(f64::from(-wheel.x / plot.width()), bounds);
        }
    }
    if response.dragged() && canvas.range_from.is_none() {
        let delta = response.drag_delta();
        new = new.panned(f64::from(-delta.x / plot.width()), bounds);
        ui.scroll_with_delta(Vec2::new(0.0, delta.y));
    }
    canvas.view.glide(new, now);
}

/// Handles the keys that zoom and pan.
pub(super) fn take_keys(canvas: &mut LaneCanvas, response: &Response, ui: &Ui) {
    let plot = response.rect;
    let anchor = response.hover_pos().map_or(0.5, |pointer| {
        f64::from((pointer.x - plot.left()) / plot.width())
    });
    let (window, bounds) = (canvas.view.window(), canvas.view.bounds());
    let now = ui.input(|input| input.time);
    let pressed = |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
    let glide = |canvas: &mut LaneCanvas, window: Window| canvas.view.glide(window, now);
    if pressed(Key::W) {
        glide(canvas, window.zoomed(KEY_ZOOM, anchor, bounds));
    } else if pressed(Key::S) {
        glide(canvas, window.zoomed(1.0 / KEY_ZOOM, anchor, bounds));
    } else if pressed(Key::A) {
        glide(canvas, window.panned(-KEY_PAN, bounds));
    } else if pressed(Key::D) {
        glide(canvas, window.panned(KEY_PAN, bounds));
    } else if pressed(Key::Home) {
        canvas.view.jump(window.centred_at(bounds.from));
    } else if pressed(Key::End) {
        canvas.view.jump(window.centred_at(bounds.to));
    } else if pressed(Key::PageUp) {
        ui.scroll_with_delta(Vec2::new(0.0, PAGE));
    } else if pressed(Key::PageDown) {
        ui.scroll_with_delta(Vec2::new(0.0, -PAGE));
    } else if pressed(Key::OpenBracket) || is_alt(ui, Key::ArrowLeft) {
        canvas.view.go_back();
    } else if pressed(Key::CloseBracket) || is_alt(ui, Key::ArrowRight) {
        canvas.view.go_forward();
    }
}

fn is_alt(ui: &Ui, key: Key) -> bool {
    ui.input(|input| input.modifiers.matches_exact(Modifiers::ALT) && input.key_pressed(key))
}

/// Returns the call that an arrow key goes to: caller, callee, or the previous or next one on the same level; with
/// Shift the one that runs at the same time on the next row. Without a selected call it is the longest in view. The
/// step is kept until its target is known.
pub(super) fn take_steps(
    canvas: &mut LaneCanvas,
    call: Option<ExecRef>,
    ui: &Ui,
) -> Option<ExecRef> {
    const ARROWS: [Key; 4] = [
        Key::ArrowUp,
        Key::ArrowDown,
        Key::ArrowLeft,
        Key::ArrowRight,
    ];
    let (shift, key) = ui.input(|input| {
        let is_plain = input.modifiers.is_none() || input.modifiers.shift_only();
        let key = ARROWS
            .into_iter()
            .find(|&key| is_plain && input.key_pressed(key));
        (input.modifiers.shift, key)
    });
    if let Some(key) = key {
        let Some(call) = call else {
            return longest_in_view(canvas);
        };
        let way = match (shift, key) {
            (true, Key::ArrowUp) => step_to_row(canvas, call, -1),
            (true, Key::ArrowDown) => step_to_row(canvas, call, 1),
            (_, Key::ArrowUp) => Some(CallWay::Caller),
            (_, Key::ArrowDown) => Some(CallWay::LongestCallee),
            (_, Key::ArrowLeft) => Some(CallWay::Before),
            (_, Key::ArrowRight) => Some(CallWay::After),
            _ => None,
        };
        canvas.step = way.map(|way| StepFrom { call, way });
    }
    let step = canvas.step.filter(|step| Some(step.call) == call);
    let to = canvas.calls().ask(&step?)?;
    canvas.step = None;
    *to
}

fn longest_in_view(canvas: &LaneCanvas) -> Option<ExecRef> {
    let window = canvas.view.window();
    let bars = canvas.rows().iter().flat_map(|row| {
        let lane = row.lane.lane;
        canvas.bars(lane).iter().map(move |bar| (lane, bar))
    });
    bars.filter(|(_, bar)| bar.num_calls == 1 && bar.from >= window.from && bar.to <= window.to)
        .max_by_key(|(lane, bar)| (bar.to.since(bar.from), std::cmp::Reverse((*lane, bar.exec))))
        .map(|(lane, bar)| ExecRef {
            lane,
            exec: bar.exec,
        })
}

/// Returns the step to the call that runs on the next or previous row.
fn step_to_row(canvas: &LaneCanvas, call: ExecRef, rows: isize) -> Option<CallWay> {
    let at = canvas.row_of(call.lane)?.checked_add_signed(rows)?;
    Some(CallWay::SameTime(canvas.rows().get(at)?.lane.lane))
}

/// Keeps the arrow keys in the canvas while it has the focus; otherwise they move the focus.
pub(super) fn keep_arrows(response: &Response, ui: &Ui) {
    let arrows = EventFilter {
        horizontal_arrows: true,
        vertical_arrows: true,
        ..EventFilter::default()
    };
    if response.has_focus() {
        ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, arrows));
    }
}

/// Starts the selection of a time range by Shift+drag, or moves one of its edges by a drag at it.
pub(super) fn begin_range(
    canvas: &mut LaneCanvas,
    known: Option<TimeRange>,
    response: &Response,
    ui: &Ui,
) {
    let (shift, pressed) = ui.input(|input| (input.modifiers.shift, input.pointer.press_origin()));
    if let Some(pressed) = pressed.filter(|_| response.drag_started()) {
        canvas.range_from = if shift {
            Some(snapped(canvas, response.rect, pressed, ui))
        } else {
            known.and_then(|range| other_edge(canvas, range, response, pressed))
        };
    }
}

/// Updates the time range that is being selected.
pub(super) fn choose_range(
    canvas: &mut LaneCanvas,
    response: &Response,
    pointer: Option<TimeNs>,
    ui: &Ui,
) -> Option<RangeChoice> {
    if response.clicked() && ui.input(|input| input.modifiers.shift) {
        return Some(RangeChoice::Clear);
    }
    if response.drag_stopped() {
        canvas.range_from = None;
    }
    let range = TimeRange::between(canvas.range_from?, pointer?);
    Some(if range.from < range.to {
        RangeChoice::Choose(range)
    } else {
        RangeChoice::Clear
    })
}

/// Returns the edge that stays when the other one is dragged from `pressed`.
fn other_edge(
    canvas: &LaneCanvas,
    range: TimeRange,
    response: &Response,
    pressed: Pos2,
) -> Option<TimeNs> {
    let plot = response.rect;
    let x = |time| plot.left() + plot.width() * canvas.view.window().share_of(time) as f32;
    let is_at = |time| (x(time) - pressed.x).abs() <= SNAP_RADIUS;
    if is_at(range.to) {
        Some(range.from)
    } else {
        is_at(range.from).then_some(range.to)
    }
}

/// Returns the time at a position of the rows in `plot`, snapped to the edge of a call if one is close; Alt disables
/// snapping.
pub(super) fn snapped(canvas: &LaneCanvas, plot: Rect, at: Pos2, ui: &Ui) -> TimeNs {
    let window = canvas.view.window();
    let time = window.time_at(f64::from((at.x - plot.left()) / plot.width().max(1.0)));
    if ui.input(|input| input.modifiers.alt) {
        return time;
    }
    let y = at.y - plot.top();
    let row = canvas.rows().partition_point(|row| row.bottom <= y);
    let row = canvas.rows().get(row);
    let Some((row, level)) = row.and_then(|row| Some((row, row.level_at(y)?))) else {
        return time;
    };
    let x = |edge| plot.left() + plot.width() * window.share_of(edge) as f32;
    let bars = canvas.bars(row.lane.lane);
    let after = bars.partition_point(|bar| (bar.level, bar.from) <= (level, time));
    let near = after.saturating_sub(1)..(after + 1).min(bars.len());
    bars[near]
        .iter()
        .filter(|bar| bar.level == level)
        .flat_map(|bar| [bar.from, bar.to])
        .filter(|&edge| (x(edge) - at.x).abs() <= SNAP_RADIUS)
        .min_by_key(|&edge| edge.since(time).0.abs())
        .unwrap_or(time)
}
