//! Sprites of all mark shapes in one texture: smooth edges with four vertices a mark.

use egui::{
    Color32, ColorImage, Context, Mesh, Pos2, Rect, Shape, Stroke, TextureHandle, TextureId,
    TextureOptions, Vec2,
};

use super::cloud::{MarkShape, mark_shape};

/// Width of a sprite in texels; marks are drawn at about half of it.
const SIDE: usize = 48;
/// Half the width of the shape inside its sprite, in texels; the rest is transparent.
const HALF: f32 = 20.0;
/// Line width of a ring, in texels.
const RING: f32 = 6.0;

/// The shape of a sprite.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sprite {
    /// A filled circle.
    Disc,
    /// A filled square.
    Square,
    /// A filled triangle.
    Triangle,
    /// A filled square on its corner.
    Diamond,
    /// A circle.
    Ring,
}

const ALL: [Sprite; 5] = [
    Sprite::Disc,
    Sprite::Square,
    Sprite::Triangle,
    Sprite::Diamond,
    Sprite::Ring,
];

impl From<MarkShape> for Sprite {
    fn from(shape: MarkShape) -> Self {
        match shape {
            MarkShape::Disc => Self::Disc,
            MarkShape::Square => Self::Square,
            MarkShape::Triangle => Self::Triangle,
            MarkShape::Diamond => Self::Diamond,
        }
    }
}

impl Sprite {
    /// Returns the covered fraction of a texel at `offset` from the middle.
    fn coverage(self, offset: Vec2) -> f32 {
        let from_disc = offset.length() - HALF;
        // The distance to a side of the diamond, whose corners are HALF away.
        let from_diamond = (offset.x.abs() + offset.y.abs() - HALF) / std::f32::consts::SQRT_2;
        let outside = match self {
            Self::Disc => from_disc,
            Self::Square => offset.x.abs().max(offset.y.abs()) - HALF * 0.82,
            // The distance to the base and to the two slanted sides of an equilateral triangle.
            Self::Triangle => {
                (offset.y - HALF * 0.62).max(offset.x.abs() * 0.866 - offset.y * 0.5 - HALF * 0.55)
            }
            Self::Diamond => from_diamond,
            Self::Ring => (from_disc + RING / 2.0).abs() - RING / 2.0,
        };
        // The edge is two texels wide, since sprites are drawn smaller than their size in texels.
        (0.5 - outside / 2.0).clamp(0.0, 1.0)
    }

    /// Returns the sprite as a shape that reaches about `radius` from its middle.
    fn shape(self, middle: Pos2, radius: f32, color: Color32) -> Shape {
        let mark = match self {
            Self::Disc => MarkShape::Disc,
            Self::Square => MarkShape::Square,
            Self::Triangle => MarkShape::Triangle,
            Self::Diamond => MarkShape::Diamond,
            Self::Ring => {
                let width = radius * RING / HALF;
                let stroke = Stroke::new(width, color);
                return Shape::circle_stroke(middle, radius - width / 2.0, stroke);
            }
        };
        mark_shape(mark, middle, radius, color)
    }

    /// Returns its part of the texture.
    pub(super) fn uv(self) -> Rect {
        let at = self as usize as f32 / ALL.len() as f32;
        Rect::from_min_max(
            Pos2::new(at, 0.0),
            Pos2::new(at + 1.0 / ALL.len() as f32, 1.0),
        )
    }
}

/// Loads the texture.
pub(super) fn load(ctx: &Context) -> TextureHandle {
    let mut image = ColorImage::filled([SIDE * ALL.len(), SIDE], Color32::TRANSPARENT);
    for (at, sprite) in ALL.iter().enumerate() {
        for y in 0..SIDE {
            for x in 0..SIDE {
                let middle = (SIDE as f32 - 1.0) / 2.0;
                let coverage = sprite.coverage(Vec2::new(x as f32 - middle, y as f32 - middle));
                image[(at * SIDE + x, y)] = Color32::WHITE.gamma_multiply(coverage);
            }
        }
    }
    ctx.load_texture("marks of points", image, TextureOptions::LINEAR)
}

/// A layer of marks under construction: one mesh with the texture, or a shape for each mark.
pub(super) struct SpriteMesh {
    mesh: Mesh,
    /// The shapes, if there is no texture.
    shapes: Option<Vec<Shape>>,
    clip: Rect,
}

impl SpriteMesh {
    /// Creates an empty mesh; it leaves out marks outside `clip` and transparent ones.
    pub(super) fn new(texture: Option<TextureId>, clip: Rect) -> Self {
        Self {
            shapes: texture.is_none().then(Vec::new),
            mesh: Mesh::with_texture(texture.unwrap_or_default()),
            clip,
        }
    }

    /// Adds a mark whose shape reaches `radius` points from its middle.
    pub(super) fn add(&mut self, sprite: Sprite, middle: Pos2, radius: f32, color: Color32) {
        let half = radius * SIDE as f32 / 2.0 / HALF;
        let rect = Rect::from_center_size(middle, Vec2::splat(2.0 * half));
        if color.a() == 0 || !rect.intersects(self.clip) {
            return;
        }
        if let Some(shapes) = &mut self.shapes {
            shapes.push(sprite.shape(middle, radius, color));
        } else {
            self.mesh.add_rect_with_uv(rect, sprite.uv(), color);
        }
    }

    /// Adds a square that fills `rect`.
    pub(super) fn add_square(&mut self, rect: Rect, color: Color32) {
        if self.shapes.is_some() {
            self.mesh.add_colored_rect(rect, color);
        } else {
            let inner = Sprite::Square.uv().scale_from_center(0.5);
            self.mesh.add_rect_with_uv(rect, inner, color);
        }
    }

    /// Returns all marks as one shape, the first below the others.
    pub(super) fn into_shape(self) -> Shape {
        let mut shapes = self.shapes.unwrap_or_default();
        if !self.mesh.is_empty() {
            shapes.push(Shape::mesh(self.mesh));
        }
        Shape::Vec(shapes)
    }

    /// Returns all marks in one mesh, the first below the others.
    #[cfg(test)]
    pub(super) fn into_mesh(self) -> Mesh {
        self.mesh
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sprites_are_clear_at_their_edges_and_rings_in_the_middle() {
        for sprite in ALL {
            assert!(
                sprite.coverage(Vec2::new(SIDE as f32 / 2.0 - 0.5, 0.0)) < 0.01,
                "{sprite:?}"
            );
        }
        assert!(
            ALL[..4]
                .iter()
                .all(|sprite| sprite.coverage(Vec2::ZERO) > 0.99)
        );
        assert!(Sprite::Ring.coverage(Vec2::ZERO) < 0.01);
    }

    #[test]
    fn marks_outside_the_canvas_are_left_out() {
        let canvas = Rect::from_min_size(Pos2::ZERO, Vec2::splat(100.0));
        let mut marks = SpriteMesh::new(Some(TextureId::default()), canvas);
        marks.add(Sprite::Disc, Pos2::new(50.0, 50.0), 3.0, Color32::WHITE);
        marks.add(Sprite::Disc, Pos2::new(150.0, 50.0), 3.0, Color32::WHITE);
        assert_eq!(marks.into_mesh().vertices.len(), 4);
    }
}
