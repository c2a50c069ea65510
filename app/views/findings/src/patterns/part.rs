//! One part of the view: the table of patterns, or a part about the selected one.

use callgrove_actions::context::ViewContext;
use callgrove_widgets::table::empty_ui;
use egui::Ui;

use super::state::{PatternsState, ShownPart};
use super::{curve, definition, occurrences, pattern_table};

/// Draws a part.
pub(super) fn part_ui(
    ctx: &mut ViewContext<'_>,
    part: ShownPart,
    state: &mut PatternsState,
    ui: &mut Ui,
) {
    if part == ShownPart::Patterns {
        return pattern_table::listed_ui(ctx, state, ui);
    }
    let listed = ctx.snapshot.inspected.pattern.zip(state.run.as_ref());
    let is_listed = listed.is_some_and(|(id, run)| run.listed.place_of(id).is_some());
    let Some((id, run)) = listed.filter(|_| is_listed) else {
        return empty_ui(
            "Select a pattern to see the durations of its occurrences.",
            ui,
        );
    };
    let Some(chosen) = run.listed.chosen(id) else {
        return empty_ui("…", ui);
    };
    match part {
        ShownPart::Patterns => {}
        ShownPart::Curve => curve::curve_ui(ctx, (chosen, &mut state.curve), ui),
        ShownPart::Definition => definition::definition_ui(ctx, (id, state), ui),
        ShownPart::Anomalous => {
            let list = (&mut state.rows, &mut state.listed_sort);
            occurrences::anomalous_ui(ctx, (run, chosen), list, ui);
        }
    }
}
