//! Selects the subject of a picture in a session, and waits until the session shows it.

use std::sync::Arc;

use callgrove_actions::PictureView;
use callgrove_model::{ExecLabel, ProgramId, TreeIdx};
use callgrove_session::{
    AskState, Command, InspectCommand, Labelled, Selection, Session, Severity, Snapshot,
    UserCommand,
};
use callgrove_widgets::delay::commands_to_show_incident;

use super::error::PictureError;
use super::picture_request::{PictureSubject, ViewPicture};

/// Selects the subject of a picture.
pub(super) fn select_subject(
    session: &mut Session,
    wanted: &ViewPicture,
    wait: &mut dyn FnMut(&mut Session) -> bool,
) -> Result<(), PictureError> {
    wait_until(session, wait, |snapshot| {
        Ok(snapshot.calls().is_some() && snapshot.work.is_none())
    })
    .map_err(|error| match error {
        PictureError::Cancelled if session.snapshot().calls().is_none() => PictureError::NoTrace,
        error => error,
    })?;
    check(session.snapshot(), wanted.view)?;
    match (wanted.subject, wanted.view) {
        (PictureSubject::Run, PictureView::Tree) => {
            let detection = session.snapshot().detection().cloned();
            let first = detection.and_then(|known| known.order.first().copied());
            select_tree(session, first.unwrap_or(TreeIdx(0)), wait)
        }
        (PictureSubject::Run, PictureView::Incident) => select_incident(session, 0),
        (PictureSubject::Run, PictureView::Details) => Err(PictureError::NoCall),
        (PictureSubject::Run, _) => {
            session.send(Command::Select(Selection::None));
            session.send(InspectCommand::Pattern(None));
            Ok(())
        }
        (PictureSubject::Incident(number), _) => select_incident(session, number),
        (PictureSubject::Tree(tree), _) => select_tree(session, tree, wait),
        (PictureSubject::Execution { program, label }, _) => {
            select_execution(session, (program, label), wanted.view, wait)
        }
        (PictureSubject::Pattern(pattern), _) => {
            let patterns = session.snapshot().patterns();
            if patterns.is_none_or(|known| known.place_of(pattern).is_none()) {
                return Err(PictureError::UnknownPattern { number: pattern.0 });
            }
            session.send(InspectCommand::Pattern(Some(pattern)));
            Ok(())
        }
    }
}

/// Checks that there is something to draw.
fn check(snapshot: &Snapshot, view: PictureView) -> Result<(), PictureError> {
    let has_trees = snapshot.analysis().is_some_and(|it| !it.forest.is_empty());
    match view {
        PictureView::Map if !has_trees || snapshot.map().is_none() => Err(PictureError::NoForest),
        PictureView::Tree | PictureView::Candidates if !has_trees => Err(PictureError::NoForest),
        PictureView::Changes if snapshot.comparison().is_none() => Err(PictureError::NoComparison),
        PictureView::Incidents | PictureView::Waits if snapshot.causes().is_none() => {
            Err(PictureError::NoIncidents)
        }
        PictureView::Incident => {
            let causes = snapshot.causes();
            let has_incidents = causes.is_some_and(|known| !known.incidents().is_empty());
            has_incidents.then_some(()).ok_or(PictureError::NoIncidents)
        }
        PictureView::Patterns => {
            let patterns = snapshot.patterns();
            let has_patterns = patterns.is_some_and(|known| !known.patterns.is_empty());
            has_patterns.then_some(()).ok_or(PictureError::NoPatterns)
        }
        _ => Ok(()),
    }
}

fn select_incident(session: &mut Session, number: usize) -> Result<(), PictureError> {
    let snapshot = Arc::clone(session.snapshot());
    let causes = snapshot.causes();
    let count = causes.map_or(0, |known| known.incidents().len());
    if number >= count {
        let number = number + 1;
        return Err(PictureError::UnknownIncident { number, count });
    }
    for command in commands_to_show_incident(&snapshot, number) {
        session.send(command);
    }
    Ok(())
}

fn select_tree(
    session: &mut Session,
    tree: TreeIdx,
    wait: &mut dyn FnMut(&mut Session) -> bool,
) -> Result<(), PictureError> {
    session.send(Command::Select(Selection::One(tree)));
    wait_for_explanation(session, wait)
}

/// Waits until the focused tree is explained, if the session scores trees.
fn wait_for_explanation(
    session: &mut Session,
    wait: &mut dyn FnMut(&mut Session) -> bool,
) -> Result<(), PictureError> {
    wait_until(session, wait, |snapshot| {
        let explained = snapshot.explanation.as_ref().map(|known| known.tree);
        Ok(snapshot.detection().is_none() || explained == snapshot.focus())
    })
}

fn select_execution(
    session: &mut Session,
    (program, label): (ProgramId, ExecLabel),
    view: PictureView,
    wait: &mut dyn FnMut(&mut Session) -> bool,
) -> Result<(), PictureError> {
    let wanted = Labelled { program, label };
    let unknown = PictureError::UnknownExecution { label };
    let mut found = None;
    wait_until(session, wait, |snapshot| {
        let calls = snapshot.calls().ok_or(PictureError::NoTrace)?;
        match calls.reply(&wanted) {
            AskState::Pending => Ok(false),
            AskState::Refused => Err(unknown.clone()),
            AskState::Known(answer) => {
                found.clone_from(&answer);
                Ok(true)
            }
        }
    })?;
    let Some(found) = found else {
        return Err(unknown);
    };
    session.send(UserCommand::OpenExecution { program, label });
    wait_until(session, wait, |snapshot| {
        Ok(snapshot.inspected.call == Some(found.call)
            && snapshot.work.is_none()
            && snapshot.focus().is_some())
    })
    .map_err(|error| match error {
        PictureError::Cancelled => PictureError::NotInTree { label },
        error => error,
    })?;
    if view == PictureView::Tree {
        wait_for_explanation(session, wait)?;
    }
    Ok(())
}

/// Waits until a snapshot has a property.
fn wait_until(
    session: &mut Session,
    wait: &mut dyn FnMut(&mut Session) -> bool,
    mut is_reached: impl FnMut(&Snapshot) -> Result<bool, PictureError>,
) -> Result<(), PictureError> {
    let errors = |snapshot: &Snapshot| -> Vec<u64> {
        let errors = snapshot.notices.iter();
        let errors = errors.filter(|notice| notice.severity == Severity::Error);
        errors.map(|notice| notice.id).collect()
    };
    let before = errors(session.snapshot());
    loop {
        session.update();
        let snapshot = Arc::clone(session.snapshot());
        if is_reached(&snapshot)? {
            return Ok(());
        }
        let mut notices = snapshot.notices.iter();
        let is_new = errors(&snapshot)
            .into_iter()
            .find(|id| !before.contains(id));
        if let Some(notice) = is_new.and_then(|id| notices.find(|notice| notice.id == id)) {
            let text = notice.text.clone();
            return Err(PictureError::Session { text });
        }
        if !wait(session) {
            return Err(PictureError::Cancelled);
        }
    }
}
