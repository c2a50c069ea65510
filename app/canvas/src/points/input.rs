//! Pointer and keyboard input of a canvas of points.

use egui::{Event, EventFilter, Key, Modifiers, PointerButton, Pos2, Response, Ui, Vec2};

use super::geometry::{PlaneView, Transform};
use super::select::{DrawingKind, PickedPoints, SelectionDrawing, SelectionMode, Tool};
use super::state::PointsState;

/// Largest distance from the pointer to a mark that it hits, in points of the screen.
const HIT_RADIUS: f64 = 10.0;
/// Zoom factor of one key press.
const KEY_ZOOM: f64 = 1.5;
/// Fraction of the canvas that one key press pans.
const KEY_PAN: f32 = 0.2;
/// Margin, in points, inside which the keyboard cursor scrolls its point into view.
const EDGE: f32 = 24.0;

/// Arrow keys with their directions; y points up.
const ARROWS: [(Key, [f64; 2]); 4] = [
    (Key::ArrowLeft, [-1.0, 0.0]),
    (Key::ArrowRight, [1.0, 0.0]),
    (Key::ArrowUp, [0.0, 1.0]),
    (Key::ArrowDown, [0.0, -1.0]),
];

/// The input of one frame.
pub(super) struct CanvasInput<'a> {
    pub(super) ui: &'a Ui,
    pub(super) response: &'a Response,
    pub(super) transform: Transform,
    /// True if the view of the canvas has the keyboard focus.
    pub(super) has_focus: bool,
}

