//! The report of a run with its pictures, drawn without a window.

use std::sync::Arc;

use callgrove_actions::PictureView;
use callgrove_model::{Cancelled, Progress, Reason, TreeIdx};
use callgrove_picture::PaintError;
use callgrove_report::{
    IncidentSection, ReportError, ReportPicture, ReportRequest, RunReport, to_html,
};
use callgrove_session::{Calls, Explainer, Inspected, LearningError, Selection, Snapshot};
use callgrove_views::picture::{PictureError, ViewPicture, draw_snapshot};
use callgrove_widgets::delay::selection_of_incident;

/// Sizes of pictures, in points.
const INCIDENT_SIZE: [f32; 2] = [960.0, 420.0];
const TREE_SIZE: [f32; 2] = [960.0, 480.0];
/// Fraction of the work that compares the trees with usual ones.
const COMPARED: f32 = 0.3;

/// A report that cannot be made.
#[derive(thiserror::Error, Debug)]
pub enum ReportFailure {
    /// It has no content.
    #[error(transparent)]
    Content(#[from] ReportError),
    /// The trees cannot be compared with usual ones.
    #[error(transparent)]
    Comparison(#[from] LearningError),
    /// A picture cannot be drawn.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// A picture has a shape without a form in SVG.
    #[error(transparent)]
    Paint(#[from] PaintError),
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Returns the report of what a session shows, as one HTML file. If the calls are in another process, it has no pictures
/// of timelines.
///
/// # Errors
/// If there is no trace, an incident does not exist, or the caller asked to stop.
pub fn report_html(
    snapshot: &Snapshot,
    request: &ReportRequest,
    progress: Progress<'_>,
) -> Result<String, ReportFailure> {
    let explainer = explainer(snapshot, progress.part(0.0, COMPARED))?;
    let reasons_of = |tree: TreeIdx| -> Vec<Reason> {
        let explainer = explainer.as_ref();
        explainer.map(|it| it.reasons(tree)).unwrap_or_default()
    };
    let mut report = RunReport::of(snapshot, request, reasons_of)?;
    let num_incidents = report.incidents.len();
    if num_incidents > 0 && snapshot.calls().is_some_and(|calls| calls.is_remote()) {
        let note = " Timelines are left out, because the calls of the run are in another process.";
        report.incident_note.push_str(note);
    }
    let drawing = progress.part(COMPARED, 1.0);
    // The window asks for other data in each of its frames.
    let calls = snapshot.calls().map(|calls| calls.with_own_cache());
    let calls = calls.map(Arc::new);
    for (place, section) in report.incidents.iter_mut().enumerate() {
        drawing.at(place as f32 / num_incidents as f32)?;
        section.pictures = pictures(snapshot, (calls.as_ref(), explainer.as_ref()), section)?;
    }
    progress.at(1.0)?;
    Ok(to_html(&report))
}

/// Compares the trees with usual ones; `None` without a judged forest.
fn explainer(
    snapshot: &Snapshot,
    progress: Progress<'_>,
) -> Result<Option<Explainer>, LearningError> {
    let (Some(analysis), Some(detection)) = (snapshot.analysis(), snapshot.detection()) else {
        return Ok(None);
    };
    let (forest, labels) = (&analysis.forest, &snapshot.edits.labels_by_tree);
    Explainer::new(forest, detection, labels, progress).map(Some)
}

/// Returns the timeline of an incident, and the tree that it shows in most.
fn pictures(
    snapshot: &Snapshot,
    (calls, explainer): (Option<&Arc<Calls>>, Option<&Explainer>),
    section: &IncidentSection,
) -> Result<Vec<ReportPicture>, ReportFailure> {
    let mut pictures = Vec::new();
    let mut nothing_selected = Snapshot {
        selection: Selection::None,
        explanation: None,
        inspected: Inspected::default(),
        ..snapshot.clone()
    };
    if let (Some(run), Some(calls)) = (&mut nothing_selected.run, calls) {
        run.calls = Arc::clone(calls);
        run.comparison = None;
    }
    if calls.is_some_and(|calls| !calls.is_remote()) {
        let selected = Snapshot {
            selection: selection_of_incident(snapshot, section.index),
            inspected: Inspected {
                incident: Some(section.index),
                ..Inspected::default()
            },
            ..nothing_selected.clone()
        };
        let view = (PictureView::Incident, INCIDENT_SIZE);
        pictures.push(picture(&selected, view, section.index)?);
    }
    if let Some(tree) = section.tree {
        let selected = Snapshot {
            selection: Selection::One(tree),
            explanation: explainer.map(|it| Arc::new(it.explanation(tree))),
            ..nothing_selected
        };
        let view = (PictureView::Tree, TREE_SIZE);
        pictures.push(picture(&selected, view, section.index)?);
    }
    Ok(pictures)
}

/// Draws a view for both themes.
fn picture(
    snapshot: &Snapshot,
    (view, size): (PictureView, [f32; 2]),
    index: usize,
) -> Result<ReportPicture, ReportFailure> {
    let drawn = |is_dark: bool| -> Result<(String, String), ReportFailure> {
        let theme = if is_dark { "dark" } else { "light" };
        let wanted = ViewPicture {
            is_dark,
            id_prefix: format!("incident-{index}-{}-{theme}", view.name()),
            ..ViewPicture::new(view, size)
        };
        let picture = draw_snapshot(snapshot, &wanted)?;
        Ok((picture.title().to_owned(), picture.svg()?))
    };
    let ((caption, light), (_, dark)) = (drawn(false)?, drawn(true)?);
    Ok(ReportPicture {
        caption,
        light,
        dark,
    })
}
