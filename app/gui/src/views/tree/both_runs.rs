//! The usual executions of two compared runs as one tree.

use std::sync::Arc;

use callgrove_session::Snapshot;
use egui::{Label, RichText, Ui};

use super::state::TreeState;
use super::ui::one_run_ui;
use crate::context::ViewContext;
use crate::theme::Theme;
use crate::widgets::table::empty_ui;

/// Whether the usual executions of both runs are shown, and their drawing.
#[derive(Default)]
pub(super) struct BothRuns {
    is_shown: bool,
    drawn: Option<Drawn>,
}

/// The drawing of one pair of executions.
struct Drawn {
    snapshot: Arc<Snapshot>,
    state: Box<TreeState>,
}

impl Drawn {
    fn new(snapshot: &Arc<Snapshot>) -> Self {
        let mut state = TreeState::default();
        state.compares = true;
        Self {
            snapshot: Arc::clone(snapshot),
            state: Box::new(state),
        }
    }
}

/// Draws the choice between the selected execution and the usual ones of both runs, while runs are compared. Returns
/// whether it drew the latter.
pub(super) fn both_runs_ui(ctx: &mut ViewContext<'_>, both: &mut BothRuns, ui: &mut Ui) -> bool {
    let comparison = ctx.snapshot.comparison.clone();
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
    let known = known.filter(|drawn| Arc::ptr_eq(&drawn.snapshot, pair.snapshot()));
    let drawn = both
        .drawn
        .insert(known.unwrap_or_else(|| Drawn::new(pair.snapshot())));
    // Selections there are of calls that the open run does not have.
    let theme = Theme::new(ctx.theme.is_dark(), drawn.snapshot.trace.as_ref());
    ViewContext::alone(&drawn.snapshot, &theme, |ctx| {
        one_run_ui(ctx, &mut drawn.state, ui);
    });
    true
}
