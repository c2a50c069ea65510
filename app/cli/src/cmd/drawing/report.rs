//! `callgrove report`: what was found in a run, as one HTML file.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use callgrove_gui::PictureView;
use callgrove_gui::picture::{PictureSubject, ViewPicture, draw_view};
use callgrove_model::{Reason, TimeNs, TreeIdx};
use callgrove_report::{
    IncidentChoice, IncidentSection, ReportOrigin, ReportPicture, ReportRequest, RunReport, to_html,
};
use callgrove_session::{Explainer, Host as _, Snapshot};

use super::input_hashes::input_files;
use super::session_wait::{JournalUse, open_session};
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::host::NativeHost;
use crate::output::with_progress;
use crate::stop::StopSignal;
use callgrove_headless::HeadlessSession;
use callgrove_headless::default_folder;
use callgrove_headless::{Readers, replace_file};

/// Number of incidents if none are chosen.
const MAX_INCIDENTS: usize = 5;
/// Sizes of pictures, in points.
const INCIDENT_SIZE: [f32; 2] = [960.0, 420.0];
const TREE_SIZE: [f32; 2] = [960.0, 480.0];

pub(crate) fn run(args: &ReportArgs) -> Result<Exit> {
    let source = args.trace.source();
    let extension = args.out.extension().unwrap_or_default();
    ensure!(
        extension == "html" || extension == "htm",
        "{} needs another extension: name it {}",
        args.out.display(),
        args.out.with_extension("html").display()
    );
    let mut opened = open_session(
        &source,
        args.function.as_deref(),
        JournalUse::Read,
        &StopSignal::listen()?,
    )?;
    let inputs = with_progress("Hashing the inputs", |progress| {
        input_files(&source, !args.no_hashes, progress)
    })?;
    let request = ReportRequest {
        incidents: if args.incident.is_empty() {
            IncidentChoice::Costliest {
                at_most: MAX_INCIDENTS,
            }
        } else {
            IncidentChoice::Numbers(args.incident.clone())
        },
        num_candidates: args.candidates,
        with_labels: args.labels,
        origin: origin(),
        inputs,
    };
    let snapshot = Arc::clone(opened.session.snapshot());
    let explainer = explainer(&snapshot)?;
    let reasons_of = |tree: TreeIdx| -> Vec<Reason> {
        explainer
            .as_ref()
            .map(|it| it.reasons(tree))
            .unwrap_or_default()
    };
    let mut report = RunReport::of(&snapshot, &request, reasons_of)?;
    with_progress("Drawing", |progress| {
        let num_incidents = report.incidents.len();
        for (place, section) in report.incidents.iter_mut().enumerate() {
            progress.at(place as f32 / num_incidents as f32)?;
            section.pictures = pictures(&mut opened, section)?;
        }
        anyhow::Ok(())
    })?;
    replace_file(&args.out, to_html(&report).as_bytes(), Readers::ByMask)
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    let trace = snapshot.trace.as_ref().context("the trace was closed")?;
    Ok(Exit::after(&trace.warnings))
}

/// Compares the trees with usual ones; `None` without a judged forest.
fn explainer(snapshot: &Snapshot) -> Result<Option<Explainer>> {
    let (Some(analysis), Some(detection)) = (&snapshot.analysis, &snapshot.detection) else {
        return Ok(None);
    };
    let explainer = with_progress("Comparing the trees", |progress| {
        Explainer::new(
            &analysis.forest,
            detection,
            &snapshot.labels_by_tree,
            progress,
        )
    })?;
    Ok(Some(explainer))
}

/// Returns the timeline of an incident, and the tree that it shows in most.
fn pictures(opened: &mut HeadlessSession, section: &IncidentSection) -> Result<Vec<ReportPicture>> {
    let incident = PictureSubject::Incident(section.index);
    let mut wanted = vec![(PictureView::Incident, incident, INCIDENT_SIZE)];
    let tree = section.tree.map(PictureSubject::Tree);
    wanted.extend(tree.map(|tree| (PictureView::Tree, tree, TREE_SIZE)));
    let pictures = wanted.into_iter().map(|(view, subject, size)| {
        let mut drawn = |is_dark: bool| -> Result<(String, String)> {
            let theme = if is_dark { "dark" } else { "light" };
            let wanted = ViewPicture {
                subject,
                is_dark,
                id_prefix: format!("incident-{}-{}-{theme}", section.index, view.name()),
                ..ViewPicture::new(view, size)
            };
            let (session, wait) = opened.parts();
            let picture = draw_view(session, &wanted, wait)?;
            Ok((picture.title().to_owned(), picture.svg()?))
        };
        let ((caption, light), (_, dark)) = (drawn(false)?, drawn(true)?);
        Ok(ReportPicture {
            caption,
            light,
            dark,
        })
    });
    pictures.collect()
}

fn origin() -> ReportOrigin {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_ns = since_epoch.map_or(0, |since| since.as_nanos());
    let arguments: Vec<String> = std::env::args().skip(1).map(|it| quoted(&it)).collect();
    ReportOrigin {
        at: TimeNs(i64::try_from(now_ns).unwrap_or(i64::MAX)),
        by: NativeHost::new(default_folder()).user(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: format!("callgrove {}", arguments.join(" ")),
    }
}

/// Returns an argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_command_again() {
        assert_eq!(quoted("run/a.bp"), "run/a.bp");
        assert_eq!(quoted("a b*"), "'a b*'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
