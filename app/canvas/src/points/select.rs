//! Selection of points by click, lasso and box, and how it combines with the previous selection.

use egui::{Modifiers, Pos2, Rect};

use super::cloud::PointCloud;
use super::geometry::Transform;

/// The action of a drag with the primary button.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Tool {
    /// Pans the plane.
    #[default]
    Hand,
    /// Draws a line around points.
    Lasso,
    /// Draws a rectangle around points.
    Rectangle,
}

/// The rule that combines picked points with the selected ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SelectionMode {
    /// They replace the selection.
    Replace,
    /// They are added (Shift).
    Add,
    /// They are removed (Alt).
    Subtract,
}

/// Points that the user picked, and how they combine with the selection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PickedPoints {
    /// Points, ascending.
    pub points: Vec<usize>,
    /// The rule that combines them with the selection.
    pub mode: SelectionMode,
    /// True if they were drawn around, rather than clicked.
    pub is_drawn: bool,
}

/// A lasso or box in progress.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SelectionDrawing {
    pub(super) kind: DrawingKind,
    pub(super) mode: SelectionMode,
    /// Positions on the plane, so that zooming does not move them: all corners of a lasso, two opposite ones of a box.
    pub(super) corners: Vec<[f64; 2]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DrawingKind {
    Lasso,
    Rectangle,
    /// A box that the view zooms to.
    Zoom,
}

impl SelectionMode {
    /// Returns the mode for the pressed modifier keys.
    pub fn of(modifiers: Modifiers) -> Self {
        if modifiers.alt {
            Self::Subtract
        } else if modifiers.shift {
            Self::Add
        } else {
            Self::Replace
        }
    }

    /// Returns the selection, ascending, after `taken` (ascending) was combined with `selected` (ascending).
    pub fn join<T: Copy + Ord>(self, selected: &[T], taken: &[T]) -> Vec<T> {
        match self {
            Self::Replace => taken.to_vec(),
            Self::Add => {
                let mut all = [selected, taken].concat();
                all.sort_unstable();
                all.dedup();
                all
            }
            Self::Subtract => selected
                .iter()
                .copied()
                .filter(|point| taken.binary_search(point).is_err())
                .collect(),
        }
    }
}

impl SelectionDrawing {
    /// Starts at a corner.
    pub(super) fn new(kind: DrawingKind, mode: SelectionMode, corner: [f64; 2]) -> Self {
        let corners = match kind {
            DrawingKind::Lasso => vec![corner],
            DrawingKind::Rectangle | DrawingKind::Zoom => vec![corner; 2],
        };
        Self {
            kind,
            mode,
            corners,
        }
    }

    /// Continues to a position of the screen.
    pub(super) fn extend(&mut self, pointer: Pos2, transform: &Transform) {
        let place = transform.to_plane(pointer);
        match self.kind {
            DrawingKind::Lasso => {
                let is_far = |last: &[f64; 2]| transform.to_screen(*last).distance(pointer) > 2.0;
                if self.corners.last().is_none_or(is_far) {
                    self.corners.push(place);
                }
            }
            DrawingKind::Rectangle | DrawingKind::Zoom => self.corners[1] = place,
        }
    }

    /// Returns its outline on the screen; a box has all four corners.
    pub(super) fn line(&self, transform: &Transform) -> Vec<Pos2> {
        match self.kind {
            DrawingKind::Lasso => self
                .corners
                .iter()
                .map(|&corner| transform.to_screen(corner))
                .collect(),
            DrawingKind::Rectangle | DrawingKind::Zoom => {
                let rect = self.rect(transform);
                [
                    rect.left_top(),
                    rect.right_top(),
                    rect.right_bottom(),
                    rect.left_bottom(),
                ]
                .to_vec()
            }
        }
    }

    /// Returns the box between the first corner and the last.
    pub(super) fn rect(&self, transform: &Transform) -> Rect {
        let [first, last] = [self.corners.first(), self.corners.last()]
            .map(|corner| corner.map_or(Pos2::ZERO, |&corner| transform.to_screen(corner)));
        Rect::from_two_pos(first, last)
    }

    /// Returns the points inside.
    pub(super) fn take(&self, cloud: &PointCloud) -> PickedPoints {
        let polygon = match (self.kind, &self.corners[..]) {
            (DrawingKind::Rectangle, &[[x0, y0], [x1, y1]]) => {
                vec![[x0, y0], [x1, y0], [x1, y1], [x0, y1]]
            }
            (_, corners) => corners.to_vec(),
        };
        PickedPoints {
            points: cloud.grid().in_polygon(cloud.places(), &polygon),
            mode: self.mode,
            is_drawn: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_group() -> impl Strategy<Value = Vec<u32>> {
        proptest::collection::btree_set(0_u32..40, 0..20).prop_map(|set| set.into_iter().collect())
    }

    proptest! {
        #[test]
        fn groups_combine_like_sets(selected in any_group(), taken in any_group()) {
            let added = SelectionMode::Add.join(&selected, &taken);
            let left = SelectionMode::Subtract.join(&selected, &taken);
            prop_assert!(added.is_sorted() && left.is_sorted());
            for point in 0..40 {
                let (was, is_taken) = (selected.contains(&point), taken.contains(&point));
                prop_assert_eq!(added.contains(&point), was || is_taken);
                prop_assert_eq!(left.contains(&point), was && !is_taken);
            }
            prop_assert_eq!(SelectionMode::Add.join(&added, &taken), added.clone());
            prop_assert_eq!(SelectionMode::Subtract.join(&added, &taken), left);
            prop_assert_eq!(SelectionMode::Replace.join(&selected, &taken), taken);
        }
    }
}
