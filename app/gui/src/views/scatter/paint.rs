//! Draws the map.

use callgrove_model::TreeIdx;
use callgrove_session::{Analysis, Label, Selection, TreeMap};
use egui::{
    Align2, Color32, FontId, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, TextureId, Vec2,
};

use super::layout::Transform;
use super::sprites::{self, Marks, Sprite};
use super::state::ScatterState;
use crate::context::ViewContext;
use crate::theme::{RADIUS, Theme};
use crate::widgets::thousands;

/// Radius of the mark of a normal tree on the fitted map, in points.
const NORMAL_RADIUS: f32 = 3.2;
/// Half the diagonal of the mark of an abnormal tree.
const ABNORMAL_RADIUS: f32 = 5.2;

/// One frame of drawing.
struct Canvas<'a> {
    ctx: &'a ViewContext<'a>,
    analysis: &'a Analysis,
    map: &'a TreeMap,
    transform: &'a Transform,
    painter: &'a Painter,
    /// Marks grow a little as one comes near.
    growth: f32,
}

/// Draws all trees, then what is said about them, then the lasso and the legend.
pub(super) fn paint(
    ctx: &ViewContext<'_>,
    (analysis, map): (&Analysis, &TreeMap),
    state: &mut ScatterState,
    transform: &Transform,
    painter: &Painter,
    hovered: Option<TreeIdx>,
) {
    let rect = transform.rect();
    painter.rect(
        rect,
        RADIUS,
        ctx.theme.canvas(),
        Stroke::new(1.0, ctx.theme.outline()),
        StrokeKind::Inside,
    );
    let texture = state
        .sprites
        .get_or_insert_with(|| sprites::load(painter.ctx()))
        .id();
    let growth = transform.zoom().max(1.0).powf(0.2).min(2.2);
    let canvas = Canvas {
        ctx,
        analysis,
        map,
        transform,
        painter,
        growth,
    };
    canvas.paint_trees(texture);
    canvas.paint_focus(hovered);
    canvas.paint_lasso(&state.lasso);
    canvas.paint_legend(texture);
    if state.is_lasso_tool && state.lasso.is_empty() {
        let at = rect.center_top() + Vec2::new(0.0, 12.0);
        let text = "Draw around the executions to select";
        painter.text(
            at,
            Align2::CENTER_TOP,
            text,
            FontId::proportional(14.0),
            ctx.theme.text(),
        );
    }
}

