//! The map of all trees, as the views take it.

use serde::{Deserialize, Serialize};

/// How trees are laid out in the plane.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum MapMethod {
    /// Multidimensional scaling: distances are kept as well as a projection can; ready at once.
    #[default]
    Mds,
    /// The same, then moved until the distances fit as well as they can (SMACOF).
    Smacof,
    /// Neighbours stay together; distances between groups mean little.
    Tsne,
}

/// A map of the forest's trees.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TreeMap {
    /// How it was made.
    pub method: MapMethod,
    /// Position of each tree, shape `[n_trees, 2]`; centred, the farthest coordinate is ±1.
    pub points: Vec<[f32; 2]>,
    /// Share of the neighbourhood of each point that is a neighbourhood in full space, 0 to 1; `None`
    /// while the map forms.
    pub trustworthiness: Option<f64>,
    /// How much of it is done, 0 to 1.
    pub fraction: f32,
    /// Whether the person stopped it before the end.
    pub is_paused: bool,
}

impl MapMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::Mds, Self::Smacof, Self::Tsne];
}
