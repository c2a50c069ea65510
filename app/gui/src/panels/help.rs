//! All keys on one page.

use egui::{RichText, Ui};

use crate::app::{KEYS, VIEW_KEYS};
use crate::context::ViewContext;
use crate::widgets::help_page;

/// Draws the page over everything else; whether it shall stay open.
pub(crate) fn help_ui(ctx: &ViewContext<'_>, egui_ctx: &egui::Context) -> bool {
    let keys: Vec<(&str, &str)> = KEYS
        .iter()
        .map(|binding| (binding.keys, binding.help))
        .chain(VIEW_KEYS)
        .collect();
    help_page(
        egui_ctx,
        "help",
        "How it works",
        |ui| steps_ui(ctx, ui),
        &keys,
    )
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
