//! The visible window of the timeline, and its history.

use callgrove_model::TimeNs;

use super::window::Window;

/// Time in seconds within which successive moves are one step of the history.
const PAUSE: f64 = 0.7;
/// Maximum number of steps in the history.
const MAX_STEPS: usize = 100;

/// The window with its bounds and its history.
#[derive(Clone, Debug)]
pub struct TimeView {
    window: Window,
    bounds: Window,
    back: Vec<Window>,
    forward: Vec<Window>,
    /// Time of the last move, in seconds of the user interface's clock.
    moved_at: f64,
}

impl TimeView {
    /// Shows all of `bounds`.
    pub(crate) fn new(bounds: Window) -> Self {
        Self {
            window: bounds,
            bounds,
            back: Vec::new(),
            forward: Vec::new(),
            moved_at: f64::NEG_INFINITY,
        }
    }

    /// Returns the visible window.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns the largest possible window.
    pub fn bounds(&self) -> Window {
        self.bounds
    }

    /// Sets the largest possible window. A view of all remains one.
    pub fn set_bounds(&mut self, bounds: Window) {
        if bounds != self.bounds {
            let is_all = self.window == self.bounds;
            self.bounds = bounds;
            self.window = if is_all {
                bounds
            } else {
                self.window.within(bounds)
            };
        }
    }

    /// Follows another view, without a step of the history.
    pub fn couple(&mut self, bounds: Window, window: Window) {
        (self.bounds, self.window) = (bounds, window.within(bounds));
    }

    /// Moves or zooms a little at the time `now`; moves in quick succession are one step of the history.
    pub fn glide(&mut self, window: Window, now: f64) {
        let window = window.within(self.bounds);
        if window == self.window {
            return;
        }
        if now - self.moved_at > PAUSE {
            self.push_history();
        }
        self.moved_at = now;
        self.window = window;
    }

    /// Moves to another window, as a new step of the history.
    pub fn jump(&mut self, window: Window) {
        let window = window.within(self.bounds);
        if window != self.window {
            self.push_history();
            self.moved_at = f64::NEG_INFINITY;
            self.window = window;
        }
    }

    /// Brings the time from `from` to `to` into view: pans if it is not in view, and zooms out if it is longer than the
    /// window.
    pub fn reveal(&mut self, from: TimeNs, to: TimeNs) {
        let Window {
            from: start,
            to: end,
        } = self.window;
        let is_seen = from >= start && to <= end;
        let fills_it = from <= start && to >= end;
        if is_seen || fills_it {
            return;
        }
        let around = Window::around(from, to, 0.1);
        self.jump(if around.length_ns() > self.window.length_ns() {
            around
        } else {
            self.window
                .centred_at(from + callgrove_model::DurationNs(to.since(from).0 / 2))
        });
    }

    /// Returns to the window before the last step.
    pub fn go_back(&mut self) {
        if let Some(window) = self.back.pop() {
            self.forward
                .push(std::mem::replace(&mut self.window, window));
            self.moved_at = f64::NEG_INFINITY;
        }
    }

    /// Returns to the window that [`TimeView::go_back`] left.
    pub fn go_forward(&mut self) {
        if let Some(window) = self.forward.pop() {
            self.back.push(std::mem::replace(&mut self.window, window));
            self.moved_at = f64::NEG_INFINITY;
        }
    }

    /// Returns whether there is a step back, and one forward.
    pub fn can_go(&self) -> (bool, bool) {
        (!self.back.is_empty(), !self.forward.is_empty())
    }

    fn push_history(&mut self) {
        self.forward.clear();
        self.back.push(self.window);
        if self.back.len() > MAX_STEPS {
            self.back.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(from: i64, to: i64) -> Window {
        Window {
            from: TimeNs(from),
            to: TimeNs(to),
        }
    }

    #[test]
    fn one_gesture_is_one_step_back() {
        let all = window(0, 1_000_000);
        let mut view = TimeView::new(all);
        view.glide(window(0, 500_000), 10.0);
        view.glide(window(0, 400_000), 10.1);
        view.glide(window(0, 300_000), 10.2);
        view.glide(window(100_000, 400_000), 20.0);
        view.jump(window(5_000, 10_000));
        let mut seen = Vec::new();
        while view.can_go().0 {
            view.go_back();
            seen.push(view.window());
        }
        assert_eq!(seen, [window(100_000, 400_000), window(0, 300_000), all]);
        view.go_forward();
        assert_eq!(view.window(), window(0, 300_000));
        view.jump(window(7_000, 9_000));
        assert!(!view.can_go().1, "a new step discards the forward history");
    }

    #[test]
    fn a_hidden_range_is_revealed_at_the_same_zoom_if_it_fits() {
        let mut view = TimeView::new(window(0, 1_000_000));
        view.jump(window(0, 100_000));
        view.reveal(TimeNs(20_000), TimeNs(30_000));
        assert_eq!(view.window(), window(0, 100_000));
        view.reveal(TimeNs(500_000), TimeNs(510_000));
        assert_eq!(view.window(), window(455_000, 555_000));
        view.reveal(TimeNs(0), TimeNs(500_000));
        assert_eq!(view.window(), window(0, 600_000));
    }
}
