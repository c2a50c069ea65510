//! Chooses the function whose executions are compared.

use callgrove_session::{Command, Suggestion};
use egui::{
    Align2, FontId, Popup, PopupCloseBehavior, Role, ScrollArea, Sense, TextEdit, Ui, WidgetInfo,
    vec2,
};

use crate::context::ViewContext;
use crate::theme::RADIUS;
use crate::widgets::thousands;

const WIDTH: f32 = 560.0;
const ROW_HEIGHT: f32 = 24.0;
/// Right edges of the columns calls, median, longest, from the right edge of the row.
const COLUMNS: [(&str, f32); 3] = [("Calls", 180.0), ("Median", 90.0), ("Longest", 8.0)];

/// What is typed into the field.
#[derive(Default)]
pub(crate) struct RootChooser {
    pattern: String,
}

impl RootChooser {
    /// The button with the root function, and the list below it when open.
    pub(crate) fn ui(&mut self, ctx: &mut ViewContext<'_>, ui: &mut Ui) {
        let current = ctx
            .snapshot
            .analysis
            .as_ref()
            .map_or("choose a function", |analysis| &analysis.root_name);
        let button = ui
            .button(format!("{current}  ▾"))
            .on_hover_text("The function whose executions are compared")
            .accessible_name("Root function");
        Popup::from_toggle_button_response(&button)
            .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
            .width(WIDTH)
            .show(|ui| self.list_ui(ctx, ui));
    }

    /// The field and the list of suggestions; a choice closes a popup around it.
    pub(crate) fn list_ui(&mut self, ctx: &mut ViewContext<'_>, ui: &mut Ui) {
        ui.set_width(WIDTH);
        ui.horizontal(|ui| {
            let field = TextEdit::singleline(&mut self.pattern)
                .hint_text("Function name or pattern, such as Pair*::compute")
                .desired_width(ui.available_width() - 80.0);
            let field = ui.add(field).accessible_name("Function pattern");
            let entered =
                field.lost_focus() && ui.input(|input| input.key_pressed(egui::Key::Enter));
            let is_given = !self.pattern.trim().is_empty();
            let applied = ui
                .add_enabled(is_given, egui::Button::new("Apply"))
                .clicked();
            if is_given && (entered || applied) {
                ctx.send(Command::SetRoot {
                    function: self.pattern.trim().to_owned(),
                });
                ui.close();
            }
        });
        let suggestions = ctx.snapshot.suggestions.clone();
        header_ui(ctx, ui);
        ScrollArea::vertical()
            .max_height(320.0)
            .auto_shrink([false, true])
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 0.0;
                for suggestion in suggestions.iter() {
                    if row_ui(ctx, suggestion, ui) {
                        ctx.send(Command::SetRoot {
                            function: suggestion.name.clone(),
                        });
                        ui.close();
                    }
                }
            });
    }
}

fn header_ui(ctx: &ViewContext<'_>, ui: &mut Ui) {
    let (rect, _) = ui.allocate_exact_size(vec2(WIDTH, 18.0), Sense::hover());
    let (font, color) = (FontId::proportional(12.0), ctx.theme.weak_text());
    ui.painter().text(
        rect.left_center() + vec2(8.0, 0.0),
        Align2::LEFT_CENTER,
        "Function",
        font.clone(),
        color,
    );
    for (name, from_right) in COLUMNS {
        let at = rect.right_center() - vec2(from_right, 0.0);
        ui.painter()
            .text(at, Align2::RIGHT_CENTER, name, font.clone(), color);
    }
}

/// One suggestion; whether it was chosen.
fn row_ui(ctx: &ViewContext<'_>, suggestion: &Suggestion, ui: &mut Ui) -> bool {
    let (rect, response) = ui.allocate_exact_size(vec2(WIDTH, ROW_HEIGHT), Sense::click());
    let is_current = ctx
        .snapshot
        .analysis
        .as_ref()
        .is_some_and(|analysis| analysis.root_name == suggestion.name);
    response.widget_info(|| {
        WidgetInfo::selected(
            Role::Button,
            true,
            is_current,
            format!("Use {}", suggestion.name),
        )
    });
    let theme = ctx.theme;
    if is_current || response.hovered() {
        ui.painter().rect_filled(rect, RADIUS, theme.card_focused());
    }
    let font = FontId::proportional(13.5);
    let name_rect = rect.with_max_x(rect.right() - 250.0);
    let painter = ui
        .painter()
        .with_clip_rect(name_rect.intersect(ui.clip_rect()));
    painter.text(
        rect.left_center() + vec2(8.0, 0.0),
        Align2::LEFT_CENTER,
        &suggestion.name,
        font.clone(),
        theme.text(),
    );
    let values = [
        thousands(suggestion.num_calls),
        suggestion.median.to_string(),
        suggestion.longest.to_string(),
    ];
    for ((_, from_right), value) in COLUMNS.into_iter().zip(values) {
        let at = rect.right_center() - vec2(from_right, 0.0);
        ui.painter()
            .text(at, Align2::RIGHT_CENTER, value, font.clone(), theme.text());
    }
    let help = format!("{}\n{}", suggestion.name, suggestion.reason);
    response.on_hover_text(help).clicked()
}
