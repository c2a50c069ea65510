//! A frame as SVG: the page, its clip paths and its groups.

use std::collections::BTreeMap;

use egui::epaint::ClippedShape;
use egui::{Color32, Rect, Shape, Vec2};

use crate::elements::push_shape;
use crate::error::PaintError;
use crate::number::{push_attribute, push_color, push_number, push_text};
use crate::text::PROPORTIONAL;

/// Distance by which a shape may reach over its clip rectangle without being cut, in points.
const CLIP_SLACK: f32 = 0.3;

/// The page that a frame is written to.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SvgPage<'a> {
    /// Width and height, in points.
    pub size: Vec2,
    /// The colour below everything.
    pub background: Color32,
    /// The title for screen readers and tooltips.
    pub title: &'a str,
    /// Prefix of all ids, so that several pictures can be in one HTML document: letters, digits, `-` and `_`, the
    /// first a letter. Other characters become `_`.
    pub id_prefix: &'a str,
}

/// Returns the shapes of a frame as an SVG document without XML declaration, so that it can be put into HTML.
///
/// Shapes outside the page and outside their clip rectangles are left out.
///
/// # Errors
/// If a shape is drawn by the renderer of the window, or a mesh has a texture.
pub fn write_svg(shapes: &[ClippedShape], page: &SvgPage<'_>) -> Result<String, PaintError> {
    let mut writer = Writer::new(page);
    for clipped in shapes {
        writer.push(clipped.clip_rect, &clipped.shape)?;
    }
    Ok(writer.finish(page))
}

struct Writer {
    page: Rect,
    id_prefix: String,
    /// Number of each clip rectangle, by its attributes.
    clips: BTreeMap<String, usize>,
    /// The clip paths.
    definitions: String,
    body: String,
    /// The clip path of the open group.
    open: Option<usize>,
}

impl Writer {
    fn new(page: &SvgPage<'_>) -> Self {
        let is_kept = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
        let prefix = page.id_prefix.chars();
        let prefix = prefix.map(|letter| if is_kept(letter) { letter } else { '_' });
        Self {
            page: Rect::from_min_size(egui::Pos2::ZERO, page.size),
            id_prefix: prefix.collect(),
            clips: BTreeMap::new(),
            definitions: String::new(),
            body: String::new(),
            open: None,
        }
    }

    fn push(&mut self, clip: Rect, shape: &Shape) -> Result<(), PaintError> {
        if let Shape::Vec(shapes) = shape {
            return shapes.iter().try_for_each(|shape| self.push(clip, shape));
        }
        let bounds = shape.visual_bounding_rect();
        let clip = clip.intersect(self.page);
        let is_seen = clip.is_positive() && bounds.is_finite() && bounds.intersects(clip);
        if !is_seen && !matches!(shape, Shape::Callback(_)) {
            return Ok(());
        }
        let is_cut = !clip.expand(CLIP_SLACK).contains_rect(bounds);
        // The page itself cuts what reaches over it.
        let is_cut = is_cut && clip != self.page;
        let group = is_cut.then(|| self.clip_path(clip));
        if group != self.open {
            self.open_group(group);
        }
        push_shape(&mut self.body, shape)
    }

    /// Returns the number of a clip path.
    fn clip_path(&mut self, clip: Rect) -> usize {
        let mut attributes = String::new();
        push_rect_attributes(&mut attributes, clip);
        let next = self.clips.len();
        let number = *self.clips.entry(attributes.clone()).or_insert(next);
        if number == next {
            self.definitions.push_str(&format!(
                "<clipPath id=\"{}-c{number}\"><rect{attributes}/></clipPath>\n",
                self.id_prefix
            ));
        }
        number
    }

    fn open_group(&mut self, group: Option<usize>) {
        if self.open.is_some() {
            self.body.push_str("</g>\n");
        }
        if let Some(number) = group {
            let prefix = &self.id_prefix;
            self.body
                .push_str(&format!("<g clip-path=\"url(#{prefix}-c{number})\">\n"));
        }
        self.open = group;
    }

