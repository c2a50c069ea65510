//! The delay that is drawn as a path over the rows, and whether it is visible.

use std::sync::Arc;

use callgrove_model::{TreeIdx, count_of};
use callgrove_session::{Analysis, Cascade, RunCauses, Snapshot};
use callgrove_widgets::theme::Theme;
use callgrove_widgets::{SIGN_WIDTH, paint_kind};
use egui::Ui;

/// Width from which the switch names the rank where the delay began, in points.
const MIN_WIDTH_FOR_NAME: f32 = 640.0;

/// The selected delay, and the user's choice whether it is drawn.
#[derive(Default)]
pub(crate) struct CascadeState {
    known: Option<Known>,
    /// True if the user hides the path of an incident, which is drawn by default.
    hides_incidents: bool,
    /// True if the user shows the path of a single tree, which is not drawn by default.
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
        // The calls of an incident may not be loaded yet.
        (self.cascade.is_some() || self.incident.is_none())
            && Arc::ptr_eq(&self.causes, causes)
            && self.analysis.as_ref().map(Arc::as_ptr) == snapshot.analysis().map(Arc::as_ptr)
            && self.incident == snapshot.inspected.incident
            && (self.incident.is_some() || self.tree == snapshot.focus())
    }
}

impl CascadeState {
    /// Looks up the path of the selection, if it is not known.
    pub(crate) fn follow(&mut self, snapshot: &Snapshot) {
        let Some(causes) = snapshot.causes() else {
            self.known = None;
            return;
        };
        let known = self.known.as_ref();
        if known.is_some_and(|known| known.is_same(causes, snapshot)) {
            return;
        }
        self.known = Some(Known {
            causes: Arc::clone(causes),
            analysis: snapshot.analysis().cloned(),
            incident: snapshot.inspected.incident,
            tree: snapshot.focus(),
            cascade: snapshot.cascade(),
        });
    }

    /// Shows or hides the path.
    pub(crate) fn toggle(&mut self) {
        let is_incident = (self.known.as_ref()).is_some_and(|known| known.incident.is_some());
        if is_incident {
            self.hides_incidents ^= true;
        } else {
            self.shows_trees ^= true;
        }
    }

    /// Returns the path to draw.
    pub(crate) fn shown(&self) -> Option<&Cascade> {
        let known = self.known.as_ref()?;
        let is_shown = if known.incident.is_some() {
            !self.hides_incidents
        } else {
            self.shows_trees
        };
        known.cascade.as_ref().filter(|_| is_shown)
    }
}

/// Draws the switch of the path, if a selected item was delayed.
pub(crate) fn cascade_ui(state: &mut CascadeState, theme: &Theme, ui: &mut Ui) {
    let known = state.known.as_ref();
    let Some(cascade) = known.and_then(|known| known.cascade.as_ref()) else {
        return;
    };
    let root = cascade.root;
    let mut is_shown = state.shown().is_some();
    let reached = count_of(cascade.steps.len(), "rank");
    let text = if ui.available_width() < MIN_WIDTH_FOR_NAME {
        "Delay (C)".to_owned()
    } else {
        format!("Delay from rank {} (C)", root.rank)
    };
    let hint = format!(
        "How the delay spread from rank {}, where it began, to {reached} that waited. Each arrow points to a rank \
         at the time when it could continue, and shows the delay that it received. Rank {} is always the first row.",
        root.rank, root.rank
    );
    let toggle = ui.toggle_value(&mut is_shown, text).on_hover_text(hint);
    let toggle = toggle.accessible_name(format!("Delay from rank {}", root.rank));
    let (sign, _) = ui.allocate_exact_size(egui::Vec2::splat(SIGN_WIDTH), egui::Sense::hover());
    let color = theme.cause(root.kind);
    paint_kind(ui.painter(), root.kind, sign.center(), 5.0, color);
    if toggle.changed() {
        state.toggle();
    }
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::with_focus;
    use callgrove_app_tests::stall_run::{stalled_snapshot, trees_of_stall, with_incident};
    use callgrove_session::RankFilter;
    use callgrove_view_tests::{harness_of, written};
    use egui_kittest::Harness;
    use egui_kittest::kittest::{NodeT as _, Queryable as _};

    use super::super::{TimelineState, timeline_ui};

    type View = Harness<'static, TimelineState>;

    fn view(snapshot: callgrove_session::Snapshot) -> View {
        let (mut harness, _) = harness_of(snapshot, [1000.0, 460.0], timeline_ui);
        harness.run();
        harness
    }

    fn is_drawn(harness: &View) -> bool {
        let timeline = harness.get_by_label_contains("Timeline of");
        let value = timeline.accesskit_node().value().unwrap_or_default();
        value.contains("a delay from rank 2 to 3 ranks")
    }

    #[test]
    fn the_path_of_an_incident_is_drawn_with_its_root_as_the_first_row() {
        let mut harness = view(with_incident(&stalled_snapshot(), 0));
        assert!(is_drawn(&harness));
        let texts: Vec<String> = written(&harness).into_iter().map(|it| it.text).collect();
        let is_described = |text: &String| text.starts_with("stalled 49.95");
        assert!(texts.iter().any(is_described), "{texts:?}");
        let shown = harness.state_mut().shown().unwrap();
        let first = shown.canvas.rows()[0].lane.lane;
        assert_eq!(shown.canvas.trace().lane(first).rank.0, 2);
        // Also if the user chose other ranks.
        shown.ranks.filter = RankFilter::Ranks(vec![(0, 1)]);
        harness.run();
        let rows = harness.state_mut().shown().unwrap().canvas.rows();
        let lanes: Vec<u32> = rows.iter().map(|row| row.lane.lane.0).collect();
        assert_eq!(lanes, [2, 0, 1]);
    }

    #[test]
    fn an_incident_fills_the_window_and_fit_goes_back_to_it() {
        let snapshot = with_incident(&stalled_snapshot(), 0);
        let causes = snapshot.causes().cloned().unwrap();
        let incident = &causes.incidents()[0];
        let mut harness = view(snapshot);
        let window = |harness: &mut View| harness.state_mut().shown().unwrap().canvas.view.window();
        let shown = window(&mut harness);
        assert!(shown.from < incident.start && shown.to > incident.end);
        let length_ns = incident.end.since(incident.start).0;
        assert!(shown.length_ns() < 2 * length_ns);
        harness.state_mut().fit();
        harness.run();
        assert!(window(&mut harness).length_ns() > 5 * length_ns, "the run");
        harness.state_mut().fit();
        harness.run();
        assert_eq!(window(&mut harness), shown);
    }

    #[test]
    fn the_path_to_a_single_tree_is_drawn_on_request() {
        let snapshot = stalled_snapshot();
        let victim = trees_of_stall(&snapshot, 0)[3];
        let mut harness = view(with_focus(&snapshot, victim));
        let is_drawn = |harness: &View| {
            let timeline = harness.get_by_label_contains("Timeline of");
            let value = timeline.accesskit_node().value().unwrap_or_default();
            value.contains("a delay from rank 2")
        };
        assert!(!is_drawn(&harness));
        harness.get_by_label("Delay from rank 2").click();
        harness.run();
        assert!(is_drawn(&harness));
        harness.state_mut().toggle_cascade();
        harness.run();
        assert!(!is_drawn(&harness));
    }
}
