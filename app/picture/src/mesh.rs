//! Meshes as paths: rectangles and triangles of one colour are joined.

use egui::epaint::{Vertex, WHITE_UV};
use egui::{Color32, Mesh, Pos2, Rect, TextureId};

use crate::error::PaintError;
use crate::number::{is_visible, push_color, push_number};

/// A part of a mesh.
enum Piece {
    /// A rectangle parallel to the axes.
    Rect(Rect),
    /// A triangle.
    Triangle([Pos2; 3]),
}

/// Appends a mesh. A triangle with different colours at its corners has their mean.
pub(crate) fn push_mesh(out: &mut String, mesh: &Mesh) -> Result<(), PaintError> {
    let is_plain = |vertex: &Vertex| vertex.uv == WHITE_UV;
    let has_plain_texture = mesh.texture_id == TextureId::default();
    let is_drawn = has_plain_texture && mesh.vertices.iter().all(is_plain);
    if !(is_drawn || mesh.vertices.is_empty()) {
        return Err(PaintError::Texture);
    }
    let mut open = None;
    let mut rest = mesh.indices.as_slice();
    while let Some((piece, color, num_indices)) = first_piece(mesh, rest) {
        rest = &rest[num_indices..];
        if !is_visible(color) {
            continue;
        }
        let is_rect = matches!(piece, Piece::Rect(_));
        if open != Some((color, is_rect)) {
            close(out, open);
            out.push_str("<path d=\"");
            open = Some((color, is_rect));
        }
        push_piece(out, &piece);
    }
    close(out, open);
    Ok(())
}

fn close(out: &mut String, open: Option<(Color32, bool)>) {
    let Some((color, is_rect)) = open else { return };
    out.push('"');
    if is_rect {
        // As on the screen, where the edges of meshes are not smoothed.
        out.push_str(" shape-rendering=\"crispEdges\"");
    }
    push_color(out, "fill", color);
    out.push_str("/>\n");
}

/// Returns the first piece, its colour and the number of its indices.
fn first_piece(mesh: &Mesh, indices: &[u32]) -> Option<(Piece, Color32, usize)> {
    let vertex = |at: usize| mesh.vertices.get(*indices.get(at)? as usize);
    let triangle = [vertex(0)?, vertex(1)?, vertex(2)?];
    if let (Some(a), Some(b), Some(c)) = (vertex(3), vertex(4), vertex(5))
        && let Some(rect) = rect_of(&[triangle[0], triangle[1], triangle[2], a, b, c])
    {
        return Some((Piece::Rect(rect), triangle[0].color, 6));
    }
    let piece = Piece::Triangle(triangle.map(|it| it.pos));
    Some((piece, mean_color(triangle.map(|it| it.color)), 3))
}

/// Returns the rectangle that two triangles of one colour form.
fn rect_of(corners: &[&Vertex; 6]) -> Option<Rect> {
    let color = corners[0].color;
    if corners.iter().any(|corner| corner.color != color) {
        return None;
    }
    let rect = corners.iter().fold(Rect::NOTHING, |mut rect, corner| {
        rect.extend_with(corner.pos);
        rect
    });
    let is_corner = |at: Pos2| {
        let is_side = |value: f32, sides: [f32; 2]| {
            sides.iter().any(|side| side.to_bits() == value.to_bits())
        };
        is_side(at.x, [rect.left(), rect.right()]) && is_side(at.y, [rect.top(), rect.bottom()])
    };
    // Each triangle has three of the four corners, and both together have all.
    let mut seen = [0_usize; 4];
    for (at, corner) in corners.iter().enumerate() {
        if !is_corner(corner.pos) {
            return None;
        }
        let x = usize::from(corner.pos.x.to_bits() == rect.right().to_bits());
        let y = usize::from(corner.pos.y.to_bits() == rect.bottom().to_bits());
        seen[x + 2 * y] |= 1 << (at / 3);
    }
    let num_shared = seen.iter().filter(|of| **of == 3).count();
    let has_all = seen.iter().all(|of| *of > 0);
    (has_all && num_shared == 2).then_some(rect)
}

fn mean_color(colors: [Color32; 3]) -> Color32 {
    let mean = |channel: usize| {
        let sum: u32 = colors
            .iter()
            .map(|color| u32::from(color.to_array()[channel]))
            .sum();
        u8::try_from(sum / 3).unwrap_or(u8::MAX)
    };
    Color32::from_rgba_premultiplied(mean(0), mean(1), mean(2), mean(3))
}

fn push_piece(out: &mut String, piece: &Piece) {
    let mut command = |letter: char, values: &[f32]| {
        out.push(letter);
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                out.push(' ');
            }
            push_number(out, *value);
        }
    };
    match piece {
        Piece::Rect(rect) => {
            command('M', &[rect.left(), rect.top()]);
            command('h', &[rect.width()]);
            command('v', &[rect.height()]);
            command('h', &[-rect.width()]);
            command('z', &[]);
        }
        Piece::Triangle([a, b, c]) => {
            command('M', &[a.x, a.y]);
            command('L', &[b.x, b.y]);
            command('L', &[c.x, c.y]);
            command('z', &[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use egui::pos2;

    use super::*;

    fn svg(mesh: &Mesh) -> String {
        let mut out = String::new();
        push_mesh(&mut out, mesh).unwrap();
        out
    }

    #[test]
    fn rectangles_of_one_colour_are_one_path() {
        let mut mesh = Mesh::default();
        let rect = |x: f32| Rect::from_min_max(pos2(x, 0.0), pos2(x + 4.0, 3.0));
        mesh.add_colored_rect(rect(0.0), Color32::RED);
        mesh.add_colored_rect(rect(5.0), Color32::RED);
        mesh.add_colored_rect(rect(10.0), Color32::BLUE);
        mesh.add_colored_rect(rect(15.0), Color32::TRANSPARENT);
        assert_eq!(
            svg(&mesh),
            "<path d=\"M0 0h4v3h-4zM5 0h4v3h-4z\" shape-rendering=\"crispEdges\" fill=\"#ff0000\"/>\n\
             <path d=\"M10 0h4v3h-4z\" shape-rendering=\"crispEdges\" fill=\"#0000ff\"/>\n"
        );
    }

    #[test]
    fn triangles_have_the_mean_of_their_corners() {
        let mut mesh = Mesh::default();
        for (at, gray) in [
            (pos2(0.0, 0.0), 0),
            (pos2(9.0, 0.0), 30),
            (pos2(0.0, 9.0), 60),
        ] {
            mesh.colored_vertex(at, Color32::from_gray(gray));
        }
        mesh.add_triangle(0, 1, 2);
        assert_eq!(svg(&mesh), "<path d=\"M0 0L9 0L0 9z\" fill=\"#1e1e1e\"/>\n");
    }
}
