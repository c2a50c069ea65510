//! All keys on one page.

use egui::{Id, Modal, RichText, ScrollArea, Ui};

use crate::app::{KEYS, VIEW_KEYS};
use crate::context::ViewContext;

/// Draws the page over everything else; whether it shall stay open.
pub(crate) fn help_ui(ctx: &ViewContext<'_>, egui_ctx: &egui::Context) -> bool {
    let modal = Modal::new(Id::unique("help")).show(egui_ctx, |ui| {
        ui.set_width(800.0);
        ui.heading("How it works");
        steps_ui(ctx, ui);
        ui.separator();
        ui.label(RichText::new("Keys").strong());
        ScrollArea::vertical()
            .max_height(420.0)
            .auto_shrink([false, true])
            .show(ui, keys_ui);
        ui.vertical_centered(|ui| ui.button("Close").clicked())
            .inner
    });
    !(modal.inner || modal.should_close())
}

fn steps_ui(ctx: &ViewContext<'_>, ui: &mut Ui) {
    let steps = [
        "Each point on the map is one execution of the root function; near points have like call stacks.",
        "The list ranks executions from the least usual on. A negative score means abnormal: a diamond on the map.",
        "Look at structure and timeline, then say Normal or Abnormal. The model learns at once and ranks anew.",
    ];
    for (at, step) in steps.iter().enumerate() {
        ui.horizontal_wrapped(|ui| {
            ui.label(
                RichText::new(format!("{}", at + 1))
                    .monospace()
                    .color(ctx.theme.weak_text()),
            );
            ui.label(*step);
        });
    }
}

fn keys_ui(ui: &mut Ui) {
    let rows: Vec<(&str, &str)> = KEYS
        .iter()
        .map(|binding| (binding.keys, binding.help))
        .chain(VIEW_KEYS)
        .collect();
    ui.columns_const(|columns: &mut [Ui; 2]| {
        for (at, (column, rows)) in columns
            .iter_mut()
            .zip(rows.chunks(rows.len().div_ceil(2)))
            .enumerate()
        {
            egui::Grid::new(("keys", at))
                .num_columns(2)
                .spacing([12.0, 6.0])
                .show(column, |ui| {
                    for (keys, help) in rows {
                        ui.label(RichText::new(*keys).monospace());
                        ui.label(*help);
                        ui.end_row();
                    }
                });
        }
    });
}
