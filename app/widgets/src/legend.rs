//! The title, the facts and the legend of a view for a picture, where no tooltip explains anything.

use std::sync::Arc;

use egui::text::{LayoutJob, TextWrapping};
use egui::{Color32, FontId, Painter, Pos2, Rect, Sense, Shape, Stroke, StrokeKind, Ui, Vec2};

use crate::theme::{SMALLEST_TEXT, Theme};

/// Height of a line of the legend, in points.
const LINE: f32 = 17.0;
/// Size of a mark, in points.
const MARK: Vec2 = Vec2::new(14.0, 10.0);
/// Gap between a mark and its text, in points.
const GAP: f32 = 5.0;
/// Gap between two items, in points.
const BETWEEN: f32 = 12.0;
/// Maximum width of a text, in points.
const MAX_TEXT: f32 = 240.0;

/// The texts of a picture of a view.
#[derive(Clone, Default)]
pub struct ViewNotes {
    /// Content of the picture.
    pub title: String,
    /// Facts about it, the most important first.
    pub facts: Vec<String>,
    /// The meaning of its marks and colours.
    pub legend: Vec<LegendItem>,
}

/// A mark with its meaning.
#[derive(Clone)]
pub struct LegendItem {
    mark: LegendMark,
    text: String,
}

/// Paints a mark around the middle of a rectangle.
pub(crate) type PaintMark = Arc<dyn Fn(&Painter, Rect)>;

/// A mark of a legend.
#[derive(Clone)]
pub enum LegendMark {
    /// An area of a colour.
    Fill(Color32),
    /// A time range with an outline.
    Interval(Color32),
    /// The mark of an abnormal execution.
    Flag(Color32),
    /// An arrow.
    Arrow(Color32),
    /// A mark that is painted around the middle of a rectangle.
    Painted(PaintMark),
}

impl LegendItem {
    /// Returns a mark with its meaning.
    pub fn new(mark: LegendMark, text: impl Into<String>) -> Self {
        Self {
            mark,
            text: text.into(),
        }
    }

    /// Returns a mark that `paint` paints around the middle of a rectangle.
    pub fn painted(paint: impl Fn(&Painter, Rect) + 'static, text: impl Into<String>) -> Self {
        Self::new(LegendMark::Painted(Arc::new(paint)), text)
    }

    /// Returns the meaning of the mark.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Draws the items of a legend, with as many in a line as fit.
pub fn legend_ui(theme: &Theme, items: &[LegendItem], ui: &mut Ui) {
    ui.spacing_mut().item_spacing = Vec2::new(BETWEEN, 2.0);
    ui.horizontal_wrapped(|ui| {
        for item in items {
            item_ui(theme, item, ui);
        }
    });
}

fn item_ui(theme: &Theme, item: &LegendItem, ui: &mut Ui) {
    let font = FontId::proportional(SMALLEST_TEXT + 0.5);
    let mut job = LayoutJob::simple_singleline(item.text.clone(), font, theme.text());
    job.wrap = TextWrapping::truncate_at_width(MAX_TEXT.min(ui.max_rect().width() - 30.0));
    let galley = ui.painter().layout_job(job);
    let size = Vec2::new(MARK.x + GAP + galley.size().x, LINE);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let middle = Pos2::new(rect.left() + MARK.x / 2.0, rect.center().y);
    paint_mark(
        &item.mark,
        Rect::from_center_size(middle, MARK),
        ui.painter(),
    );
    let at = Pos2::new(
        rect.left() + MARK.x + GAP,
        rect.center().y - galley.size().y / 2.0,
    );
    ui.painter().galley(at, galley, theme.text());
}

fn paint_mark(mark: &LegendMark, rect: Rect, painter: &Painter) {
    match mark {
        LegendMark::Fill(color) => {
            painter.rect_filled(rect, 1.0, *color);
        }
        LegendMark::Interval(color) => {
            let stroke = Stroke::new(2.0, *color);
            painter.rect(
                rect,
                2.0,
                color.gamma_multiply(0.3),
                stroke,
                StrokeKind::Inside,
            );
        }
        LegendMark::Flag(color) => {
            let flag = Rect::from_center_size(rect.center(), Vec2::new(8.0, 3.0));
            painter.rect_filled(flag, 1.0, *color);
        }
        LegendMark::Arrow(color) => {
            let (from, to) = (rect.left_center(), rect.right_center());
            painter.line_segment([from, to], Stroke::new(1.2, *color));
            let head = vec![to, to + Vec2::new(-5.0, -2.5), to + Vec2::new(-5.0, 2.5)];
            painter.add(Shape::convex_polygon(head, *color, Stroke::NONE));
        }
        LegendMark::Painted(paint) => paint(painter, rect),
    }
}
