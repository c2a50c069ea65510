//! The state of the tree view between frames.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use callgrove_actions::focus::Focus;
use callgrove_model::{CsTree, ExecRef, TreeCalls, TreeIdx};
use callgrove_session::{
    Analysis, Calls, Explanation, ForestSnapshot, RunSnapshot, Selection, Snapshot,
    TreeExplanation, TreeOf, UsualPair, median_duration,
};
use callgrove_widgets::delay::KnownDelay;
use egui::{Pos2, Rect, Vec2};

use super::forces::Forces;
use super::layout::{Drawing, MERGE_FROM, Scale, TreeMove};

/// Initial importance from which differences are listed.
const FIRST_THRESHOLD: f64 = 0.05;
/// Range of the zoom.
const ZOOM_RANGE: (f32, f32) = (0.02, 40.0);
/// Margin around a fitted tree, in points.
const FIT_MARGIN: Vec2 = Vec2::new(40.0, 32.0);
/// Maximum zoom of a fitted tree.
const FIT_ZOOM_MAX: f32 = 2.5;

/// Drawing, view and choices.
pub struct TreeState {
    /// Minimum importance of the listed differences.
    pub(super) threshold: f64,
    /// The user's choice whether to merge; `None` decides by the size of the tree.
    pub(super) merges: Option<bool>,
    /// The pinned difference, which stays highlighted: an index into the findings.
    pub(super) pinned: Option<usize>,
    /// Findings whose structure is shown in full: indices into the findings.
    pub(super) unfolded: BTreeSet<usize>,
    /// True if a pane too narrow for both shows the findings instead of the drawing.
    pub(super) shows_findings: bool,
    /// True if the tree is compared with another.
    pub(super) compares: bool,
    /// The tree that the user pinned for comparison; `None` compares with the usual one.
    pub(super) reference: Option<Focus>,
    pub(super) shown: Option<Shown>,
    pub(super) has_pointer: bool,
    /// The cause of the tree's delay.
    pub(super) delay: KnownDelay,
    explained: Option<Arc<Explanation>>,
    /// The usual executions of two compared runs.
    pub(super) both_runs: BothRuns,
}

/// The state of the view of the usual executions of two compared runs.
#[derive(Default)]
pub(super) struct BothRuns {
    pub(super) is_shown: bool,
    pub(super) drawn: Option<DrawnPair>,
}

/// The drawing of the usual executions of two runs.
pub(super) struct DrawnPair {
    pub(super) found: Arc<TreeExplanation>,
    /// The two executions as a run: that of AFTER is selected, and that of BEFORE is the usual one.
    pub(super) snapshot: Snapshot,
    pub(super) state: Box<TreeState>,
}

impl DrawnPair {
    pub(super) fn new(pair: &UsualPair) -> Self {
        let (forest, found) = (pair.forest(), pair.found());
        let state = TreeState {
            compares: true,
            ..TreeState::default()
        };
        let explanation = Explanation {
            tree: TreeIdx(0),
            neighbours: Vec::new(),
            findings: found.differences.clone(),
            usual: TreeIdx(1),
            num_usual: 1,
            is_same_shape: found.is_same_shape,
        };
        let analysis = Analysis {
            root_name: pair.root().to_owned(),
            num_subtrees: 0,
            median_duration: median_duration(forest),
            structures: vec![0, u32::from(!found.is_same_shape)],
            write_shares: vec![None, None],
            tree_names: ["AFTER", "BEFORE"].map(str::to_owned).into(),
            forest: forest.clone(),
        };
        let calls = Arc::new(Calls::local(forest.trace()));
        Self {
            found: Arc::clone(found),
            snapshot: Snapshot {
                run: Some(RunSnapshot::new(calls, Arc::new([]))),
                forest: Some(ForestSnapshot::new(Arc::new(analysis))),
                selection: Selection::One(TreeIdx(0)),
                explanation: Some(Arc::new(explanation)),
                ..Snapshot::default()
            },
            state: Box::new(state),
        }
    }
}

