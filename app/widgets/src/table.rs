//! A table of many rows: sorted by a click on a heading; only visible rows are drawn.

use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align, Align2, Button, Color32, FontId, Id, Label, Layout, Pos2, Rect, Role, ScrollArea, Sense,
    Ui, UiBuilder, Vec2, WidgetInfo,
};

use callgrove_model::thousands;

use super::header::{in_picture, picture_fact};
use crate::theme::Theme;

/// Height of a row, in points.
pub const ROW_HEIGHT: f32 = 22.0;
/// Horizontal padding of a cell, in points.
const PADDING: f32 = 6.0;

/// A column.
pub struct Column {
    name: &'static str,
    width: f32,
    is_number: bool,
}

impl Column {
    /// Returns a text column of the given width in points; columns of width 0 share the remaining width.
    pub const fn text(name: &'static str, width: f32) -> Self {
        Self {
            name,
            width,
            is_number: false,
        }
    }

    /// Returns a column of right-aligned numbers.
    pub const fn number(name: &'static str, width: f32) -> Self {
        Self {
            name,
            width,
            is_number: true,
        }
    }
}

/// The content of a cell.
pub enum Cell {
    /// A text.
    Text(String),
    /// A text after a coloured mark.
    Marked(Color32, String),
    /// A text on a bar of some length, 0 to 1.
    Bar(f32, String),
    /// A button, with its accessible name.
    Link(&'static str, String),
}

/// The clicked part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Clicked {
    /// A row.
    Row(usize),
    /// The link in a row.
    Link(usize),
}

/// The sort column and direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sort {
    /// Column.
    pub column: usize,
    /// True if the largest comes first.
    pub is_descending: bool,
}

/// The content of a table, except for its cells.
pub struct Table<'a> {
    /// Identifies the table in egui's memory.
    pub salt: &'a str,
    /// Columns.
    pub columns: &'a [Column],
    /// Number of rows.
    pub num_rows: usize,
    /// The selected row.
    pub selected: Option<usize>,
}

impl Cell {
    fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Marked(_, text) | Self::Bar(_, text) => text,
            Self::Link(text, _) => text,
        }
    }
}

impl Sort {
    /// Sorts `rows` by a numeric key; the sort is stable.
    pub fn by_number(self, rows: &mut [usize], key: impl Fn(usize) -> f64) {
        rows.sort_by(|&a, &b| {
            let order = key(a).total_cmp(&key(b));
            if self.is_descending {
                order.reverse()
            } else {
                order
            }
        });
    }

    /// Sorts `rows` by a text; the sort is stable.
    pub fn by_text<K: Ord>(self, rows: &mut [usize], key: impl Fn(usize) -> K) {
        rows.sort_by(|&a, &b| {
            let order = key(a).cmp(&key(b));
            if self.is_descending {
                order.reverse()
            } else {
                order
            }
        });
    }
}

