//! The Incidents view: what happened, when, its cause and cost, and whether it recurs. Trends, which no single time
//! shows, come before the incidents.
//!
//! Both are sorted by cost. An incident is a card that unfolds to the executions that it delayed.

mod card;
mod card_size;
mod execution;
mod list;
mod picture;
mod state;
#[cfg(test)]
mod tests;
mod trend;

use callgrove_actions::context::ViewContext;
use callgrove_model::count_of;
use callgrove_model::thousands;
use callgrove_session::{RunCauses, Snapshot};
use callgrove_widgets::{header_fact, in_picture, picture_fact, view_header};
use egui::{Key, Rect, ScrollArea, Ui};

use list::ListLine;
pub use picture::incident_notes;
pub use state::IncidentsState;
use state::{num_by_design, num_trends};

/// Gap between a card and the scroll bar, in points.
const RIGHT: f32 = 6.0;

/// Height of the view below which the title is left out, in points.
const MIN_TITLE_HEIGHT: f32 = 230.0;

/// Draws the list and handles clicks and keys.
pub fn incidents_ui(ctx: &mut ViewContext<'_>, state: &mut IncidentsState, ui: &mut Ui) {
    let causes = ctx.snapshot.causes();
    let num_incidents = causes.map_or(0, |known| known.incidents().len());
    let num_trends = num_trends(ctx.snapshot);
    if ui.available_height() > MIN_TITLE_HEIGHT {
        let causes = ctx.snapshot.causes().cloned();
        header_ui(num_trends, causes.as_deref(), state, ui);
    }
    if num_trends + num_incidents == 0 {
        return placeholder_ui(ctx.snapshot, causes.map(AsRef::as_ref), ui);
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
            header_fact(ui, count_of(num_trends, "trend")).on_hover_text(
                "Ranks that are slower than their peers throughout, functions whose exclusive time grows, and \
                 permanent changes. Sorted by cost, summed over all ranks of a trend.",
            );
        }
        let Some(causes) = causes.filter(|it| !it.incidents().is_empty()) else {
            return;
        };
        let num_by_design = num_by_design(causes);
        let num_others = causes.incidents().len() - num_by_design;
        let without = causes.run_without_faults().unwrap_or_default();
        header_fact(ui, count_of(num_others, "incident")).on_hover_text(format!(
            "Delays with a common cause. Sorted by cost: the total delay of all ranks. {without}"
        ));
        if num_by_design > 0 {
            ui.toggle_value(
                state.hides_by_design_mut(),
                format!("Hide {num_by_design} by design"),
            )
            .on_hover_text(
                "Waits that the program causes in every iteration, and noise of the machine: not anomalies",
            );
        }
    });
}

/// Draws why the list is empty.
fn placeholder_ui(snapshot: &Snapshot, known: Option<&RunCauses>, ui: &mut Ui) {
    ui.add_space(12.0);
    ui.vertical_centered(|ui| {
        if known.is_some_and(|it| !it.is_timed()) {
            ui.label("No incidents in a forest file.");
            ui.weak("It has no start times of calls. Open the trace to see which ranks delayed which others.");
        } else if known.is_some() {
            ui.label("No incidents and no trends");
            ui.weak(
                "No rank delayed others, or was delayed, for longer than is usual in this run.",
            );
        } else if let Some(work) = &snapshot.work {
            ui.label("Tracing delays to their causes…");
            ui.weak(format!("{}, {:.0} %", work.stage, work.fraction * 100.0));
        } else {
            ui.label("Causes have not been computed.");
            ui.weak("Reopen the trace to compute them.");
        }
    });
}

/// Handles the left and right arrows of the focused view, which fold and unfold the selected incident; up and down are
/// handled by the window.
fn keys(ctx: &ViewContext<'_>, state: &mut IncidentsState, ui: &Ui) {
    if !ctx.has_focus || ui.ctx().text_edit_focused() {
        return;
    }
    let pressed = |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
    let Some(number) = ctx.snapshot.inspected.incident else {
        return;
    };
    if pressed(Key::ArrowRight) {
        state.fold(number, false);
    } else if pressed(Key::ArrowLeft) {
        state.fold(number, true);
    }
}

/// Draws only the lines that are on the screen.
fn lines_ui(ctx: &mut ViewContext<'_>, state: &mut IncidentsState, ui: &mut Ui) {
    let (causes, trends) = (
        ctx.snapshot.causes().cloned(),
        ctx.snapshot.trends().cloned(),
    );
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
            // A picture begins with the first line.
            if let Some(revealed) = revealed.filter(|_| !in_picture(ui)) {
                // If they do not all fit, the card has priority.
                let mut whole = place(*revealed.start()).union(place(*revealed.end()));
                whole.set_height(whole.height().min(viewport.height()));
                ui.scroll_to_rect(whole, None);
            }
            let mut seen: Vec<(ListLine, Rect)> = lines
                .between(viewport.y_range())
                .map(|at| (lines.line(at), place(at)))
                .collect();
            if in_picture(ui) {
                let bottom = origin.y + viewport.max.y + 1.0;
                let num_seen = seen.len();
                seen.retain(|(_, rect)| rect.bottom() <= bottom);
                if seen.len() < num_seen {
                    let num_drawn = seen.len();
                    picture_fact(ui, || {
                        format!("the first {} are drawn", thousands(num_drawn))
                    });
                }
            }
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
                    ListLine::Hit(number, tree) => {
                        execution::execution_ui(ctx, (number, tree), rect, ui);
                    }
                    ListLine::Others(number, num) => {
                        execution::others_ui(ctx, (number, num), rect, ui);
                    }
                }
            }
        });
}