/// The drawing of one tree.
pub(super) struct Shown {
    pub(super) focus: Focus,
    /// Its calls.
    calls: TreeCalls,
    pub(super) drawing: Drawing,
    pub(super) forces: Forces,
    pub(super) scale: Scale,
    pub(super) camera: Option<Camera>,
    /// The vertex at the keyboard cursor.
    pub(super) cursor: Option<usize>,
    /// The tree that it is compared with.
    pub(super) other: Option<TreeIdx>,
    other_calls: Option<TreeCalls>,
    merges: bool,
}

/// The visible part of the drawing, once the user has chosen one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Camera {
    /// The point of the drawing in the middle of the view.
    pub(super) centre: Vec2,
    /// Points on the screen per point of the drawing.
    pub(super) zoom: f32,
}

impl Default for TreeState {
    fn default() -> Self {
        Self {
            threshold: FIRST_THRESHOLD,
            merges: None,
            pinned: None,
            unfolded: BTreeSet::new(),
            shows_findings: false,
            compares: false,
            reference: None,
            shown: None,
            has_pointer: false,
            delay: KnownDelay::default(),
            explained: None,
            both_runs: BothRuns::default(),
        }
    }
}

impl TreeState {
    /// Fits the whole tree.
    pub fn fit(&mut self) {
        if let Some(shown) = &mut self.shown {
            shown.camera = None;
        }
    }

    /// Returns whether the pointer was on the drawing in the last frame: F then applies to it.
    pub fn has_pointer(&self) -> bool {
        self.has_pointer
    }

    /// Draws the focused tree, or none. A previous tree of the forest stays drawn until the calls of the new one are
    /// loaded.
    pub(super) fn show(&mut self, snapshot: &Snapshot) {
        let Some(focus) = Focus::of(snapshot) else {
            self.shown = None;
            self.explained = None;
            return;
        };
        self.reference = self
            .reference
            .take()
            .filter(|kept| kept.is_same_forest(&focus));
        let other = self.other_tree(&focus);
        let is_drawn = self.shown.as_ref().is_some_and(|shown| {
            let is_same = shown.merges == self.merges_in(shown) && shown.other == other;
            is_same && shown.focus.is_same_tree(&focus)
        });
        if is_drawn {
            return;
        }
        let calls_of = |tree: TreeIdx| calls_of(snapshot, &focus, tree);
        let (calls, other_calls) = (calls_of(focus.tree), other.and_then(calls_of));
        if let Some(calls) = calls.filter(|_| other.is_some() == other_calls.is_some()) {
            let merges = self.merges_of(&calls);
            let compared = other.zip(other_calls);
            self.shown = Some(Shown::new((focus, calls), merges, compared));
        } else {
            let is_of_forest = |shown: &Shown| shown.focus.is_same_forest(&focus);
            self.shown = self.shown.take().filter(is_of_forest);
        }
    }

    /// Returns the tree that `focus` is compared with: the pinned one, or the usual one of its kind.
    fn other_tree(&self, focus: &Focus) -> Option<TreeIdx> {
        let kept = self.reference.as_ref().map(|kept| kept.tree);
        let other = kept.or_else(|| self.usual_of(focus))?;
        (self.compares && other.index() < focus.analysis.forest.len()).then_some(other)
    }

    /// Returns the usual tree of the kind of `focus`, once it is known.
    pub(super) fn usual_of(&self, focus: &Focus) -> Option<TreeIdx> {
        let explained = self.explained.as_ref();
        let explained = explained.filter(|it| it.tree == focus.tree && it.num_usual > 0);
        explained.map(|explained| explained.usual)
    }

    /// Returns whether repeated calls are merged in the drawn tree.
    pub(super) fn merges_in(&self, shown: &Shown) -> bool {
        self.merges_of(&shown.calls)
    }

    fn merges_of(&self, calls: &TreeCalls) -> bool {
        self.merges.unwrap_or(calls.tree().len() >= MERGE_FROM)
    }

