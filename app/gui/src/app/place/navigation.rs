//! Navigates from the current location to another, and back.

use callgrove_actions::View;
use callgrove_model::{TimeNs, TreeIdx};
use callgrove_session::{Command, InspectCommand, Selection, Snapshot, TimeRange};

use super::super::CallgroveApp;
use super::super::layouts::{bring_to_front, is_in_front};
use super::{Destination, Place};

/// Maximum number of trees in a link; larger groups are left out to keep links short.
const MAX_TREES: usize = 40;

impl CallgroveApp {
    /// Returns the current location. `None` while nothing is open, and during navigation.
    pub fn place(&self) -> Option<Place> {
        let snapshot = self.session.snapshot();
        let watch = &snapshot.watch;
        if self.destination.is_some() || snapshot.analysis().is_none() && !watch.is_attached() {
            return None;
        }
        let analysis = snapshot.analysis();
        let selected = match &snapshot.selection {
            Selection::None => &[][..],
            Selection::One(tree) => std::slice::from_ref(tree),
            Selection::Group(trees) => &trees[..],
        };
        let selected = analysis.zip((selected.len() <= MAX_TREES).then_some(selected));
        let trees = selected.into_iter().flat_map(|(analysis, trees)| {
            let forest = &analysis.forest;
            let code = |tree: &TreeIdx| (forest.lane_of(*tree).program, forest.code(*tree));
            trees.iter().map(code)
        });
        let in_front = |view: &View| is_in_front(&self.layout, *view);
        Some(Place {
            root: analysis.map(|analysis| analysis.root_name.clone()),
            trees: trees.collect(),
            incident: snapshot.inspected.incident,
            trend: snapshot.inspected.trend,
            views: View::ALL.into_iter().filter(in_front).collect(),
            time: self.time_of_place(snapshot),
        })
    }

    fn time_of_place(&self, snapshot: &Snapshot) -> Option<(i64, i64)> {
        let (start, _) = snapshot.time_span()?;
        let seen = self.states.views.timeline.visible_range()?;
        Some((seen.from.since(start).0, seen.to.since(start).0))
    }

    /// Navigates to a location as soon as its content has been opened.
    pub fn go_to_place(&mut self, place: Place) {
        self.destination = Some(Destination {
            place,
            is_root_requested: false,
        });
    }

    /// Continues the navigation to the wanted location.
    pub(in crate::app) fn continue_navigation(&mut self) {
        let Some(mut destination) = self.destination.take() else {
            return;
        };
        let snapshot = self.session.snapshot().clone();
        let Some(analysis) = snapshot.analysis() else {
            // A run that is only watched has no analysis to wait for.
            if snapshot.watch.is_attached() {
                self.bring_forward(&destination.place.views);
            } else {
                self.destination = Some(destination);
            }
            return;
        };
        let root = destination.place.root.as_ref();
        if let Some(root) = root.filter(|root| **root != analysis.root_name) {
            if !destination.is_root_requested {
                let function = root.clone();
                self.session.send(Command::SetRoot { function });
                destination.is_root_requested = true;
            }
            // A root that the run does not have ends the navigation.
            let has_failed = snapshot
                .notices
                .iter()
                .any(|it| it.text.contains(root.as_str()));
            self.destination = Some(destination).filter(|_| !has_failed);
            return;
        }
        let waits = (destination.place.incident.is_some() && snapshot.causes().is_none())
            || (destination.place.trend.is_some() && snapshot.trends().is_none());
        if waits {
            self.destination = Some(destination);
            return;
        }
        let place = destination.place;
        let selection = place.selection(analysis);
        self.session.send(Command::Select(selection));
        if place.incident.is_some() {
            self.session.send(InspectCommand::Incident(place.incident));
        } else if place.trend.is_some() {
            self.session.send(InspectCommand::Trend(place.trend));
        }
        self.bring_forward(&place.views);
        let start = snapshot.time_span();
        let time = place.time.zip(start).map(|((from, to), (start, _))| {
            let after = |ns: i64| TimeNs(start.0.saturating_add(ns));
            TimeRange {
                from: after(from),
                to: after(to),
            }
        });
        self.states.views.timeline.restore(time);
    }

    fn bring_forward(&mut self, views: &[View]) {
        for view in views {
            bring_to_front(&mut self.layout, *view);
        }
    }
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::demo_snapshot;

    use super::super::super::tests::Window;
    use super::*;

    #[test]
    fn a_link_restores_trees_views_and_time() {
        let mut window = Window::new(demo_snapshot());
        let text = "root=compute&trees=0-2,1-3&time=1000..9000&views=timeline,waits";
        let wanted = Place::from_text(text);
        window.harness.state_mut().go_to_place(wanted.clone());
        window.harness.run();
        let arrived = window.harness.state().place().unwrap();
        assert_eq!(arrived.trees, wanted.trees);
        assert_eq!(arrived.time, wanted.time);
        for view in &wanted.views {
            assert!(arrived.views.contains(view), "{arrived:?}");
        }
        assert!(!arrived.differs_in_time_alone(&wanted));
    }

    #[test]
    fn another_root_is_requested_once() {
        let mut window = Window::new(demo_snapshot());
        let place = Place::from_text("root=ev_tally&trees=1-3");
        window.harness.state_mut().go_to_place(place);
        window.harness.run();
        let asked = window.sent();
        let roots = asked
            .iter()
            .filter(|it| matches!(it, Command::SetRoot { .. }));
        assert_eq!(roots.count(), 1, "{asked:?}");
        assert_eq!(
            window.harness.state().place(),
            None,
            "the navigation is in progress"
        );
    }
}
