//! Which delay is drawn as a path over the rows, and whether it is.

use std::sync::Arc;

use callgrove_model::TreeIdx;
use callgrove_session::{Analysis, Cascade, RunCauses, Snapshot};
use egui::Ui;

use crate::theme::Theme;
use crate::widgets::{SIGN_WIDTH, count_of, paint_kind};

/// The delay that is looked at, and what the person said about drawing it.
#[derive(Default)]
pub(super) struct CascadeState {
    known: Option<Known>,
    /// The path of an incident is drawn unless the person puts it away, that of a tree only when asked for.
    hides_incidents: bool,
    shows_trees: bool,
}

struct Known {
    causes: Arc<RunCauses>,
    analysis: Option<Arc<Analysis>>,
    incident: Option<usize>,
    tree: Option<TreeIdx>,
    cascade: Option<Cascade>,
}

impl Known {
    fn is_same(&self, causes: &Arc<RunCauses>, snapshot: &Snapshot) -> bool {
        Arc::ptr_eq(&self.causes, causes)
            && self.analysis.as_ref().map(Arc::as_ptr)
                == snapshot.analysis.as_ref().map(Arc::as_ptr)
            && self.incident == snapshot.incident
            && (self.incident.is_some() || self.tree == snapshot.focus())
    }
}

impl CascadeState {
    /// Looks up what is selected, if it is not known.
    pub(super) fn follow(&mut self, snapshot: &Snapshot) {
        let Some(causes) = &snapshot.causes else {
            self.known = None;
            return;
        };
        let known = self.known.as_ref();
        if known.is_some_and(|known| known.is_same(causes, snapshot)) {
            return;
        }
        self.known = Some(Known {
            causes: Arc::clone(causes),
            analysis: snapshot.analysis.clone(),
            incident: snapshot.incident,
            tree: snapshot.focus(),
            cascade: snapshot.cascade(),
        });
    }

    /// Draws the path, or puts it away.
    pub(super) fn toggle(&mut self) {
        let is_incident = (self.known.as_ref()).is_some_and(|known| known.incident.is_some());
        if is_incident {
            self.hides_incidents ^= true;
        } else {
            self.shows_trees ^= true;
        }
    }

    /// The path to draw.
    pub(super) fn shown(&self) -> Option<&Cascade> {
        let known = self.known.as_ref()?;
        let is_shown = if known.incident.is_some() {
            !self.hides_incidents
        } else {
            self.shows_trees
        };
        known.cascade.as_ref().filter(|_| is_shown)
    }
}

/// Draws the switch of the path, where something selected was late.
pub(super) fn cascade_ui(state: &mut CascadeState, theme: &Theme, ui: &mut Ui) {
    let known = state.known.as_ref();
    let Some(cascade) = known.and_then(|known| known.cascade.as_ref()) else {
        return;
    };
    let root = cascade.root;
    let mut is_shown = state.shown().is_some();
    let reached = count_of(cascade.steps.len(), "rank");
    let text = format!("Delay from rank {} (C)", root.rank);
    let hint = format!(
        "The way of the delay from rank {}, where it began, to {reached} that waited: each arrow leads to a rank \
         when it could go on, with the delay that it was handed. Rank {} is the first row, whatever ranks are \
         chosen.",
        root.rank, root.rank
    );
    let toggle = ui.toggle_value(&mut is_shown, text).on_hover_text(hint);
    let (sign, _) = ui.allocate_exact_size(egui::Vec2::splat(SIGN_WIDTH), egui::Sense::hover());
    let color = theme.cause(root.kind);
    paint_kind(ui.painter(), root.kind, sign.center(), 5.0, color);
    if toggle.changed() {
        state.toggle();
    }
}
