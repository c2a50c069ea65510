//! Messages of the session, on the lower right, until they are dismissed.

use callgrove_actions::context::ViewContext;
use callgrove_session::{Command, Notice, Severity};
use callgrove_widgets::theme::RADIUS;
use egui::{
    Align, Align2, Area, Frame, Id, Label, Layout, Margin, RichText, Role, Stroke, Ui, WidgetInfo,
};

/// Maximum number of messages shown at once; older ones appear when newer ones are closed.
const MAX_SHOWN: usize = 4;
/// Time in seconds until a success message disappears.
const INFO_SECS: f64 = 8.0;
/// Width of a message, in points.
const WIDTH: f32 = 440.0;

/// Draws the newest messages over the views, above the bars of height `bars`. Success messages disappear by themselves.
pub(crate) fn notices_ui(ctx: &mut ViewContext<'_>, bars: f32, egui_ctx: &egui::Context) {
    let notices = ctx.snapshot.notices.clone();
    if notices.is_empty() {
        return;
    }
    Area::new(Id::unique("notices"))
        .anchor(Align2::RIGHT_BOTTOM, [-12.0, -10.0 - bars])
        .show(egui_ctx, |ui| {
            ui.set_width(WIDTH);
            for notice in notices.iter().rev().take(MAX_SHOWN) {
                notice_ui(ctx, notice, ui);
                if notice.severity == Severity::Info && is_over(ui, notice) {
                    ctx.send(Command::Dismiss { notice: notice.id });
                }
            }
        });
}

/// Draws a message with its button.
pub(crate) fn notice_ui(ctx: &mut ViewContext<'_>, notice: &Notice, ui: &mut Ui) {
    let theme = ctx.theme;
    let (name, color) = match notice.severity {
        Severity::Info => ("Done", theme.label_normal()),
        Severity::Warning => ("Warning", theme.warning()),
        Severity::Error => ("Error", theme.abnormal_text()),
    };
    let frame = Frame::new()
        .fill(ui.visuals().window_fill)
        .stroke(Stroke::new(1.0, color))
        .corner_radius(RADIUS)
        .inner_margin(Margin::symmetric(12, 8))
        .shadow(ui.visuals().popup_shadow);
    let response = frame.show(ui, |ui| {
        ui.horizontal_top(|ui| {
            ui.with_layout(Layout::right_to_left(Align::Min), |ui| {
                if ui.button("Dismiss").clicked() {
                    ctx.send(Command::Dismiss { notice: notice.id });
                }
                ui.with_layout(Layout::top_down(Align::Min), |ui| {
                    ui.label(RichText::new(name).strong().color(color));
                    ui.add(Label::new(&notice.text).wrap());
                });
            });
        });
    });
    response
        .response
        .widget_info(|| WidgetInfo::labeled(Role::Alert, true, format!("{name}: {}", notice.text)));
}

/// Returns whether a message has been shown long enough; `true` only once, since the session may be slow to answer.
fn is_over(ui: &Ui, notice: &Notice) -> bool {
    let now = ui.input(|input| input.time);
    let id = Id::unique(("notice ends at", notice.id));
    let goes_at = ui.data_mut(|data| *data.get_temp_mut_or(id, now + INFO_SECS));
    if goes_at.is_infinite() {
        return false;
    }
    if now < goes_at {
        ui.ctx().request_repaint_after_secs((goes_at - now) as f32);
        return false;
    }
    ui.data_mut(|data| data.insert_temp(id, f64::INFINITY));
    true
}
