//! What the map remembers between frames.

use std::sync::Arc;

use callgrove_model::TreeIdx;
use callgrove_session::{Analysis, TreeMap};
use egui::{Pos2, TextureHandle};

use super::layout::{Bounds, MapView, PointGrid, Transform};

/// View, tool and look-up grid of the map.
#[derive(Default)]
pub struct ScatterState {
    pub(super) view: MapView,
    pub(super) is_lasso_tool: bool,
    /// Corners of the lasso being drawn, on the map.
    pub(super) lasso: Vec<[f32; 2]>,
    pub(super) sprites: Option<TextureHandle>,
    grid: Option<(Arc<Analysis>, Arc<TreeMap>, PointGrid)>,
}

impl ScatterState {
    /// Shows all trees.
    pub fn fit(&mut self) {
        self.view = MapView::default();
    }

    /// Takes up or lays down the lasso.
    pub fn toggle_lasso(&mut self) {
        self.is_lasso_tool = !self.is_lasso_tool;
        self.lasso.clear();
    }

    /// Lays down the lasso; `false` if it was not in hand.
    pub fn cancel_lasso(&mut self) -> bool {
        let was_in_use = self.is_lasso_tool || self.is_drawing();
        self.is_lasso_tool = false;
        self.lasso.clear();
        was_in_use
    }

    /// Builds the grid of a new map; one of other trees or by another method is then seen whole.
    pub(super) fn prepare(&mut self, analysis: &Arc<Analysis>, map: &Arc<TreeMap>) {
        let known = self.grid.as_ref();
        if known.is_some_and(|(_, known, _)| Arc::ptr_eq(known, map)) {
            return;
        }
        let goes_on = known
            .is_some_and(|(of, known, _)| Arc::ptr_eq(of, analysis) && known.method == map.method);
        if !goes_on {
            self.fit();
            self.lasso.clear();
        }
        let grid = PointGrid::new(&map.points);
        self.grid = Some((Arc::clone(analysis), Arc::clone(map), grid));
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.grid
            .as_ref()
            .map_or_else(|| Bounds::of(&[]), |(_, _, grid)| grid.bounds())
    }

    /// The tree whose mark is nearest to `pointer`, at most `radius` points away.
    pub(super) fn hit(&self, transform: &Transform, pointer: Pos2, radius: f32) -> Option<TreeIdx> {
        let (_, map, grid) = self.grid.as_ref()?;
        let nearest = grid.nearest(
            &map.points,
            transform.to_map(pointer),
            radius / transform.scale(),
        );
        nearest.map(TreeIdx::from_index)
    }

    pub(super) fn is_drawing(&self) -> bool {
        !self.lasso.is_empty()
    }

    pub(super) fn begin_lasso(&mut self, corner: [f32; 2]) {
        self.lasso = vec![corner];
    }

    /// Adds a corner, unless it is nearer than `spacing` to the last.
    pub(super) fn extend_lasso(&mut self, corner: [f32; 2], spacing: f32) {
        let is_far = self
            .lasso
            .last()
            .is_none_or(|last| (last[0] - corner[0]).hypot(last[1] - corner[1]) > spacing);
        if is_far {
            self.lasso.push(corner);
        }
    }

    /// The trees inside, in ascending order; the lasso is gone.
    pub(super) fn end_lasso(&mut self) -> Vec<TreeIdx> {
        let corners = std::mem::take(&mut self.lasso);
        self.is_lasso_tool = false;
        let Some((_, map, grid)) = &self.grid else {
            return Vec::new();
        };
        grid.in_polygon(&map.points, &corners)
            .into_iter()
            .map(TreeIdx::from_index)
            .collect()
    }
}