impl CanvasInput<'_> {
    /// Returns the pointer position, if it is over the points.
    fn pointer(&self) -> Option<Pos2> {
        let rect = self.transform.rect();
        self.response.hover_pos().filter(|at| rect.contains(*at))
    }

    /// Returns the point under the pointer.
    pub(super) fn hit(&self, state: &PointsState) -> Option<usize> {
        let pointer = self.pointer().filter(|_| !self.response.dragged())?;
        let place = self.transform.to_plane(pointer);
        let (cloud, scale) = (state.cloud(), self.transform.scale());
        cloud
            .grid()
            .nearest(cloud.places(), place, scale, HIT_RADIUS)
    }

    /// Returns whether the canvas handles keys.
    pub(super) fn has_keys(&self) -> bool {
        (self.has_focus || self.response.hovered()) && !self.ui.ctx().text_edit_focused()
    }

    fn takes(&self, modifiers: Modifiers, key: Key) -> bool {
        self.ui.input_mut(|input| input.consume_key(modifiers, key))
    }

    /// Zooms and pans by wheel, pinch, drag and keys.
    pub(super) fn navigate(&self, state: &PointsState) -> PlaneView {
        let (transform, mut view) = (&self.transform, state.view);
        if let Some(pointer) = self.pointer() {
            let (wheel, pinch) = self
                .ui
                .input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
            let factor = f64::from((wheel * 0.005).exp() * pinch);
            if (factor - 1.0).abs() > 1e-4 {
                view = view.zoomed(transform, pointer, [factor; 2]);
            }
        }
        let is_panning = self.response.dragged_by(PointerButton::Primary)
            || self.response.dragged_by(PointerButton::Middle);
        if is_panning && state.drawing.is_none() {
            view = view.panned(transform, self.response.drag_delta());
        }
        if self.has_keys() {
            view = self.keys(view);
        }
        view
    }

    fn keys(&self, mut view: PlaneView) -> PlaneView {
        let transform = &self.transform;
        let rect = transform.rect();
        let zooms = [
            (Key::W, KEY_ZOOM),
            (Key::Plus, KEY_ZOOM),
            (Key::Equals, KEY_ZOOM),
            (Key::S, 1.0 / KEY_ZOOM),
            (Key::Minus, 1.0 / KEY_ZOOM),
        ];
        for (key, factor) in zooms {
            if self.takes(Modifiers::NONE, key) {
                let pointer = self.pointer().unwrap_or(rect.center());
                view = view.zoomed(transform, pointer, [factor; 2]);
            }
        }
        let mut pans = vec![
            (Modifiers::NONE, Key::A, [-1.0, 0.0]),
            (Modifiers::NONE, Key::D, [1.0, 0.0]),
        ];
        if self.has_focus {
            pans.extend(ARROWS.map(|(key, direction)| (Modifiers::SHIFT, key, direction)));
        }
        for (modifiers, key, [x, y]) in pans {
            if self.takes(modifiers, key) {
                let delta = Vec2::new(-x as f32, y as f32) * rect.size() * KEY_PAN;
                view = view.panned(transform, delta);
            }
        }
        view
    }

    /// Continues a lasso or box. Returns the points of one that ended.
    pub(super) fn draw(&self, state: &mut PointsState) -> Option<PickedPoints> {
        let drawing = state.drawing.as_mut()?;
        // Uses all positions that the pointer passed, since a frame may take long.
        self.ui.input(|input| {
            for event in &input.events {
                if let Event::PointerMoved(place) = event {
                    drawing.extend(*place, &self.transform);
                }
            }
        });
        if !self.response.drag_stopped() {
            return None;
        }
        let drawing = state.drawing.take()?;
        if drawing.kind == DrawingKind::Zoom {
            let part = drawing.rect(&self.transform);
            state.view = state.view.zoomed_to(&self.transform, part);
            return None;
        }
        state.tool = Tool::Hand;
        let taken = drawing.take(state.cloud());
        (!taken.points.is_empty()).then_some(taken)
    }

    /// Starts a lasso or box where the button was pressed; until it ends, a drag does not pan.
    pub(super) fn begin_drawing(&self, state: &mut PointsState) {
        let (modifiers, origin) = self
            .ui
            .input(|input| (input.modifiers, input.pointer.press_origin()));
        let Some(origin) = origin.filter(|at| self.transform.rect().contains(*at)) else {
            return;
        };
        let mode = SelectionMode::of(modifiers);
        let kind = if self.response.drag_started_by(PointerButton::Secondary) {
            DrawingKind::Zoom
        } else if self.response.drag_started_by(PointerButton::Primary) {
            match (state.tool, mode) {
                _ if modifiers.command => DrawingKind::Zoom,
                (Tool::Rectangle, _) => DrawingKind::Rectangle,
                (Tool::Hand, SelectionMode::Replace) => return,
                _ => DrawingKind::Lasso,
            }
        } else {
            return;
        };
        let corner = self.transform.to_plane(origin);
        state.drawing = Some(SelectionDrawing::new(kind, mode, corner));
    }

    /// Moves the keyboard cursor by the arrow keys and returns its point. It starts at `focus`, or in the middle, and
    /// exists until the pointer moves.
    pub(super) fn move_cursor(
        &self,
        state: &mut PointsState,
        focus: Option<usize>,
    ) -> Option<usize> {
        let is_pointing =
            self.pointer().is_some() && self.ui.input(|input| input.pointer.is_moving());
        let is_elsewhere = state.cursor.is_some_and(|(_, since)| since != focus);
        if is_pointing || is_elsewhere || !self.has_focus {
            state.cursor = None;
        }
        if !self.has_focus {
            return None;
        }
        let filter = EventFilter {
            horizontal_arrows: true,
            vertical_arrows: true,
            ..EventFilter::default()
        };
        let id = self.response.id;
        self.ui
            .memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
        let scale = self.transform.scale();
        for (key, direction) in ARROWS {
            if !self.takes(Modifiers::NONE, key) {
                continue;
            }
            let cloud = state.cloud();
            let middle = self.transform.to_plane(self.transform.rect().center());
            let grid = cloud.grid();
            let next = match state.cursor.map(|(point, _)| point).or(focus) {
                Some(from) => grid.nearest_toward(cloud.places(), from, scale, direction),
                None => grid.nearest(cloud.places(), middle, scale, f64::from(f32::MAX)),
            };
            if let Some(next) = next {
                let place = cloud.places()[next];
                let inner = self.transform.rect().shrink(EDGE);
                state.cursor = Some((next, focus));
                if !inner.contains(self.transform.to_screen(place)) {
                    state.view = state.view.centered(&self.transform, place);
                }
            }
        }
        state.cursor.map(|(point, _)| point)
    }

    /// Returns the points picked by a click on a point, or by Enter on the keyboard cursor.
    pub(super) fn pick(&self, hit: Option<usize>, cursor: Option<usize>) -> Option<PickedPoints> {
        let modifiers = self.ui.input(|input| input.modifiers);
        // Enter produces a click too, but without the pointer.
        let is_click = self.ui.input(|input| input.pointer.primary_clicked());
        let point = if is_click && self.response.clicked() {
            self.response.request_focus();
            hit
        } else if self.has_focus && self.takes(modifiers, Key::Enter) {
            cursor
        } else {
            None
        };
        Some(PickedPoints {
            points: vec![point?],
            mode: SelectionMode::of(modifiers),
            is_drawn: false,
        })
    }
}