    fn finish(mut self, page: &SvgPage<'_>) -> String {
        self.open_group(None);
        let mut out = String::from("<svg xmlns=\"http://www.w3.org/2000/svg\"");
        push_attribute(&mut out, "width", page.size.x);
        push_attribute(&mut out, "height", page.size.y);
        out.push_str(" viewBox=\"0 0 ");
        push_number(&mut out, page.size.x);
        out.push(' ');
        push_number(&mut out, page.size.y);
        out.push_str(&format!(
            "\" role=\"img\" aria-labelledby=\"{0}-title\" font-family=\"{PROPORTIONAL}\">\n<title id=\"{0}-title\">",
            self.id_prefix
        ));
        push_text(&mut out, page.title);
        out.push_str("</title>\n");
        if !self.definitions.is_empty() {
            out.push_str("<defs>\n");
            out.push_str(&self.definitions);
            out.push_str("</defs>\n");
        }
        out.push_str("<rect");
        push_rect_attributes(&mut out, self.page);
        push_color(&mut out, "fill", page.background);
        out.push_str("/>\n");
        out.push_str(&self.body);
        out.push_str("</svg>\n");
        out
    }
}

fn push_rect_attributes(out: &mut String, rect: Rect) {
    push_attribute(out, "x", rect.left());
    push_attribute(out, "y", rect.top());
    push_attribute(out, "width", rect.width());
    push_attribute(out, "height", rect.height());
}

#[cfg(test)]
mod tests {
    use egui::emath::TSTransform;
    use egui::{Mesh, Pos2, Stroke, pos2, vec2};

    use super::*;

    const PAGE: SvgPage<'static> = SvgPage {
        size: vec2(200.0, 100.0),
        background: Color32::WHITE,
        title: "a < b",
        id_prefix: "fig 1",
    };

    fn clipped(clip: Rect, shape: Shape) -> ClippedShape {
        ClippedShape {
            clip_rect: clip,
            shape,
            transform_after_tessellation: TSTransform::IDENTITY,
        }
    }

    fn page() -> Rect {
        Rect::from_min_size(Pos2::ZERO, PAGE.size)
    }

    #[test]
    fn the_document_parses_and_has_its_title_and_size() {
        let svg = write_svg(&[], &PAGE).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("viewBox"), Some("0 0 200 100"));
        let title = root.children().find(|child| child.has_tag_name("title"));
        assert_eq!(title.and_then(|it| it.text()), Some("a < b"));
    }

    #[test]
    fn clip_paths_are_shared_and_only_used_where_a_shape_is_cut() {
        let clip = Rect::from_min_max(pos2(10.0, 10.0), pos2(50.0, 50.0));
        let disc = |x, radius| Shape::circle_filled(pos2(x, 30.0), radius, Color32::RED);
        let shapes = [
            clipped(clip, disc(12.0, 8.0)),
            clipped(clip, disc(48.0, 8.0)),
            clipped(clip, disc(30.0, 2.0)),
            clipped(clip, disc(90.0, 8.0)),
            clipped(page(), disc(1.0, 8.0)),
        ];
        let svg = write_svg(&shapes, &PAGE).unwrap();
        let document = roxmltree::Document::parse(&svg).unwrap();
        let count = |name| {
            let all = document.descendants();
            all.filter(|node| node.has_tag_name(name)).count()
        };
        assert_eq!((count("clipPath"), count("g"), count("circle")), (1, 1, 4));
        assert!(svg.contains("url(#fig_1-c0)"), "{svg}");
    }

    #[test]
    fn shapes_that_only_the_window_can_draw_are_refused() {
        let mut mesh = Mesh::default();
        mesh.add_colored_rect(page(), Color32::RED);
        mesh.texture_id = egui::TextureId::User(3);
        let refused = write_svg(&[clipped(page(), Shape::mesh(mesh))], &PAGE);
        assert_eq!(refused, Err(PaintError::Texture));
    }

    #[test]
    fn the_same_shapes_give_the_same_bytes() {
        let line = Shape::line_segment(
            [pos2(1.234_5, 2.0), pos2(9.0, 7.7)],
            Stroke::new(1.0, Color32::RED),
        );
        let shapes = [clipped(page(), line)];
        assert_eq!(write_svg(&shapes, &PAGE), write_svg(&shapes, &PAGE));
    }
}
