//! The timeline as a picture: the strip of the run and the rows, without controls.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::relative_time;
use callgrove_model::count_of;
use callgrove_model::{DurationNs, thousands};
use callgrove_widgets::ViewNotes;
use callgrove_widgets::text::round_duration;
use egui::Ui;

use super::state::{ShownRun, TimelineState};
use super::strip::strip_ui;
use super::ui::rows_ui;

/// Draws strip and rows. Rows that do not fit as a whole are left out and counted.
pub fn timeline_picture_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut TimelineState,
    ui: &mut Ui,
) -> ViewNotes {
    let Some(shown) = state.show(ctx.snapshot) else {
        return ViewNotes::default();
    };
    strip_ui(ctx, shown, ui);
    let height = ui.available_height();
    let width = ui.available_width();
    rows_ui(ctx, shown, ui);
    ViewNotes {
        title: shown.name(),
        facts: facts(shown, width, height),
        legend: shown
            .canvas
            .legend(ctx.theme, &shown.flagged, shown.cascade.shown().is_some()),
    }
}

fn facts(shown: &ShownRun, width: f32, height: f32) -> Vec<String> {
    let canvas = &shown.canvas;
    let window = canvas.view.window();
    let length = DurationNs(window.length_ns());
    let pixel_ns = length.0 as f64 / f64::from(width.max(1.0));
    let from = relative_time(window.from, canvas.origin(), pixel_ns);
    let rows = canvas.rows();
    let num_shown = rows
        .iter()
        .filter(|row| row.bottom <= height)
        .count()
        .max(1);
    let mut facts = vec![format!("{} from {from}", round_duration(length))];
    facts.push(if num_shown < rows.len() {
        format!(
            "{} of {}",
            thousands(num_shown),
            count_of(rows.len(), "row")
        )
    } else {
        count_of(rows.len(), "row")
    });
    if let Some(found) = canvas.messages() {
        let num_drawn = found.arrows.len();
        facts.push(if num_drawn < found.num_messages {
            let all = count_of(found.num_messages, "message");
            format!("{} of {all} drawn", thousands(num_drawn))
        } else {
            count_of(num_drawn, "message")
        });
    }
    facts.push("times from the start of the run, and of the day (UTC)".to_owned());
    facts
}
