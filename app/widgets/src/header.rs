//! The header of a view: its title, then right-aligned controls. In a picture it becomes the title of the picture.

use egui::{Align, Context, Id, Label, Layout, Response, RichText, Ui, UiBuilder};

/// Height of the row, in points.
const HEIGHT: f32 = 28.0;

/// The title and the facts of the view that a picture shows.
#[derive(Clone, Default)]
pub struct PictureHeader {
    /// The title of the first header.
    pub title: Option<String>,
    /// The facts of all headers, and what was left out.
    pub facts: Vec<String>,
}

/// Draws `controls` from the right, and the title in the remaining width. A picture has no controls; the first title is
/// that of the picture.
pub fn view_header<R>(ui: &mut Ui, title: &str, controls: impl FnOnce(&mut Ui) -> R) -> R {
    if in_picture(ui) {
        return picture_header(ui, title, controls);
    }
    let size = egui::vec2(ui.available_width(), HEIGHT);
    ui.allocate_ui_with_layout(size, Layout::right_to_left(Align::Center), |ui| {
        ui.set_min_height(HEIGHT);
        let inner = controls(ui);
        ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
            ui.add(title_label(title));
        });
        inner
    })
    .inner
}

fn title_label(title: &str) -> Label {
    Label::new(RichText::new(title).strong().size(14.0)).truncate()
}

fn picture_header<R>(ui: &mut Ui, title: &str, controls: impl FnOnce(&mut Ui) -> R) -> R {
    let is_first = change_header(ui, |header| {
        let is_first = header.title.is_none();
        header.title.get_or_insert_with(|| title.to_owned());
        is_first
    });
    if is_first != Some(true) {
        ui.add(title_label(title));
    }
    let unseen = UiBuilder::new().invisible().id_salt("controls");
    controls(&mut ui.new_child(unseen))
}

/// Draws a fact about the content of a view in its header; in a picture it is one of the facts below the title.
pub fn header_fact(ui: &mut Ui, fact: impl Into<String>) -> Response {
    let fact = fact.into();
    picture_fact(ui, || fact.clone());
    ui.weak(fact)
}

/// Adds a fact below the title of a picture; does nothing in the window.
pub fn picture_fact(ui: &Ui, fact: impl FnOnce() -> String) {
    change_header(ui, |header| header.facts.push(fact()));
}

/// Returns whether a picture is drawn, in which nothing can be clicked.
pub fn in_picture(ui: &Ui) -> bool {
    ui.data(|data| data.get_temp::<PictureHeader>(header_id()).is_some())
}

/// Begins a frame of a picture: no header was drawn.
pub fn begin_picture(ctx: &Context) {
    ctx.data_mut(|data| data.insert_temp(header_id(), PictureHeader::default()));
}

/// Returns the header of the frame of a picture.
pub fn picture_title(ui: &Ui) -> PictureHeader {
    change_header(ui, |header| header.clone()).unwrap_or_default()
}

fn change_header<R>(ui: &Ui, change: impl FnOnce(&mut PictureHeader) -> R) -> Option<R> {
    ui.data_mut(|data| {
        let mut header = data.get_temp::<PictureHeader>(header_id())?;
        let result = change(&mut header);
        data.insert_temp(header_id(), header);
        Some(result)
    })
}

fn header_id() -> Id {
    Id::unique("header of the picture")
}