    /// Takes over the explanation; a pinned difference of the previous one is cleared.
    pub(super) fn explain(&mut self, explanation: Option<&Arc<Explanation>>) {
        let is_known = match (&self.explained, explanation) {
            (Some(known), Some(new)) => Arc::ptr_eq(known, new),
            (None, None) => true,
            _ => false,
        };
        if !is_known {
            self.explained = explanation.map(Arc::clone);
            self.pinned = None;
            self.unfolded.clear();
        }
    }
}

impl Shown {
    fn new(
        (focus, calls): (Focus, TreeCalls),
        merges: bool,
        compared: Option<(TreeIdx, TreeCalls)>,
    ) -> Self {
        let scale = Scale::new(focus.analysis.median_duration);
        let drawing = match &compared {
            Some((_, other)) => Drawing::compared(calls.tree(), other.tree(), scale),
            None => Drawing::new(calls.tree(), merges, scale),
        };
        let (other, other_calls) = compared.unzip();
        let forces = Forces::new(&drawing.vertices);
        Self {
            focus,
            calls,
            drawing,
            forces,
            scale,
            camera: None,
            cursor: None,
            other,
            other_calls,
            merges,
        }
    }

    /// Returns the vertex of a call of the trace, if the tree contains it.
    pub(super) fn vertex_of(&self, call: ExecRef) -> Option<usize> {
        let vertices = &self.drawing.vertex_of_call;
        vertices.get(self.calls.vertex(call)?).copied()
    }

    /// Returns the tree.
    pub(super) fn tree(&self) -> CsTree<'_> {
        self.calls.tree()
    }

    /// Returns the tree that it is compared with.
    pub(super) fn other_tree(&self) -> Option<CsTree<'_>> {
        self.other_calls.as_ref().map(TreeCalls::tree)
    }

    /// Returns a call of the tree in the trace.
    pub(super) fn exec_of(&self, call: usize) -> ExecRef {
        self.calls.exec(call)
    }

    /// Returns the call that a click on a vertex selects: the longest of its calls, and after one of them the next. A
    /// vertex of the other tree alone selects its first call there.
    pub(super) fn call_at(&self, vertex: usize, selected: Option<ExecRef>) -> ExecRef {
        let drawn = &self.drawing.vertices[vertex];
        if let (0, Some(tree), Some(other)) = (drawn.num_calls, &self.other_calls, drawn.other) {
            return tree.exec(other.first);
        }
        let times = self.tree().inclusive();
        let vertices = self.drawing.vertex_of_call.iter().enumerate();
        let mut calls: Vec<usize> = vertices
            .filter(|&(_, &other)| other == vertex)
            .map(|(call, _)| call)
            .collect();
        calls.sort_by_key(|&call| (Reverse(times[call]), call));
        let is_selected = |&call: &usize| Some(self.exec_of(call)) == selected;
        let next = calls.iter().position(is_selected).map_or(0, |at| at + 1);
        let first = self.drawing.vertices[vertex].first;
        let call = calls.get(next % calls.len().max(1)).copied();
        self.exec_of(call.unwrap_or(first))
    }

    /// Moves the keyboard cursor by an arrow key, from `from` or from the root, and keeps it in view.
    pub(super) fn walk(&mut self, tree_move: TreeMove, from: Option<usize>, area: Rect) {
        let to = self.drawing.step(from.unwrap_or(0), tree_move);
        self.cursor = Some(to);
        let (camera, at) = (self.camera(area), self.forces.positions()[to]);
        if !area
            .shrink2(FIT_MARGIN)
            .contains(camera.to_screen(area, at))
        {
            self.camera = Some(Camera {
                centre: at,
                ..camera
            });
        }
    }

    /// Returns the chosen part of the drawing, or all of it.
    pub(super) fn camera(&self, area: Rect) -> Camera {
        self.camera.unwrap_or_else(|| {
            let discs = self.drawing.vertices.iter().zip(self.forces.positions());
            let bounds = discs
                .map(|(vertex, at)| {
                    Rect::from_center_size(at.to_pos2(), Vec2::splat(2.0 * vertex.radius))
                })
                .fold(Rect::NOTHING, Rect::union);
            Camera::showing(bounds, area)
        })
    }
}