impl Canvas<'_> {
    fn place(&self, tree: TreeIdx) -> Option<Pos2> {
        self.map
            .points
            .get(tree.index())
            .map(|&point| self.transform.to_screen(point))
    }

    fn is_abnormal(&self, tree: TreeIdx) -> bool {
        self.ctx
            .snapshot
            .detection
            .as_ref()
            .is_some_and(|detection| detection.is_abnormal(tree))
    }

    /// Normal trees below, abnormal ones above them, labels and the group on top.
    fn paint_trees(&self, texture: TextureId) {
        let theme = self.ctx.theme;
        let mut marks = Marks::new(texture, self.transform.rect());
        let trees = || (0..self.map.points.len()).map(TreeIdx::from_index);
        let normal = theme.normal().gamma_multiply(0.72);
        for tree in trees().filter(|&tree| !self.is_abnormal(tree)) {
            self.mark(&mut marks, tree, Sprite::Disc, NORMAL_RADIUS, normal);
        }
        for tree in trees().filter(|&tree| self.is_abnormal(tree)) {
            self.mark(
                &mut marks,
                tree,
                Sprite::Diamond,
                ABNORMAL_RADIUS + 1.2,
                theme.canvas(),
            );
            self.mark(
                &mut marks,
                tree,
                Sprite::Diamond,
                ABNORMAL_RADIUS,
                theme.abnormal(),
            );
        }
        for (tree, label) in trees().filter_map(|tree| Some((tree, self.ctx.snapshot.label(tree)?)))
        {
            match label {
                Label::Normal => self.mark(
                    &mut marks,
                    tree,
                    Sprite::Ring,
                    ABNORMAL_RADIUS + 2.5,
                    theme.label_normal(),
                ),
                Label::Abnormal => {
                    self.mark(
                        &mut marks,
                        tree,
                        Sprite::Diamond,
                        ABNORMAL_RADIUS,
                        theme.abnormal(),
                    );
                    self.mark(
                        &mut marks,
                        tree,
                        Sprite::DiamondRing,
                        ABNORMAL_RADIUS + 5.0,
                        theme.abnormal(),
                    );
                }
            }
        }
        if let Selection::Group(group) = &self.ctx.snapshot.selection {
            for &tree in group {
                self.mark(
                    &mut marks,
                    tree,
                    Sprite::Ring,
                    NORMAL_RADIUS + 2.0,
                    theme.selection(),
                );
            }
        }
        self.painter.add(Shape::mesh(marks.into_mesh()));
    }

    fn mark(&self, marks: &mut Marks, tree: TreeIdx, sprite: Sprite, radius: f32, color: Color32) {
        if let Some(place) = self.place(tree).filter(|place| place.is_finite()) {
            marks.add(sprite, place, radius * self.growth, color);
        }
    }

    /// The focused tree with its code, and the one under the pointer.
    fn paint_focus(&self, hovered: Option<TreeIdx>) {
        let theme = self.ctx.theme;
        if let Some(place) = hovered.and_then(|tree| self.place(tree)) {
            self.painter.circle_stroke(
                place,
                9.0 * self.growth,
                Stroke::new(1.5, theme.selection()),
            );
        }
        let Some((tree, place)) = self
            .ctx
            .snapshot
            .focus()
            .and_then(|tree| Some((tree, self.place(tree)?)))
        else {
            return;
        };
        let radius = 10.0 * self.growth;
        self.painter
            .circle_stroke(place, radius, Stroke::new(5.0, theme.canvas()));
        self.painter
            .circle_stroke(place, radius, Stroke::new(2.0, theme.selection()));
        let code = self.analysis.forest.code(tree).to_string();
        let is_group = matches!(self.ctx.snapshot.selection, Selection::Group(_));
        let text = if is_group {
            format!("centre {code}")
        } else {
            code
        };
        self.paint_tag(place, radius, text);
    }

    /// A small sign beside a mark, on the side where there is room.
    fn paint_tag(&self, place: Pos2, radius: f32, text: String) {
        let rect = self.transform.rect();
        let theme = self.ctx.theme;
        let galley = self
            .painter
            .layout_no_wrap(text, FontId::monospace(12.0), theme.canvas());
        let size = galley.size() + Vec2::new(10.0, 4.0);
        let is_right = place.x + radius + 6.0 + size.x < rect.right();
        let left = if is_right {
            place.x + radius + 6.0
        } else {
            place.x - radius - 6.0 - size.x
        };
        let sign = Rect::from_min_size(Pos2::new(left, place.y - size.y / 2.0), size);
        self.painter.rect_filled(sign, 3.0, theme.selection());
        self.painter
            .galley(sign.min + Vec2::new(5.0, 2.0), galley, theme.canvas());
    }

    fn paint_lasso(&self, corners: &[[f32; 2]]) {
        let line: Vec<Pos2> = corners
            .iter()
            .map(|&corner| self.transform.to_screen(corner))
            .collect();
        if let [first, .., last] = line[..] {
            let stroke = Stroke::new(1.5, self.ctx.theme.selection());
            self.painter
                .extend(Shape::dashed_line(&[last, first], stroke, 4.0, 4.0));
            self.painter.line(line, stroke);
        }
    }

    /// What the marks mean, with shapes and counts, on the lower left.
    fn paint_legend(&self, texture: TextureId) {
        let theme = self.ctx.theme;
        let rows = legend(self.ctx);
        let line_height = 18.0;
        let font = FontId::proportional(12.0);
        let galleys: Vec<_> = rows
            .iter()
            .map(|row| {
                self.painter
                    .layout_no_wrap(row.text.clone(), font.clone(), theme.text())
            })
            .collect();
        let width = galleys
            .iter()
            .map(|galley| galley.size().x)
            .fold(0.0, f32::max)
            + 36.0;
        let size = Vec2::new(width, rows.len() as f32 * line_height + 8.0);
        let corner = self.transform.rect().left_bottom() + Vec2::new(8.0, -8.0 - size.y);
        let frame = Rect::from_min_size(corner, size);
        self.painter
            .rect_filled(frame, RADIUS, theme.canvas().gamma_multiply(0.85));
        let mut marks = Marks::new(texture, frame);
        for (at, (row, galley)) in rows.iter().zip(galleys).enumerate() {
            let middle = frame.top() + 4.0 + (at as f32 + 0.5) * line_height;
            let icon = Pos2::new(frame.left() + 15.0, middle);
            for &(sprite, radius, color) in &row.marks {
                marks.add(sprite, icon, radius, color);
            }
            let left_top = Pos2::new(frame.left() + 28.0, middle - galley.size().y / 2.0);
            self.painter.galley(left_top, galley, theme.text());
        }
        self.painter.add(Shape::mesh(marks.into_mesh()));
    }
}

struct LegendRow {
    text: String,
    marks: Vec<(Sprite, f32, Color32)>,
}

fn legend(ctx: &ViewContext<'_>) -> Vec<LegendRow> {
    let theme: &Theme = ctx.theme;
    let snapshot = ctx.snapshot;
    let mut rows = Vec::new();
    if let Some(detection) = &snapshot.detection {
        let num_normal = detection.scores.len() - detection.num_abnormal;
        rows.push(LegendRow {
            text: format!("{} abnormal", thousands(detection.num_abnormal)),
            marks: vec![(Sprite::Diamond, ABNORMAL_RADIUS, theme.abnormal())],
        });
        rows.push(LegendRow {
            text: format!("{} normal", thousands(num_normal)),
            marks: vec![(Sprite::Disc, NORMAL_RADIUS, theme.normal())],
        });
    }
    let num_labelled = |label| {
        snapshot
            .labels_by_tree
            .iter()
            .filter(|&&other| other == Some(label))
            .count()
    };
    let (num_abnormal, num_normal) = (num_labelled(Label::Abnormal), num_labelled(Label::Normal));
    if num_abnormal > 0 {
        rows.push(LegendRow {
            text: format!("{} labelled abnormal", thousands(num_abnormal)),
            marks: vec![
                (Sprite::Diamond, 3.5, theme.abnormal()),
                (Sprite::DiamondRing, ABNORMAL_RADIUS + 3.0, theme.abnormal()),
            ],
        });
    }
    if num_normal > 0 {
        rows.push(LegendRow {
            text: format!("{} labelled normal", thousands(num_normal)),
            marks: vec![
                (Sprite::Disc, 2.5, theme.normal()),
                (Sprite::Ring, 6.0, theme.label_normal()),
            ],
        });
    }
    rows
}
