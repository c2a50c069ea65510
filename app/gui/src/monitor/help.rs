//! Keys of the live view on one page, and what the numbers mean.

use egui::{Grid, RichText, Ui};

use super::keys::{KEYS, VIEW_KEYS};
use crate::widgets::help_page;

/// Name, meaning and unit of the values that the live view shows.
const VALUES: [(&str, &str); 4] = [
    (
        "Score",
        "How unlikely the execution is by the detector's model of its function; larger is less likely. No unit.",
    ),
    (
        "Severity",
        "How important it is: the runtime that was judged. Microseconds in the records, shown with its unit.",
    ),
    (
        "Exclusive, inclusive",
        "Runtime without and with the functions that it called.",
    ),
    (
        "I/O step",
        "What one rank wrote at once. Steps of two ranks cover different times.",
    ),
];

/// Draws the page over everything else; whether it shall stay open.
pub(super) fn help_ui(ctx: &egui::Context) -> bool {
    let keys: Vec<(&str, &str)> = KEYS
        .iter()
        .map(|binding| (binding.keys, binding.help))
        .chain(VIEW_KEYS)
        .collect();
    help_page(
        ctx,
        "monitor help",
        "What the numbers mean",
        values_ui,
        &keys,
    )
}

fn values_ui(ui: &mut Ui) {
    Grid::new("values").num_columns(2).show(ui, |ui| {
        for (name, meaning) in VALUES {
            ui.label(RichText::new(name).strong());
            ui.label(meaning);
            ui.end_row();
        }
    });
}
