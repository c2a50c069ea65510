//! A page of help over everything else: what there is to say first, then all keys.

use egui::{Context, Grid, Id, Modal, RichText, ScrollArea, Ui};

/// Draws the page; whether it shall stay open. `keys` are the keys as shown, each with what it does.
pub fn help_page(
    ctx: &Context,
    id: &'static str,
    heading: &str,
    first_ui: impl FnOnce(&mut Ui),
    keys: &[(&str, &str)],
) -> bool {
    let modal = Modal::new(Id::unique(id)).show(ctx, |ui| {
        ui.set_width(820.0);
        ui.heading(heading);
        first_ui(ui);
        ui.separator();
        ui.label(RichText::new("Keys").strong());
        ScrollArea::vertical()
            .max_height(420.0)
            .auto_shrink([false, true])
            .show(ui, |ui| keys_ui(id, keys, ui));
        ui.vertical_centered(|ui| ui.button("Close").clicked())
            .inner
    });
    !(modal.inner || modal.should_close())
}

fn keys_ui(id: &'static str, keys: &[(&str, &str)], ui: &mut Ui) {
    ui.columns_const(|columns: &mut [Ui; 2]| {
        let halves = columns.iter_mut().zip(keys.chunks(keys.len().div_ceil(2)));
        for (at, (column, rows)) in halves.enumerate() {
            Grid::new((id, at))
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
