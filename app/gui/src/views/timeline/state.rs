//! What the timeline remembers between frames.

use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_model::LaneIdx;
use callgrove_session::{Detection, Timeline, TimelineQuery, layout_timeline};

use super::layout::{AbnormalMark, abnormal_marks};
use super::window::Window;
use crate::views::focus::Focus;

/// Context lanes drawn at most.
const MAX_LANES: usize = 32;
/// Messages drawn at most; more would be one grey surface.
const MAX_ARROWS: usize = 1_000;
/// Room left on both sides of a tree that fills the window.
const MARGIN: f64 = 0.1;

/// Window, opened lanes and what was laid out for them.
#[derive(Default)]
pub struct TimelineState {
    shown: Option<Shown>,
    expanded: BTreeSet<LaneIdx>,
    pub(super) has_pointer: bool,
}

/// The timeline of one tree.
pub(super) struct Shown {
    pub(super) focus: Focus,
    pub(super) window: Window,
    /// Everything that can be in view: the trace.
    pub(super) bounds: Window,
    /// Number of levels of the tree.
    pub(super) num_levels: usize,
    laid_out: Option<(TimelineQuery, Timeline)>,
    marked: Option<(Arc<Detection>, Window, Vec<AbnormalMark>)>,
}

impl TimelineState {
    /// Shows the whole tree.
    pub fn fit(&mut self) {
        if let Some(shown) = &mut self.shown {
            shown.fit();
        }
    }

    /// Whether the pointer was on the rows in the last frame: keys that zoom and move are meant for them.
    pub fn has_pointer(&self) -> bool {
        self.has_pointer
    }

    /// Makes `focus` the tree that is shown; a new one fills the window.
    pub(super) fn show(&mut self, focus: Focus) {
        match &self.shown {
            Some(shown) if shown.focus.is_same_tree(&focus) => return,
            Some(shown) if shown.focus.is_same_forest(&focus) => {}
            _ => self.expanded.clear(),
        }
        self.shown = Some(Shown::new(focus));
    }

    /// Shows nothing.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn shown(&mut self) -> Option<&mut Shown> {
        self.shown.as_mut()
    }

    /// Opens or closes a context lane.
    pub(super) fn toggle_lane(&mut self, lane: LaneIdx) {
        if !self.expanded.remove(&lane) {
            self.expanded.insert(lane);
        }
    }

    /// Lays out what `width_px` pixels need, unless that has been done.
    pub(super) fn lay_out(&mut self, width_px: f32, detection: Option<&Arc<Detection>>) {
        let Some(shown) = &mut self.shown else { return };
        let tile = shown.window.tile(width_px);
        let query = TimelineQuery {
            tree: shown.focus.tree,
            from: tile.from,
            to: tile.to,
            min_bar_ns: tile.min_bar_ns,
            expanded: self.expanded.clone(),
            max_lanes: MAX_LANES,
            max_arrows: MAX_ARROWS,
        };
        if !shown
            .laid_out
            .as_ref()
            .is_some_and(|(known, _)| *known == query)
        {
            let timeline = layout_timeline(&shown.focus.analysis.forest, &query);
            shown.laid_out = Some((query, timeline));
            shown.marked = None;
        }
        shown.mark(detection);
    }
}

impl Shown {
    fn new(focus: Focus) -> Self {
        let tree = focus.cs_tree();
        let own = Window::around(tree.entry()[0], tree.exit(), MARGIN);
        let trace = focus.analysis.forest.trace();
        let bounds = trace
            .time_span()
            .map_or(own, |(from, to)| own.united(Window::around(from, to, 0.01)));
        let num_levels = (0..tree.len())
            .map(|vertex| tree.depth(vertex) + 1)
            .max()
            .unwrap_or(1);
        Self {
            window: own,
            bounds,
            num_levels,
            laid_out: None,
            marked: None,
            focus,
        }
    }

    /// The tree's extent plus a tenth.
    pub(super) fn fit(&mut self) {
        let tree = self.focus.cs_tree();
        self.window = Window::around(tree.entry()[0], tree.exit(), MARGIN);
    }

    /// What was laid out last.
    pub(super) fn timeline(&self) -> Option<&Timeline> {
        self.laid_out.as_ref().map(|(_, timeline)| timeline)
    }

    /// Abnormal trees on the rows, inside the window and around it.
    pub(super) fn marks(&self) -> &[AbnormalMark] {
        self.marked.as_ref().map_or(&[], |(_, _, marks)| marks)
    }

    fn mark(&mut self, detection: Option<&Arc<Detection>>) {
        let (Some(detection), Some((_, timeline))) = (detection, &self.laid_out) else {
            self.marked = None;
            return;
        };
        let is_marked = self.marked.as_ref().is_some_and(|(known, window, _)| {
            Arc::ptr_eq(known, detection) && *window == self.window
        });
        if !is_marked {
            let lanes: Vec<_> = timeline.rows.iter().map(|row| row.lane).collect();
            let marks = abnormal_marks(&self.focus.analysis.forest, detection, &lanes, self.window);
            self.marked = Some((Arc::clone(detection), self.window, marks));
        }
    }
}
