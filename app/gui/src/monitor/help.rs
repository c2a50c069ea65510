//! Keys of the live view on one page, and what the numbers mean.

use egui::{Grid, Id, Modal, RichText, ScrollArea, Ui};

use super::keys::{KEYS, VIEW_KEYS};

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
    let modal = Modal::new(Id::unique("monitor help")).show(ctx, |ui| {
        ui.set_width(820.0);
        ui.heading("What the numbers mean");
        Grid::new("values").num_columns(2).show(ui, |ui| {
            for (name, meaning) in VALUES {
                ui.label(RichText::new(name).strong());
                ui.label(meaning);
                ui.end_row();
            }
        });
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

fn keys_ui(ui: &mut Ui) {
    let rows: Vec<(&str, &str)> = KEYS
        .iter()
        .map(|binding| (binding.keys, binding.help))
        .chain(VIEW_KEYS)
        .collect();
    ui.columns_const(|columns: &mut [Ui; 2]| {
        let halves = columns.iter_mut().zip(rows.chunks(rows.len().div_ceil(2)));
        for (at, (column, rows)) in halves.enumerate() {
            Grid::new(("monitor keys", at))
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