impl Table<'_> {
    /// Draws the table. Returns the clicked part. Screen readers get a row as the texts of its cells.
    pub fn ui(
        &self,
        theme: &Theme,
        sort: &mut Sort,
        ui: &mut Ui,
        cells: impl Fn(usize) -> Vec<Cell>,
    ) -> Option<Clicked> {
        ui.spacing_mut().item_spacing = Vec2::ZERO;
        let scroll_bar = ui.spacing().scroll.allocated_width();
        let width = (ui.available_width() - scroll_bar).max(1.0);
        let widths = self.drawn_widths(width, ui);
        let scrolled = ui.scope_id().with((self.salt, "scrolled"));
        self.headings_ui(&widths, scrolled, sort, ui);
        let mut clicked = None;
        let num_rows = self.num_drawn(ui);
        let area = ScrollArea::both()
            .id_salt(self.salt)
            .auto_shrink(false)
            .show_rows(ui, ROW_HEIGHT, num_rows, |ui, rows| {
                for row in rows {
                    let size = Vec2::new(widths.iter().sum(), ROW_HEIGHT);
                    let (id, rect) = ui.allocate_space(size);
                    // Only the visible part of a row that is wider than the view is clickable.
                    let response = ui.interact(rect.intersect(ui.clip_rect()), id, Sense::click());
                    let cells = cells(row);
                    let is_selected = self.selected == Some(row);
                    response.widget_info(|| {
                        let read = cells.iter().filter(|cell| !matches!(cell, Cell::Link(..)));
                        let texts = read.map(Cell::text).filter(|text| !text.is_empty());
                        let texts: Vec<&str> = texts.collect();
                        WidgetInfo::selected(Role::Button, true, is_selected, texts.join(", "))
                    });
                    let is_hot = response.hovered() || response.has_focus();
                    if is_selected || is_hot {
                        ui.painter().rect_filled(rect, 0.0, theme.card_focused());
                    } else if row % 2 == 1 {
                        let faint = ui.visuals().faint_bg_color;
                        ui.painter().rect_filled(rect, 0.0, faint);
                    }
                    let is_linked = self.row_ui(theme, (rect, id), &widths, &cells, ui);
                    if is_linked {
                        clicked = Some(Clicked::Link(row));
                    } else if response.clicked() {
                        clicked = Some(Clicked::Row(row));
                    }
                }
            });
        ui.data_mut(|data| data.insert_temp(scrolled, area.state.clamped_offset().x));
        clicked
    }

    /// Returns the number of rows to draw: a picture has as many whole ones as fit.
    fn num_drawn(&self, ui: &Ui) -> usize {
        if !in_picture(ui) {
            return self.num_rows;
        }
        let num_fitting = (ui.available_height() / ROW_HEIGHT).floor().max(0.0) as usize;
        let num_drawn = self.num_rows.min(num_fitting);
        if num_drawn < self.num_rows {
            let (drawn, all) = (thousands(num_drawn), thousands(self.num_rows));
            picture_fact(ui, || format!("the first {drawn} of {all} rows are drawn"));
        }
        num_drawn
    }

    /// Returns the widths of the columns to draw: a picture has as many whole ones as fit.
    fn drawn_widths(&self, width: f32, ui: &Ui) -> Vec<f32> {
        let mut widths = self.widths(width);
        if in_picture(ui) {
            let mut right = 0.0;
            let fits = |column: &&f32| {
                right += **column;
                right <= width + 1.0
            };
            let num_fitting = widths.iter().take_while(fits).count().max(1);
            if num_fitting < widths.len() {
                let num_columns = widths.len();
                picture_fact(ui, || {
                    format!("the first {num_fitting} of {num_columns} columns are drawn")
                });
                widths.truncate(num_fitting);
            }
        }
        widths
    }

    fn widths(&self, width: f32) -> Vec<f32> {
        let fixed: f32 = self.columns.iter().map(|column| column.width).sum();
        let num_open = self
            .columns
            .iter()
            .filter(|column| column.width == 0.0)
            .count();
        let share = ((width - fixed) / num_open.max(1) as f32).max(120.0);
        self.columns
            .iter()
            .map(|column| {
                if column.width > 0.0 {
                    column.width
                } else {
                    share
                }
            })
            .collect()
    }

    /// Draws the headings above the rows, scrolled horizontally like them.
    fn headings_ui(&self, widths: &[f32], scrolled: Id, sort: &mut Sort, ui: &mut Ui) {
        let scrolled: f32 = ui.data(|data| data.get_temp(scrolled)).unwrap_or(0.0);
        let (_, seen) = ui.allocate_space(Vec2::new(ui.available_width(), ROW_HEIGHT + 2.0));
        let all = seen.translate(Vec2::new(-scrolled, 0.0));
        ui.scope_builder(UiBuilder::new().max_rect(all).layout(*ui.layout()), |ui| {
            ui.shrink_clip_rect(seen);
            self.heading_row_ui(widths, sort, ui);
        });
    }

    fn heading_row_ui(&self, widths: &[f32], sort: &mut Sort, ui: &mut Ui) {
        ui.horizontal(|ui| {
            for (at, (column, width)) in self.columns.iter().zip(widths).enumerate() {
                let sign = match (sort.column == at, sort.is_descending) {
                    (false, _) => "",
                    (true, true) => " ↓",
                    (true, false) => " ↑",
                };
                let align = if column.is_number {
                    Layout::right_to_left(Align::Center)
                } else {
                    Layout::left_to_right(Align::Center)
                };
                let size = Vec2::new(*width, ROW_HEIGHT + 2.0);
                let heading = ui.allocate_ui_with_layout(size, align, |ui| {
                    ui.set_min_size(size);
                    ui.add_space(PADDING);
                    let text = egui::RichText::new(format!("{}{sign}", column.name)).strong();
                    ui.add(Button::new(text).frame(false).truncate())
                        .accessible_name(format!("Sort by {}", column.name))
                });
                if heading.inner.clicked() {
                    *sort = Sort {
                        column: at,
                        is_descending: if sort.column == at {
                            !sort.is_descending
                        } else {
                            column.is_number
                        },
                    };
                }
            }
        });
    }

    /// Draws a row. Returns whether its link was clicked.
    fn row_ui(
        &self,
        theme: &Theme,
        (rect, id): (Rect, Id),
        widths: &[f32],
        cells: &[Cell],
        ui: &Ui,
    ) -> bool {
        let mut is_linked = false;
        let mut left = rect.left();
        for ((column, width), cell) in self.columns.iter().zip(widths).zip(cells) {
            let place = Rect::from_min_size(
                Pos2::new(left, rect.top()),
                Vec2::new(*width, rect.height()),
            );
            if let Cell::Link(_, name) = cell {
                let seen = place.intersect(ui.clip_rect());
                let link = ui.interact(seen, id.with("link"), Sense::click());
                link.widget_info(|| WidgetInfo::labeled(Role::Button, true, name));
                let is_hot = link.hovered() || link.has_focus();
                if is_hot {
                    ui.painter()
                        .rect_filled(place.shrink(2.0), 3.0, theme.selection());
                }
                is_linked |= link.clicked();
            }
            cell_ui(theme, place, column.is_number, cell, ui);
            left += width;
        }
        is_linked
    }
}

