//! What the map remembers between frames.

use std::sync::Arc;

use callgrove_model::TreeIdx;
use callgrove_session::{Analysis, Detection, Label, Selection, Snapshot, TreeCauses, TreeMap};

use super::coloring::{Coloring, Palette};
use crate::canvas::points::{Joining, PointsState, Taken, Tool};
use crate::context::ViewContext;

/// View, tool and colouring of the map.
#[derive(Default)]
pub struct ScatterState {
    pub(super) points: PointsState,
    pub(super) coloring: Coloring,
    /// What the points were made from.
    known: Option<Known>,
}

struct Known {
    analysis: Arc<Analysis>,
    map: Arc<TreeMap>,
    look: Look,
    palette: Palette,
}

/// What the looks of points depend on, besides the map.
#[derive(Clone)]
struct Look {
    detection: Option<Arc<Detection>>,
    labels: Arc<[Option<Label>]>,
    tree_causes: Option<Arc<TreeCauses>>,
    coloring: Coloring,
    is_dark: bool,
}

impl Look {
    fn is_same(&self, other: &Self) -> bool {
        let pointer = |look: &Self| look.detection.as_ref().map(Arc::as_ptr);
        let causes = |look: &Self| look.tree_causes.as_ref().map(Arc::as_ptr);
        pointer(self) == pointer(other)
            && causes(self) == causes(other)
            && Arc::ptr_eq(&self.labels, &other.labels)
            && self.coloring == other.coloring
            && self.is_dark == other.is_dark
    }
}

impl ScatterState {
    /// Shows all trees.
    pub fn fit(&mut self) {
        self.points.fit();
    }

    /// Takes up or lays down the lasso.
    pub fn toggle_lasso(&mut self) {
        self.points.toggle(Tool::Lasso);
    }

    /// Lays down the tool in hand; `false` if there was none.
    pub fn cancel_lasso(&mut self) -> bool {
        self.points.cancel()
    }

    /// Gives the map the keyboard.
    pub fn request_focus(&mut self) {
        self.points.request_focus();
    }

    /// Takes over a new map, and new looks; a map of other trees or by another method is seen whole.
    pub(super) fn prepare(
        &mut self,
        ctx: &ViewContext<'_>,
        analysis: &Arc<Analysis>,
        map: &Arc<TreeMap>,
    ) {
        let snapshot = ctx.snapshot;
        let look = Look {
            detection: snapshot.detection.clone(),
            labels: Arc::clone(&snapshot.labels_by_tree),
            tree_causes: snapshot.tree_causes.clone(),
            coloring: self.coloring,
            is_dark: ctx.theme.is_dark(),
        };
        let known = self.known.as_ref();
        let is_same_map = known.is_some_and(|known| Arc::ptr_eq(&known.map, map));
        if is_same_map && known.is_some_and(|known| known.look.is_same(&look)) {
            return;
        }
        let goes_on = known.is_some_and(|known| {
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
        if !goes_on {
            self.fit();
        }
        self.known = Some(Known {
            analysis: Arc::clone(analysis),
            map: Arc::clone(map),
            look,
            palette,
        });
    }

    /// What the colours mean.
    pub(super) fn palette(&self) -> Option<&Palette> {
        self.known.as_ref().map(|known| &known.palette)
    }
}

/// The selected trees as points, ascending.
pub(super) fn selected_points(snapshot: &Snapshot) -> Vec<u32> {
    match &snapshot.selection {
        Selection::None => Vec::new(),
        Selection::One(tree) => vec![tree.0],
        Selection::Group(trees) => trees.iter().map(|tree| tree.0).collect(),
    }
}

/// The selection after `taken` has joined it. What is drawn around never joins a single tree, which is
/// often selected by chance.
pub(super) fn joined(selected: &[u32], taken: &Taken) -> Selection {
    let points: Vec<u32> = taken.points.iter().map(|&point| point as u32).collect();
    let is_group = selected.len() > 1;
    let joining = match taken.joining {
        Joining::Add if taken.is_drawn && !is_group => Joining::Replace,
        joining => joining,
    };
    match joining.join(selected, &points)[..] {
        [] => Selection::None,
        [point] => Selection::One(TreeIdx(point)),
        ref points => Selection::Group(points.iter().copied().map(TreeIdx).collect()),
    }
}
