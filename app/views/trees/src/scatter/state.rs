//! The state of the map between frames.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_canvas::points::{PickedPoints, PointsState, SelectionMode, Tool};
use callgrove_model::TreeIdx;
use callgrove_session::{Analysis, Detection, Label, Selection, Snapshot, TreeCauses, TreeMap};

use super::coloring::{Coloring, Palette};

/// View, tool and colouring of the map.
#[derive(Default)]
pub struct ScatterState {
    pub(super) points: PointsState,
    pub(super) coloring: Coloring,
    /// The inputs of the points.
    known: Option<Known>,
}

struct Known {
    analysis: Arc<Analysis>,
    map: Arc<TreeMap>,
    inputs: MarkInputs,
    palette: Palette,
}

/// The inputs of the marks, in addition to the map.
#[derive(Clone)]
struct MarkInputs {
    detection: Option<Arc<Detection>>,
    labels: Arc<[Option<Label>]>,
    tree_causes: Option<Arc<TreeCauses>>,
    coloring: Coloring,
    is_dark: bool,
}

impl MarkInputs {
    fn is_same(&self, other: &Self) -> bool {
        let pointer = |inputs: &Self| inputs.detection.as_ref().map(Arc::as_ptr);
        let causes = |inputs: &Self| inputs.tree_causes.as_ref().map(Arc::as_ptr);
        pointer(self) == pointer(other)
            && causes(self) == causes(other)
            && Arc::ptr_eq(&self.labels, &other.labels)
            && self.coloring == other.coloring
            && self.is_dark == other.is_dark
    }
}

impl ScatterState {
    /// Fits all trees.
    pub fn fit(&mut self) {
        self.points.fit();
    }

    /// Selects or deselects the lasso.
    pub fn toggle_lasso(&mut self) {
        self.points.toggle(Tool::Lasso);
    }

    /// Deselects the current tool; returns `false` if there was none.
    pub fn cancel_lasso(&mut self) -> bool {
        self.points.cancel()
    }

    /// Requests the keyboard focus for the map.
    pub fn request_focus(&mut self) {
        self.points.request_focus();
    }

    /// Takes over a new map and new marks; a map of other trees or by another method is fitted to the view.
    pub(super) fn prepare(
        &mut self,
        ctx: &ViewContext<'_>,
        analysis: &Arc<Analysis>,
        map: &Arc<TreeMap>,
    ) {
        let snapshot = ctx.snapshot;
        let inputs = MarkInputs {
            detection: snapshot.detection().cloned(),
            labels: Arc::clone(&snapshot.edits.labels_by_tree),
            tree_causes: snapshot.tree_causes().cloned(),
            coloring: self.coloring,
            is_dark: ctx.theme.is_dark(),
        };
        let known = self.known.as_ref();
        let is_same_map = known.is_some_and(|known| Arc::ptr_eq(&known.map, map));
        if is_same_map && known.is_some_and(|known| known.inputs.is_same(&inputs)) {
            return;
        }
        let is_continued = known.is_some_and(|known| {
            Arc::ptr_eq(&known.analysis, analysis) && known.map.method == map.method
        });
        let palette = Palette::new(self.coloring, snapshot, analysis);
        let marks = palette.marks(ctx, map.points.len());
        if is_same_map {
            self.points.set_marks(marks);
        } else {
            let places = map.points.iter().map(|point| point.map(f64::from));
            self.points.set_points(places.collect(), marks);
        }
        if !is_continued {
            self.fit();
        }
        self.known = Some(Known {
            analysis: Arc::clone(analysis),
            map: Arc::clone(map),
            inputs,
            palette,
        });
    }

    /// Returns the current colours.
    pub(super) fn palette(&self) -> Option<&Palette> {
        self.known.as_ref().map(|known| &known.palette)
    }
}

/// Returns the selected trees as points, ascending.
pub(super) fn selected_points(snapshot: &Snapshot) -> Vec<u32> {
    match &snapshot.selection {
        Selection::None => Vec::new(),
        Selection::One(tree) => vec![tree.0],
        Selection::Group(trees) => trees.iter().map(|tree| tree.0).collect(),
    }
}

/// Returns the selection combined with `taken`. A group that was drawn around is never added to a single tree, which is
/// often selected by chance.
pub(super) fn joined(selected: &[u32], taken: &PickedPoints) -> Selection {
    let points: Vec<u32> = taken.points.iter().map(|&point| point as u32).collect();
    let is_group = selected.len() > 1;
    let mode = match taken.mode {
        SelectionMode::Add if taken.is_drawn && !is_group => SelectionMode::Replace,
        mode => mode,
    };
    match mode.join(selected, &points)[..] {
        [] => Selection::None,
        [point] => Selection::One(TreeIdx(point)),
        ref points => Selection::Group(points.iter().copied().map(TreeIdx).collect()),
    }
}
