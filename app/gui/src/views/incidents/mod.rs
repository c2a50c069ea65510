//! The incidents of the run: what happened, when, who caused it, what it cost, whether it comes back; before them its
//! trends, which no single moment shows.
//!
//! Of both the one that cost most comes first. An incident is a card that unfolds to the executions that it hit.

mod card;
mod hit;
mod list;
mod measure;
mod state;
#[cfg(test)]
mod tests;
mod trend;

use callgrove_session::{RunCauses, Snapshot};
use egui::{Key, Rect, ScrollArea, Ui};

use crate::context::ViewContext;
use crate::widgets::{count_of, view_header};
use list::ListLine;
pub(crate) use state::IncidentsState;
use state::{num_by_design, num_trends};

/// Room between a card and the scroll bar, in points.
const RIGHT: f32 = 6.0;

/// A lower pane, in points, has no room for a title above the list.
const ROOM_FOR_TITLE: f32 = 230.0;

/// Draws the list and takes clicks and keys.
pub(crate) fn incidents_ui(ctx: &mut ViewContext<'_>, state: &mut IncidentsState, ui: &mut Ui) {
    let causes = ctx.snapshot.causes.as_ref();
    let num_incidents = causes.map_or(0, |known| known.incidents().len());
    let num_trends = num_trends(ctx.snapshot);
    if ui.available_height() > ROOM_FOR_TITLE {
        let causes = ctx.snapshot.causes.clone();
        header_ui(num_trends, causes.as_deref(), state, ui);
    }
    if num_trends + num_incidents == 0 {
        return nothing_ui(ctx.snapshot, causes.map(|it| &**it), ui);
    }
    keys(ctx, state, ui);
    let bar = ui.spacing().scroll.allocated_width();
    state.refresh(ctx.snapshot, ui.available_width() - RIGHT - bar);
    lines_ui(ctx, state, ui);
}

fn header_ui(
    num_trends: usize,
    causes: Option<&RunCauses>,
    state: &mut IncidentsState,
    ui: &mut Ui,
) {
    view_header(ui, "Incidents", |ui| {
        if num_trends > 0 {
            ui.weak(count_of(num_trends, "trend")).on_hover_text(
                "Ranks that are slower than their peers throughout, functions whose own time grows, and changes for \
                 good. The one that costs most comes first; its cost is summed over its ranks.",
            );
        }
        let Some(causes) = causes.filter(|it| !it.incidents().is_empty()) else {
            return;
        };
        let num_by_design = num_by_design(causes);
        let num_others = causes.incidents().len() - num_by_design;
        ui.weak(count_of(num_others, "incident")).on_hover_text(
            "Delays that began with one cause. The one that cost most comes first; its cost is the time that all ranks \
             together were delayed.",
        );
        if num_by_design > 0 {
            ui.toggle_value(
                state.hides_by_design_mut(),
                format!("Hide {num_by_design} by design"),
            )
            .on_hover_text(
                "Waits that the program makes its ranks wait every time, and the noise of the machine: nothing went wrong",
            );
        }
    });
}

/// Why the list is empty.
fn nothing_ui(snapshot: &Snapshot, known: Option<&RunCauses>, ui: &mut Ui) {
    ui.add_space(12.0);
    ui.vertical_centered(|ui| {
        if known.is_some_and(|it| !it.is_timed()) {
            ui.label("No incidents in a forest file.");
            ui.weak("It does not say when calls began: open the trace itself to see which rank held up which others.");
        } else if known.is_some() {
            ui.label("No incidents, and no trends.");
            ui.weak(
                "No rank held the others up, or was held up, longer than is usual in this run.",
            );
        } else if let Some(work) = &snapshot.work {
            ui.label("Following delays to where they began…");
            ui.weak(format!("{}, {:.0} %", work.stage, work.fraction * 100.0));
        } else {
            ui.label("Causes were not looked for.");
            ui.weak("Open the trace again to look for them.");
        }
    });
}

/// In focus the arrows to the side fold and unfold the selected incident; those up and down are the window's.
fn keys(ctx: &ViewContext<'_>, state: &mut IncidentsState, ui: &Ui) {
    if !ctx.has_focus || ui.ctx().text_edit_focused() {
        return;
    }
    let pressed = |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
    let Some(number) = ctx.snapshot.incident else {
        return;
    };
    if pressed(Key::ArrowRight) {
        state.fold(number, false);
    } else if pressed(Key::ArrowLeft) {
        state.fold(number, true);
    }
}

/// Only the lines that are on the screen are made.
fn lines_ui(ctx: &mut ViewContext<'_>, state: &mut IncidentsState, ui: &mut Ui) {
    let (causes, trends) = (ctx.snapshot.causes.clone(), ctx.snapshot.trends.clone());
    let revealed = state.lines_to_reveal(ctx.snapshot);
    ScrollArea::vertical()
        .auto_shrink(false)
        .min_scrolled_height(0.0)
        .show_viewport(ui, |ui, viewport| {
            let lines = state.lines();
            ui.set_height(lines.height());
            let origin = ui.max_rect().min;
            let width = ui.available_width() - RIGHT;
            let place = |at: usize| {
                let y = lines.span(at);
                Rect::from_min_size(
                    egui::pos2(origin.x, origin.y + y.min),
                    egui::vec2(width, y.span()),
                )
            };
            if let Some(revealed) = revealed {
                // Of more than there is room for the card comes first.
                let mut whole = place(*revealed.start()).union(place(*revealed.end()));
                whole.set_height(whole.height().min(viewport.height()));
                ui.scroll_to_rect(whole, None);
            }
            let seen: Vec<(ListLine, Rect)> = lines
                .between(viewport.y_range())
                .map(|at| (lines.line(at), place(at)))
                .collect();
            for (line, rect) in seen {
                match line {
                    ListLine::Trend(number) => {
                        if let Some(trends) = &trends {
                            trend::trend_ui(ctx, trends, (number, rect), ui);
                        }
                    }
                    ListLine::Card(number) => {
                        if let Some(causes) = &causes {
                            card::card_ui(ctx, causes, state, (number, rect), ui);
                        }
                    }
                    ListLine::Hit(number, tree) => hit::hit_ui(ctx, (number, tree), rect, ui),
                    ListLine::Others(number, num) => hit::others_ui(ctx, (number, num), rect, ui),
                }
            }
        });
}
