//! Selects the incident that the window shows first.

use std::sync::Arc;

use callgrove_actions::View;
use callgrove_finding_views::incidents::IncidentsState;
use callgrove_session::{CauseKind, Selection, Snapshot};
use callgrove_widgets::delay::{commands_to_show_incident, trees_hit};

use super::CallgroveApp;

impl CallgroveApp {
    /// Selects the costliest incident that hit an execution, or a trend if there is no such incident. Delays that the run
    /// has all the time explain nothing. Does nothing once the user has selected something: the first selection explains
    /// the run.
    pub(super) fn show_first_incident(&mut self) {
        let snapshot = Arc::clone(self.session.snapshot());
        let most_abnormal = (snapshot.detection())
            .and_then(|detection| detection.order.first().copied())
            .map_or(Selection::None, Selection::One);
        let is_untouched = [Selection::None, most_abnormal].contains(&snapshot.selection)
            && snapshot.inspected.call.is_none()
            && (snapshot.inspected.incident, snapshot.inspected.trend) == (None, None)
            && snapshot.edits.undo.is_none();
        let Some(causes) = snapshot.causes().filter(|_| is_untouched) else {
            return;
        };
        let mut numbers = 0..causes.incidents().len();
        let explains = |number: &usize| causes.incidents()[*number].kind != CauseKind::Noise;
        let hits = |number: &usize| !trees_hit(&snapshot, *number).is_empty();
        let first = numbers.find(|number| explains(number) && hits(number));
        let trends = snapshot.trends();
        let is_sure = trends
            .and_then(|it| it.all().first())
            .is_some_and(|it| it.doubt.is_none());
        let commands = match first {
            Some(number) => Some(commands_to_show_incident(&snapshot, number)),
            None => IncidentsState::step(&snapshot, 1).filter(|_| is_sure),
        };
        if let Some(commands) = commands {
            for command in commands {
                self.session.send(command);
            }
            self.focus = Some(View::Incidents);
        }
    }

    /// Returns whether the step and label keys act on incidents, because an incident view has the focus.
    pub(super) fn is_among_incidents(&self, snapshot: &Snapshot) -> bool {
        let causes = snapshot.causes();
        let trends = snapshot.trends();
        self.focus == Some(View::Incidents)
            && (causes.is_some_and(|causes| !causes.incidents().is_empty())
                || trends.is_some_and(|trends| !trends.all().is_empty()))
    }
}
