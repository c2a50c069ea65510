//! Paints the tree: edges in one mesh, discs in another, names and outlines above them.

use callgrove_model::FunctionName;
use callgrove_session::DifferenceKind;
use callgrove_widgets::theme::{RADIUS, SMALLEST_TEXT, Theme};
use egui::{Align2, Color32, FontId, Mesh, Painter, Pos2, Rect, Shape, Stroke, Vec2};

use super::sign::{paint_sign, sign_color};
use super::state::{Camera, Shown};
use crate::labels::{NameRequest, is_inside, place_labels};

/// Maximum number of names.
const MAX_NAMES: usize = 40;
/// Maximum number of names of one function.
const MAX_NAMES_OF_FUNCTION: usize = 3;
/// Font size of the names, in points.
const NAME_SIZE: f32 = 11.5;
/// Radius on the screen from which discs are named, and not covered by names, in points.
const NAME_FROM: f32 = 4.0;
/// Fraction of its colour that an item keeps while others are highlighted.
const FADED: f32 = 0.28;
/// Maximum number of occurrences of a subtree that are ringed one by one.
const MAX_RINGS: usize = 300;
/// Number of edges to one caller beyond which they fade.
const MAX_FULL_EDGES: f32 = 40.0;
/// Minimum radius of a disc on the screen, in points.
const MIN_RADIUS: f32 = 1.2;
/// Height of the note at the top, in points.
const NOTE_HEIGHT: f32 = 26.0;
/// Height of the scale at the bottom, in points.
const SCALE_HEIGHT: f32 = 30.0;
/// Radius of the sign of a difference, in points.
const SIGN_RADIUS: f32 = 4.0;
/// Width of the rim of a hollow disc, in points.
const HOLLOW: f32 = 2.0;
/// Width of the soft edge of discs and lines, in points.
const SOFT: f32 = 0.9;

/// One frame of the drawing.
pub(super) struct Canvas<'a> {
    pub(super) shown: &'a Shown,
    pub(super) theme: &'a Theme,
    pub(super) painter: &'a Painter,
    pub(super) area: Rect,
    pub(super) camera: Camera,
}

/// The highlighted vertices.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Highlight {
    /// The root of each listed subtree.
    pub(super) listed: Vec<usize>,
    /// Roots of the hovered or pinned subtree.
    pub(super) roots: Vec<usize>,
    /// All vertices of that subtree; the others fade, unless this is empty.
    pub(super) members: Vec<usize>,
    /// The vertex of the selected call.
    pub(super) call: Option<usize>,
    /// The vertex at the keyboard cursor.
    pub(super) cursor: Option<usize>,
}

impl Highlight {
    /// Returns whether a vertex is named, however small it is.
    fn names(&self, vertex: usize) -> bool {
        self.call == Some(vertex)
            || self.cursor == Some(vertex)
            || self.roots.binary_search(&vertex).is_ok()
    }
}

