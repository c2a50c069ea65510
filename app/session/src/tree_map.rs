//! The map of all trees in the form that the views use.

use serde::{Deserialize, Serialize};

/// A method to lay out trees in the plane.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum MapMethod {
    /// Multidimensional scaling: preserves distances as well as a projection can; ready at once.
    #[default]
    Mds,
    /// The same, then refined until the distances fit as well as possible (SMACOF).
    Smacof,
    /// Keeps neighbours together; distances between groups mean little (t-SNE).
    Tsne,
}

/// A map of the forest's trees.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TreeMap {
    /// Method of the layout.
    pub method: MapMethod,
    /// Position of each tree, shape `[n_trees, 2]`; centred, the farthest coordinate is ±1.
    pub points: Vec<[f32; 2]>,
    /// Share of each point's neighbourhood in the map that is also one in the full space, 0 to 1; `None`
    /// while the map is being computed.
    pub trustworthiness: Option<f64>,
    /// Finished share, 0 to 1.
    pub fraction: f32,
    /// True if the user paused the computation.
    pub is_paused: bool,
}

impl MapMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Mds, Self::Smacof, Self::Tsne];
}
