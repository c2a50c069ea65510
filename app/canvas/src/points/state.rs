//! The state of a canvas of points between frames.

use egui::TextureHandle;

use super::cloud::{PointCloud, PointMark};
use super::density::Density;
use super::geometry::PlaneView;
use super::select::{SelectionDrawing, Tool};

/// The points, the visible part of their plane, and the selected tool.
pub struct PointsState {
    cloud: PointCloud,
    /// The visible part of the plane.
    pub view: PlaneView,
    pub(super) tool: Tool,
    pub(super) drawing: Option<SelectionDrawing>,
    /// The point at the keyboard cursor, and the selected point where it started.
    pub(super) cursor: Option<(usize, Option<usize>)>,
    pub(super) wants_focus: bool,
    pub(super) sprites: Option<TextureHandle>,
    pub(super) density: Option<Density>,
}

impl Default for PointsState {
    fn default() -> Self {
        Self {
            cloud: PointCloud::new(Vec::new(), Vec::new()),
            view: PlaneView::default(),
            tool: Tool::default(),
            drawing: None,
            cursor: None,
            wants_focus: false,
            sprites: None,
            density: None,
        }
    }
}

impl PointsState {
    /// Replaces the points by others at `places` of the plane. Call [`Self::fit`] too unless they are a later state of
    /// the same points.
    pub fn set_points(&mut self, places: Vec<[f64; 2]>, marks: Vec<PointMark>) {
        self.cloud = PointCloud::new(places, marks);
        self.density = None;
    }

    /// Replaces the marks of the points, shape `[n_points]`.
    pub fn set_marks(&mut self, marks: Vec<PointMark>) {
        self.cloud.set_marks(marks);
        self.density = None;
    }

    /// Returns the points.
    pub fn cloud(&self) -> &PointCloud {
        &self.cloud
    }

    /// Fits all points and discards any lasso or box in progress.
    pub fn fit(&mut self) {
        self.view = PlaneView::default();
        self.drawing = None;
        self.cursor = None;
    }

    /// Returns the selected tool; after it has taken a group, it is [`Tool::Hand`] again.
    pub fn tool(&self) -> Tool {
        self.tool
    }

    /// Selects a tool, or deselects it if it is selected.
    pub fn toggle(&mut self, tool: Tool) {
        self.tool = if self.tool == tool { Tool::Hand } else { tool };
        self.drawing = None;
    }

    /// Deselects the tool and discards its drawing; returns `false` if there was neither.
    pub fn cancel(&mut self) -> bool {
        let was_in_use = self.tool != Tool::Hand || self.drawing.is_some();
        self.tool = Tool::Hand;
        self.drawing = None;
        was_in_use
    }

    /// Requests the keyboard focus for the next frame.
    pub fn request_focus(&mut self) {
        self.wants_focus = true;
    }
}