impl Canvas<'_> {
    pub(super) fn paint(&self, highlight: &Highlight, hovered: Option<usize>, note: &str) {
        let edge = Stroke::new(1.0, self.theme.outline());
        self.painter.rect(
            self.area,
            RADIUS,
            self.theme.canvas(),
            edge,
            egui::StrokeKind::Inside,
        );
        self.paint_edges(highlight);
        self.paint_discs(highlight);
        self.paint_signs();
        for &vertex in &highlight.listed {
            self.ring(vertex, 1.5, self.theme.abnormal());
        }
        // Rings around a dense group would hide it; its surroundings are faded instead.
        for &vertex in highlight
            .roots
            .iter()
            .filter(|_| highlight.roots.len() <= MAX_RINGS)
        {
            self.ring(vertex, 3.0, self.theme.abnormal());
        }
        if let Some(vertex) = highlight.call {
            self.ring(vertex, 3.0, self.theme.selection());
        }
        if let Some(vertex) = hovered {
            self.ring(vertex, 1.5, self.theme.selection());
        }
        if let Some(vertex) = highlight.cursor {
            let radius = self.radius(vertex) + 6.0;
            let stroke = Stroke::new(2.0, self.theme.focus());
            self.painter
                .circle_stroke(self.place(vertex), radius, stroke);
        }
        self.paint_names(highlight);
        self.paint_scale();
        self.paint_note(note);
    }

    /// Returns the vertex under the pointer, or the closest one within a few points of it.
    pub(super) fn vertex_at(&self, pointer: Pos2) -> Option<usize> {
        let distance = |vertex: usize| self.place(vertex).distance(pointer) - self.radius(vertex);
        (0..self.shown.drawing.vertices.len())
            .map(|vertex| (vertex, distance(vertex)))
            .filter(|&(_, distance)| distance <= 3.0)
            .min_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(vertex, _)| vertex)
    }

    fn place(&self, vertex: usize) -> Pos2 {
        self.camera
            .to_screen(self.area, self.shown.forces.positions()[vertex])
    }

    fn radius(&self, vertex: usize) -> f32 {
        (self.shown.drawing.vertices[vertex].radius * self.camera.zoom).max(MIN_RADIUS)
    }

    /// Returns whether a vertex is faded because others are highlighted: a selected subtree, or else the differences
    /// from the other tree.
    fn is_faded(&self, highlight: &Highlight, vertex: usize) -> bool {
        if highlight.members.is_empty() {
            self.shown.other.is_some() && self.shown.drawing.change(vertex).is_none()
        } else {
            highlight.members.binary_search(&vertex).is_err()
        }
    }

    /// Paints the differences from the other tree: a ring and a sign; missing calls are hollow.
    fn paint_signs(&self) {
        let drawing = &self.shown.drawing;
        for vertex in 0..drawing.vertices.len() {
            let Some(kind) = drawing.change(vertex) else {
                continue;
            };
            let (place, radius) = (self.place(vertex), self.radius(vertex));
            let color = sign_color(self.theme, kind);
            if kind == DifferenceKind::Missing {
                let inner = (radius - HOLLOW).max(0.0);
                self.painter
                    .circle_filled(place, inner, self.theme.canvas());
            }
            self.ring(vertex, 1.5, color);
            let at = place + Vec2::new(radius, -radius) * std::f32::consts::FRAC_1_SQRT_2;
            let back = self.theme.canvas();
            self.painter.circle_filled(at, SIGN_RADIUS + 2.0, back);
            paint_sign(self.painter, kind, at, SIGN_RADIUS, color);
        }
    }

    fn paint_edges(&self, highlight: &Highlight) {
        let mut mesh = Mesh::default();
        let width = self.camera.zoom.clamp(0.5, 1.6);
        let vertices = &self.shown.drawing.vertices;
        let mut num_children = vec![0.0_f32; vertices.len()];
        for parent in vertices.iter().filter_map(|vertex| vertex.parent) {
            num_children[parent] += 1.0;
        }
        for (child, vertex) in vertices.iter().enumerate() {
            let Some(parent) = vertex.parent else {
                continue;
            };
            // Dense edges are fainter, so that the discs stay visible.
            let strength = (0.6 * (MAX_FULL_EDGES / num_children[parent]).sqrt()).clamp(0.07, 0.6);
            let fading = if self.is_faded(highlight, child) {
                0.35
            } else {
                1.0
            };
            let color = self.theme.normal().gamma_multiply(strength * fading);
            if self.theme.is_for_picture() {
                let ends = [self.place(parent), self.place(child)];
                self.painter.line_segment(ends, Stroke::new(width, color));
                continue;
            }
            add_line(
                &mut mesh,
                self.place(parent),
                self.place(child),
                width,
                color,
            );
        }
        self.painter.add(Shape::mesh(mesh));
    }

    fn paint_discs(&self, highlight: &Highlight) {
        let mut mesh = Mesh::default();
        for (vertex, drawn) in self.shown.drawing.vertices.iter().enumerate() {
            let (place, radius) = (self.place(vertex), self.radius(vertex));
            if !self.area.expand(radius).contains(place) {
                continue;
            }
            let color = self.theme.function(drawn.func);
            let color = if self.is_faded(highlight, vertex) {
                color.gamma_multiply(FADED)
            } else {
                color
            };
            // A rim in the background colour separates touching discs.
            let rim = (radius > 4.0).then_some((radius + 1.0, self.theme.canvas()));
            for (radius, color) in rim.into_iter().chain([(radius, color)]) {
                if self.theme.is_for_picture() {
                    self.painter.circle_filled(place, radius, color);
                } else {
                    add_disc(&mut mesh, place, radius, color);
                }
            }
        }
        self.painter.add(Shape::mesh(mesh));
    }

    /// Paints a ring of this width around a disc, thinner around the smallest discs.
    fn ring(&self, vertex: usize, width: f32, color: Color32) {
        let radius = self.radius(vertex);
        let stroke = Stroke::new(width.min(radius.max(1.0)), color);
        self.painter.circle_stroke(
            self.place(vertex),
            radius + 1.0 + stroke.width / 2.0,
            stroke,
        );
    }

    fn paint_names(&self, highlight: &Highlight) {
        let (vertices, requests, galleys) = self.name_requests(highlight);
        let discs: Vec<(Pos2, f32)> = (0..self.shown.drawing.vertices.len())
            .map(|vertex| (self.place(vertex), self.radius(vertex)))
            .filter(|&(_, radius)| radius >= NAME_FROM)
            .collect();
        let available = self
            .area
            .shrink(2.0)
            .with_min_y(self.area.top() + NOTE_HEIGHT)
            .with_max_y(self.area.bottom() - SCALE_HEIGHT);
        for (at, place) in place_labels(&requests, &discs, available)
            .into_iter()
            .enumerate()
        {
            let Some(rect) = place else { continue };
            let vertex = vertices[at];
            let is_faded = self.is_faded(highlight, vertex);
            let disc = self
                .theme
                .function(self.shown.drawing.vertices[vertex].func);
            let color = match (is_inside(&requests[at], rect), is_faded) {
                (true, false) => self.theme.text_on(disc),
                (false, false) => self.theme.text(),
                (_, true) => self.theme.weak_text().gamma_multiply(0.6),
            };
            if !is_inside(&requests[at], rect) {
                self.painter.rect_filled(
                    rect.expand(1.0),
                    2.0,
                    self.theme.canvas().gamma_multiply(0.75),
                );
            }
            self.painter
                .galley_with_override_text_color(rect.min, galleys[at].clone(), color);
        }
    }

    /// Returns name requests of the largest visible discs, the largest first, with a limit for each function.
    fn name_requests(
        &self,
        highlight: &Highlight,
    ) -> (
        Vec<usize>,
        Vec<NameRequest>,
        Vec<std::sync::Arc<egui::Galley>>,
    ) {
        let drawn = &self.shown.drawing.vertices;
        let differs = |vertex: usize| self.shown.drawing.change(vertex).is_some();
        let is_named = |vertex: usize| highlight.names(vertex) || differs(vertex);
        let mut largest: Vec<usize> = (0..drawn.len())
            .filter(|&vertex| self.radius(vertex) >= NAME_FROM || is_named(vertex))
            .filter(|&vertex| self.area.contains(self.place(vertex)))
            .collect();
        largest.sort_by(|&a, &b| {
            is_named(b)
                .cmp(&is_named(a))
                .then(drawn[b].inclusive.cmp(&drawn[a].inclusive))
                .then(a.cmp(&b))
        });
        let mut num_of_function = std::collections::BTreeMap::new();
        largest.retain(|&vertex| {
            let count = num_of_function.entry(drawn[vertex].func).or_insert(0);
            *count += 1;
            *count <= MAX_NAMES_OF_FUNCTION
        });
        largest.truncate(MAX_NAMES);
        let galleys: Vec<_> = largest
            .iter()
            .map(|&vertex| {
                let font = FontId::proportional(NAME_SIZE);
                self.painter
                    .layout_no_wrap(self.name(vertex), font, Color32::PLACEHOLDER)
            })
            .collect();
        let requests = largest
            .iter()
            .zip(&galleys)
            .map(|(&vertex, galley)| NameRequest {
                centre: self.place(vertex),
                radius: self.radius(vertex),
                size: galley.size(),
            })
            .collect();
        (largest, requests, galleys)
    }

    fn name(&self, vertex: usize) -> String {
        let drawn = &self.shown.drawing.vertices[vertex];
        let name = FunctionName::parse(
            self.shown
                .focus
                .analysis
                .forest
                .trace()
                .names
                .name(drawn.func),
        )
        .short;
        let others = drawn.other.map_or(0, |other| other.num_calls);
        match drawn.num_calls.max(others) {
            1 => name.to_owned(),
            num_calls => format!("{name} ×{}", callgrove_model::thousands(num_calls)),
        }
    }

    /// Paints a note about the drawing on the upper left.
    fn paint_note(&self, note: &str) {
        let at = self.area.left_top() + Vec2::new(10.0, 8.0);
        let font = FontId::proportional(SMALLEST_TEXT);
        self.painter
            .text(at, Align2::LEFT_TOP, note, font, self.theme.weak_text());
    }

    /// Paints the scale of areas: two discs with their times, on the lower left.
    fn paint_scale(&self) {
        let font = FontId::proportional(SMALLEST_TEXT);
        let color = self.theme.weak_text();
        let unit = self.shown.focus.analysis.forest.unit();
        let mut at = self.area.left_bottom() + Vec2::new(10.0, -SCALE_HEIGHT / 2.0 - 3.0);
        for time in self.shown.scale.examples(self.camera.zoom) {
            let radius = self.shown.scale.radius(time) * self.camera.zoom;
            at.x += radius;
            self.painter
                .circle_filled(at, radius, self.theme.normal().gamma_multiply(0.55));
            let text = unit.amount(time).to_string();
            let rect = self.painter.text(
                at + Vec2::new(radius + 4.0, 0.0),
                Align2::LEFT_CENTER,
                text,
                font.clone(),
                color,
            );
            at.x = rect.right() + 12.0;
        }
        let meaning = self.painter.layout_no_wrap(
            format!("area = {}", unit.of_kind("time", "weight")),
            font,
            color,
        );
        if at.x + meaning.size().x < self.area.right() {
            let left_top = at - Vec2::new(0.0, meaning.size().y / 2.0);
            self.painter.galley(left_top, meaning, color);
        }
    }
}

