//! The usual executions of two compared runs as one tree.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_widgets::table::empty_ui;
use callgrove_widgets::theme::Theme;
use egui::{Label, RichText, Ui};

use super::state::{BothRuns, DrawnPair, TreeState};
use super::ui::one_run_ui;

/// Draws the focused tree and its differences from usual ones; on request the usual executions of two compared runs.
pub fn tree_ui(ctx: &mut ViewContext<'_>, state: &mut TreeState, ui: &mut Ui) {
    if !both_runs_ui(ctx, &mut state.both_runs, ui) {
        one_run_ui(ctx, state, ui);
    }
}

/// Draws the choice between the selected execution and the usual ones of both runs, while runs are compared. Returns
/// whether it drew the latter.
fn both_runs_ui(ctx: &mut ViewContext<'_>, both: &mut BothRuns, ui: &mut Ui) -> bool {
    let comparison = ctx.snapshot.comparison().cloned();
    let Some(usual) = comparison.as_ref().and_then(|it| it.usual()) else {
        both.drawn = None;
        return false;
    };
    ui.horizontal(|ui| {
        for (choice, name) in [(false, "Selected execution"), (true, "BEFORE and AFTER")] {
            if ui.selectable_label(both.is_shown == choice, name).clicked() {
                both.is_shown = choice;
            }
        }
        if let (true, Ok(pair)) = (both.is_shown, usual) {
            let text = format!(
                "{}: the usual execution of AFTER, with its differences from that of BEFORE, here called usual",
                pair.root()
            );
            ui.add(Label::new(RichText::new(text).color(ctx.theme.weak_text())).truncate());
        }
    });
    if !both.is_shown {
        return false;
    }
    let pair = match usual {
        Ok(pair) => pair,
        Err(why) => {
            empty_ui(&format!("No usual executions to compare: {why}."), ui);
            return true;
        }
    };
    let known = both.drawn.take();
    let known = known.filter(|drawn| Arc::ptr_eq(&drawn.found, pair.found()));
    let drawn = both
        .drawn
        .insert(known.unwrap_or_else(|| DrawnPair::new(pair)));
    // Selections there are of calls that the open run does not have.
    let theme = Theme::new(ctx.theme.is_dark(), drawn.snapshot.trace());
    ViewContext::alone(&drawn.snapshot, &theme, |ctx| {
        one_run_ui(ctx, &mut drawn.state, ui);
    });
    true
}