/// Returns the calls of a tree; `None` while they are loading.
fn calls_of(snapshot: &Snapshot, focus: &Focus, tree: TreeIdx) -> Option<TreeCalls> {
    let calls = snapshot.calls()?;
    let root = focus.analysis.forest.trees()[tree.index()].root;
    calls.ask(&TreeOf(root))?.unpack(calls.trace()).ok()
}

impl Camera {
    /// Returns a camera that shows all of `bounds` in `area`, with margins for names and for the scale below.
    fn showing(bounds: Rect, area: Rect) -> Self {
        let available = (area.size() - 2.0 * FIT_MARGIN).max(Vec2::splat(10.0));
        let zoom = (available / bounds.size().max(Vec2::splat(1.0)))
            .min_elem()
            .min(FIT_ZOOM_MAX);
        Self {
            centre: bounds.center().to_vec2(),
            zoom,
        }
    }

    pub(super) fn to_screen(self, area: Rect, point: Vec2) -> Pos2 {
        area.center() + (point - self.centre) * self.zoom
    }

    pub(super) fn to_drawing(self, area: Rect, point: Pos2) -> Vec2 {
        self.centre + (point - area.center()) / self.zoom
    }

    /// Returns the camera zoomed; the point under the pointer does not move.
    #[must_use]
    pub(super) fn zoomed(self, area: Rect, pointer: Pos2, factor: f32) -> Self {
        let zoom = (self.zoom * factor).clamp(ZOOM_RANGE.0, ZOOM_RANGE.1);
        let fixed = self.to_drawing(area, pointer);
        Self {
            centre: fixed - (pointer - area.center()) / zoom,
            zoom,
        }
    }

    /// Returns the camera moved by a distance on the screen.
    #[must_use]
    pub(super) fn panned(self, delta: Vec2) -> Self {
        Self {
            centre: self.centre - delta / self.zoom,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA: Rect = Rect {
        min: Pos2::new(10.0, 20.0),
        max: Pos2::new(410.0, 320.0),
    };

    #[test]
    fn everything_is_in_view_at_first() {
        let bounds = Rect::from_min_max(Pos2::new(-900.0, -10.0), Pos2::new(100.0, 700.0));
        let camera = Camera::showing(bounds, AREA);
        for corner in [bounds.left_top(), bounds.right_bottom()] {
            assert!(AREA.contains(camera.to_screen(AREA, corner.to_vec2())));
        }
    }

    #[test]
    fn zooming_keeps_the_point_under_the_pointer_and_has_limits() {
        let camera = Camera {
            centre: Vec2::new(5.0, 5.0),
            zoom: 1.0,
        };
        let pointer = Pos2::new(100.0, 100.0);
        let point = camera.to_drawing(AREA, pointer);
        let zoomed = camera.zoomed(AREA, pointer, 3.0);
        assert!(zoomed.to_screen(AREA, point).distance(pointer) < 1e-3);
        assert!(camera.zoomed(AREA, pointer, 1e9).zoom <= ZOOM_RANGE.1);
        assert!(camera.zoomed(AREA, pointer, 1e-9).zoom >= ZOOM_RANGE.0);
    }

    #[test]
    fn panning_moves_the_drawing_with_the_pointer() {
        let camera = Camera {
            centre: Vec2::ZERO,
            zoom: 2.0,
        };
        let before = camera.to_screen(AREA, Vec2::ZERO);
        let delta = Vec2::new(30.0, -8.0);
        assert_eq!(
            camera.panned(delta).to_screen(AREA, Vec2::ZERO),
            before + delta
        );
    }
}