/// Adds a disc with a soft edge.
fn add_disc(mesh: &mut Mesh, centre: Pos2, radius: f32, color: Color32) {
    let num_corners = ((radius.sqrt() * 7.0) as u32).clamp(8, 96);
    let first = mesh.vertices.len() as u32;
    mesh.colored_vertex(centre, color);
    let inner = (radius - SOFT / 2.0).max(0.0);
    for corner in 0..num_corners {
        let direction = Vec2::angled(corner as f32 / num_corners as f32 * std::f32::consts::TAU);
        mesh.colored_vertex(centre + direction * inner, color);
        mesh.colored_vertex(
            centre + direction * (radius + SOFT / 2.0),
            Color32::TRANSPARENT,
        );
    }
    for corner in 0..num_corners {
        let (a, b) = (
            first + 1 + 2 * corner,
            first + 1 + 2 * ((corner + 1) % num_corners),
        );
        mesh.add_triangle(first, a, b);
        mesh.add_triangle(a, a + 1, b);
        mesh.add_triangle(b, a + 1, b + 1);
    }
}

/// Adds a line with soft edges.
fn add_line(mesh: &mut Mesh, from: Pos2, to: Pos2, width: f32, color: Color32) {
    let across = (to - from).normalized().rot90();
    let first = mesh.vertices.len() as u32;
    for end in [from, to] {
        mesh.colored_vertex(end + across * (width / 2.0 + SOFT), Color32::TRANSPARENT);
        mesh.colored_vertex(end + across * (width / 2.0), color);
        mesh.colored_vertex(end - across * (width / 2.0), color);
        mesh.colored_vertex(end - across * (width / 2.0 + SOFT), Color32::TRANSPARENT);
    }
    for strip in first..first + 3 {
        mesh.add_triangle(strip, strip + 1, strip + 4);
        mesh.add_triangle(strip + 1, strip + 4, strip + 5);
    }
}
