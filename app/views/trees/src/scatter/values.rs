//! The values of a colouring, and its legend.

use callgrove_canvas::points::MarkShape;
use callgrove_model::{Forest, TreeIdx};
use callgrove_session::DelayRole;
use egui::Color32;

/// The values that determine the colours.
pub(super) enum Values {
    /// None: the snapshot is sufficient.
    Snapshot,
    /// Position on a scale, 0 to 1, by tree, with the texts of both ends.
    Scale(Vec<f32>, [String; 2]),
    /// Class by tree, with the names of the coloured classes, and of the rest.
    Classes(Vec<u32>, Vec<String>, Option<String>),
    /// Role by tree.
    Roles(Vec<DelayRole>),
}

/// A line of the legend: a mark, or a scale.
pub(super) enum LegendRow {
    Mark(MarkShape, Color32, String),
    Ring(MarkShape, Color32, Color32, String),
    Scale([String; 2]),
}

impl LegendRow {
    /// Returns the text of the line.
    #[cfg(test)]
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Mark(.., text) | Self::Ring(.., text) => text,
            Self::Scale([low, _]) => low,
        }
    }
}

pub(super) fn trees(forest: &Forest) -> impl Iterator<Item = TreeIdx> + use<> {
    (0..forest.len()).map(TreeIdx::from_index)
}
