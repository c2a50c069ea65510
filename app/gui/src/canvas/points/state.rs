//! What a canvas of points remembers between frames.

use egui::TextureHandle;

use super::cloud::{PointCloud, PointMark};
use super::density::Density;
use super::geometry::PlaneView;
use super::select::{SelectionDrawing, Tool};

/// The points, which part of their plane is seen, and the tool in hand.
pub struct PointsState {
    cloud: PointCloud,
    pub(crate) view: PlaneView,
    pub(super) tool: Tool,
    pub(super) drawing: Option<SelectionDrawing>,
    /// The point that the keyboard is at, and the selected one that it set out from.
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
    /// Takes over other points at `places` of the plane. Call [`Self::fit`] too if they are no later
    /// state of the same points.
    pub fn set_points(&mut self, places: Vec<[f64; 2]>, marks: Vec<PointMark>) {
        self.cloud = PointCloud::new(places, marks);
        self.density = None;
    }

    /// Gives the points other looks, shape `[n_points]`.
    pub fn set_marks(&mut self, marks: Vec<PointMark>) {
        self.cloud.set_marks(marks);
        self.density = None;
    }

    /// The points.
    pub fn cloud(&self) -> &PointCloud {
        &self.cloud
    }

    /// Shows all points and forgets what was being drawn.
    pub fn fit(&mut self) {
        self.view = PlaneView::default();
        self.drawing = None;
        self.cursor = None;
    }

    /// The tool in hand; after it has taken a group, the hand comes back.
    pub fn tool(&self) -> Tool {
        self.tool
    }

    /// Takes up a tool, or lays it down if it is in hand.
    pub fn toggle(&mut self, tool: Tool) {
        self.tool = if self.tool == tool { Tool::Hand } else { tool };
        self.drawing = None;
    }

    /// Lays down the tool and what it draws; `false` if there was neither.
    pub fn cancel(&mut self) -> bool {
        let was_in_use = self.tool != Tool::Hand || self.drawing.is_some();
        self.tool = Tool::Hand;
        self.drawing = None;
        was_in_use
    }

    /// Gives the canvas the keyboard in the next frame.
    pub fn request_focus(&mut self) {
        self.wants_focus = true;
    }
}