fn cell_ui(theme: &Theme, place: Rect, is_number: bool, cell: &Cell, ui: &Ui) {
    let painter = ui.painter().with_clip_rect(place.intersect(ui.clip_rect()));
    let mut inner = place.shrink2(Vec2::new(PADDING, 0.0));
    match cell {
        Cell::Text(_) | Cell::Link(..) => {}
        Cell::Marked(color, _) => {
            let mark = Rect::from_center_size(
                Pos2::new(inner.left() + 5.0, inner.center().y),
                Vec2::splat(10.0),
            );
            painter.rect_filled(mark, 2.0, *color);
            inner.min.x += 16.0;
        }
        Cell::Bar(share, _) => {
            let length = inner.width() * share.clamp(0.0, 1.0);
            let bar = Rect::from_min_size(
                Pos2::new(inner.left(), inner.bottom() - 4.0),
                Vec2::new(length, 2.5),
            );
            painter.rect_filled(bar, 1.0, theme.accent());
        }
    }
    let color = if matches!(cell, Cell::Link(..)) {
        theme.accent()
    } else {
        theme.text()
    };
    let text = cell.text().to_owned();
    let mut job = LayoutJob::simple_singleline(text, FontId::proportional(13.0), color);
    job.wrap = TextWrapping::truncate_at_width(inner.width().max(0.0));
    let galley = painter.layout_job(job);
    let align = if is_number {
        Align2::RIGHT_CENTER
    } else {
        Align2::LEFT_CENTER
    };
    let at = align.align_size_within_rect(galley.size(), inner).min;
    painter.galley(at, galley, color);
}

/// Draws a search field over a table; `wants_focus` focuses it.
pub fn search_ui(text: &mut String, wants_focus: &mut bool, name: &str, ui: &mut Ui) {
    let field = egui::TextEdit::singleline(text)
        .hint_text("Search (/)")
        .desired_width(180.0);
    let field = ui.add(field).accessible_name(name);
    if std::mem::take(wants_focus) {
        field.request_focus();
    }
}

/// Draws a text in place of empty content.
pub fn empty_ui(text: &str, ui: &mut Ui) {
    ui.add_space(12.0);
    ui.vertical_centered(|ui| ui.add(Label::new(egui::RichText::new(text).weak()).wrap()));
}
