//! A view driven without a window, and the texts that it drew.

use std::cell::RefCell;
use std::rc::Rc;

use callgrove_actions::context::ViewContext;
use callgrove_session::{Snapshot, UserCommand};
use callgrove_widgets::theme::Theme;
use egui_kittest::Harness;

/// Returns a harness of a single view of `snapshot`, with the commands that it sends.
pub fn harness_of<State: Default + 'static>(
    mut snapshot: Snapshot,
    size: [f32; 2],
    view: impl Fn(&mut ViewContext<'_>, &mut State, &mut egui::Ui) + 'static,
) -> (Harness<'static, State>, Rc<RefCell<Vec<UserCommand>>>) {
    let theme = Theme::new(true, snapshot.trace());
    let sent = Rc::new(RefCell::new(Vec::new()));
    let commands = Rc::clone(&sent);
    let draw = move |ui: &mut egui::Ui, state: &mut State| {
        let asked = ViewContext::alone(&snapshot, &theme, |ctx| view(ctx, state, ui));
        for command in &asked {
            if let UserCommand::Inspect(command) = command {
                snapshot.inspected.apply(*command);
            }
        }
        commands.borrow_mut().extend(asked);
    };
    let harness = Harness::builder()
        .with_size(size)
        .build_ui_state(draw, State::default());
    (harness, sent)
}

/// Draws a view from the second frame on, when the theme's fonts and sizes are installed.
pub fn themed<State>(
    view: impl Fn(&mut ViewContext<'_>, &mut State, &mut egui::Ui),
) -> impl Fn(&mut ViewContext<'_>, &mut State, &mut egui::Ui) {
    let is_dressed = std::cell::Cell::new(false);
    move |ctx, state, ui| {
        if is_dressed.replace(true) {
            view(ctx, state, ui);
        } else {
            Theme::install(ui.ctx());
        }
    }
}
/// A text of a frame.
pub struct DrawnText {
    /// Its content.
    pub text: String,
    /// The size of its smallest letters, in points.
    pub size: f32,
    /// Its place on the screen, in points.
    pub rect: egui::Rect,
}

/// Returns all texts that the last frame drew.
pub fn written<S>(harness: &egui_kittest::Harness<'_, S>) -> Vec<DrawnText> {
    let mut open: Vec<&egui::Shape> = Vec::new();
    open.extend(harness.output().shapes.iter().map(|clipped| &clipped.shape));
    let mut written = Vec::new();
    while let Some(shape) = open.pop() {
        match shape {
            egui::Shape::Vec(shapes) => open.extend(shapes),
            egui::Shape::Text(text) if !text.galley.text().is_empty() => {
                let sections = text.galley.job.sections.iter();
                let sizes = sections.map(|section| section.format.font_id.size);
                written.push(DrawnText {
                    text: text.galley.text().to_owned(),
                    size: sizes.fold(f32::INFINITY, f32::min),
                    rect: text.visual_bounding_rect(),
                });
            }
            _ => {}
        }
    }
    written
}
