//! The calls that an incident delayed: executions of the root function, and the number of others.

use callgrove_actions::context::ViewContext;
use callgrove_model::{TreeIdx, thousands};
use callgrove_session::{Command, DelayRole, InspectCommand, Selection};
use callgrove_widgets::delay::role_of_tree;
use callgrove_widgets::hover;
use callgrove_widgets::text::short_name;
use callgrove_widgets::theme::RADIUS;
use callgrove_widgets::{SIGN_WIDTH, paint_role};
use egui::{Align2, FontId, Pos2, Rect, RichText, Role, Sense, Ui, UiBuilder, WidgetInfo};

/// Indentation of the lines below their card, in points.
const INSET: f32 = 30.0;
/// Size of the text, in points.
const TEXT_SIZE: f32 = 12.0;

/// Draws an execution; a click selects it and keeps the incident selected.
pub(super) fn execution_ui(
    ctx: &mut ViewContext<'_>,
    (number, tree): (usize, TreeIdx),
    rect: Rect,
    ui: &mut Ui,
) {
    let Some(analysis) = ctx.snapshot.analysis().cloned() else {
        return;
    };
    if tree.index() >= analysis.forest.len() {
        return;
    }
    let rect = rect.with_min_x(rect.left() + INSET);
    let response = ui.interact(
        rect,
        ui.scope_id().with(("hit", number, tree.0)),
        Sense::click(),
    );
    let is_focused = ctx.snapshot.focus() == Some(tree);
    let code = analysis.forest.code(tree).to_string();
    let known = role_of_tree(ctx.snapshot, tree);
    let (role, role_text) = known.unwrap_or((DelayRole::OnTime, String::new()));
    response.widget_info(|| {
        let name = format!("Execution {code}, {role_text}");
        WidgetInfo::selected(Role::ListItem, true, is_focused, name)
    });
    if response.clicked() {
        ctx.send(Command::Select(Selection::One(tree)));
        ctx.send(InspectCommand::Incident(Some(number)));
    }
    if response.contains_pointer() {
        hover::set(ui.ctx(), tree);
    }
    let theme = ctx.theme;
    if is_focused || response.hovered() || response.has_focus() {
        ui.painter().rect_filled(rect, RADIUS, theme.card_focused());
    }
    let painter = ui.painter_at(rect.intersect(ui.clip_rect()));
    let y = rect.center().y;
    let sign = Pos2::new(rect.left() + 9.0, y);
    paint_role(&painter, role, sign, 4.5, theme.role(role));
    let at = Pos2::new(rect.left() + 6.0 + SIGN_WIDTH, y);
    let font = FontId::monospace(13.0);
    let code = painter.text(at, Align2::LEFT_CENTER, code, font, theme.text());
    let duration = analysis.forest.tree(tree).duration();
    let font = || FontId::proportional(TEXT_SIZE);
    let mut at = Pos2::new(code.right() + 8.0, y);
    let text = format!("{duration} · {role_text}");
    let text = painter.text(at, Align2::LEFT_CENTER, text, font(), theme.weak_text());
    if let Some(label) = ctx.snapshot.label(tree) {
        at.x = text.right() + 8.0;
        let name = label.name();
        painter.text(
            at,
            Align2::LEFT_CENTER,
            name,
            font(),
            theme.label_text(label),
        );
    }
    let words = |ui: &mut Ui| {
        if let Some(words) = ctx.snapshot.cause_sentence(tree) {
            ui.label(words);
        }
    };
    response.on_hover_ui(words);
}

/// Draws the number of delayed calls that are in none of the executions above.
pub(super) fn others_ui(
    ctx: &ViewContext<'_>,
    (number, num_others): (usize, Option<usize>),
    rect: Rect,
    ui: &mut Ui,
) {
    let name = match ctx.snapshot.analysis() {
        Some(analysis) => format!(" outside {}", short_name(&analysis.root_name)),
        None => String::new(),
    };
    let text = match num_others {
        None => "…".to_owned(),
        Some(0) => format!("No delayed calls{name}"),
        Some(1) => format!("It also delayed 1 call{name}"),
        Some(num) => format!("It also delayed {} calls{name}", thousands(num)),
    };
    let place = rect.with_min_x(rect.left() + INSET + 6.0);
    let builder = UiBuilder::new().max_rect(place).id_salt(("others", number));
    ui.scope_builder(builder, |ui| {
        let text = RichText::new(text).size(TEXT_SIZE).weak();
        ui.add(egui::Label::new(text).truncate());
    });
}
