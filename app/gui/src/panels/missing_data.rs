//! The text of an empty view: what it is for, reason it is empty, and what to do.

use callgrove_actions::context::ViewContext;
use callgrove_actions::{Action, FilePurpose, View};
use callgrove_session::{Command, Snapshot};
use callgrove_watch::RECORDED_TREES;
use egui::{RichText, Ui, vec2};

use super::{has_no_trees, waiting_ui};

/// Maximum width of a line of text, in points.
const WIDTH: f32 = 440.0;

/// The data that a view needs and does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MissingData {
    /// A run is watched, and no trace of it is open.
    Trace,
    /// Executions to compare.
    Trees,
    /// A run to watch.
    Watch,
    /// Data of the watched run.
    NoData,
    /// Weights that are times.
    Times,
}

/// Returns the data that a view needs and does not have.
pub(crate) fn missing(view: View, snapshot: &Snapshot) -> Option<MissingData> {
    let watch = &snapshot.watch;
    match view {
        View::Overview | View::Profile | View::Counters if !watch.is_attached() => {
            Some(MissingData::Watch)
        }
        View::Overview | View::Profile | View::Counters => {
            watch.is_empty().then_some(MissingData::NoData)
        }
        View::Records | View::Record => (!watch.is_attached()).then_some(MissingData::Watch),
        View::Candidates | View::Map | View::Training if !has_no_trees(snapshot) => None,
        _ if snapshot.trace().is_none() => Some(MissingData::Trace),
        View::Incidents | View::Timeline | View::Patterns | View::Waits | View::Changes
            if !has_times(snapshot) =>
        {
            Some(MissingData::Times)
        }
        View::Incidents
        | View::Timeline
        | View::Details
        | View::Patterns
        | View::Waits
        | View::Changes => None,
        _ => has_no_trees(snapshot).then_some(MissingData::Trees),
    }
}

/// Returns whether the weights of the open trees are times.
fn has_times(snapshot: &Snapshot) -> bool {
    let trace = snapshot.trace();
    trace.is_none_or(|trace| trace.unit.is_time())
}

/// Shows the text, with a button for the remedy.
pub(crate) fn missing_ui(
    ctx: &mut ViewContext<'_>,
    (view, missing): (View, MissingData),
    ui: &mut Ui,
) {
    ui.vertical_centered(|ui| {
        ui.add_space((ui.available_height() * 0.3).min(80.0));
        if missing == MissingData::NoData {
            return waiting_ui(ctx, ui);
        }
        let width = WIDTH.min(ui.available_width());
        ui.allocate_ui(vec2(width, 0.0), |ui| {
            ui.vertical_centered(|ui| reason_ui(ctx, (view, missing), ui));
        });
    });
}

fn reason_ui(ctx: &mut ViewContext<'_>, (view, missing): (View, MissingData), ui: &mut Ui) {
    let (reason, offer) = reason(view, missing, ctx.snapshot);
    ui.label(view.purpose());
    ui.label(RichText::new(reason).color(ctx.theme.weak_text()));
    if let Some(offer) = offer.filter(|offer| offer.is_possible(ctx.snapshot)) {
        ui.add_space(4.0);
        if ui.button(offer.name()).clicked() {
            offer.take(ctx);
        }
    }
}

/// A remedy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Remedy {
    RecordedTrees,
    Trace,
    Watch,
    Overview,
}

impl Remedy {
    fn name(self) -> &'static str {
        match self {
            Self::RecordedTrees => "Open recorded executions",
            Self::Trace => "Open a trace…",
            Self::Watch => "Attach…",
            Self::Overview => "Show Overview",
        }
    }

    fn is_possible(self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Watch => Action::Connect.is_possible(snapshot),
            // A served trace is chosen on the server, not in its viewers.
            Self::Trace => !is_served(snapshot),
            Self::RecordedTrees => snapshot.work.is_none(),
            Self::Overview => true,
        }
    }

    fn take(self, ctx: &mut ViewContext<'_>) {
        ctx.actions.push(match self {
            Self::RecordedTrees => {
                let source = format!("{RECORDED_TREES}{}", ctx.snapshot.watch.address());
                let function = None;
                return ctx.send(Command::OpenTrace { source, function });
            }
            Self::Trace => Action::File(FilePurpose::OpenTrace),
            Self::Watch => Action::Connect,
            Self::Overview => Action::Focus(View::Overview),
        });
    }
}

/// Returns whether the session runs on a server.
fn is_served(snapshot: &Snapshot) -> bool {
    !snapshot.viewers.present.is_empty()
}

fn reason(view: View, missing: MissingData, snapshot: &Snapshot) -> (&'static str, Option<Remedy>) {
    let is_served = is_served(snapshot);
    match (missing, view) {
        (MissingData::Trace, View::Candidates | View::Map | View::Tree | View::Training) => (
            "No executions are open. A job that runs with --trees records its abnormal executions and a sample of all.",
            Some(Remedy::RecordedTrees),
        ),
        (MissingData::Trace, View::Incidents) => (
            "Incidents need the trace. Incidents found live are listed in Overview.",
            Some(Remedy::Overview),
        ),
        (MissingData::Trace, _) if is_served => (
            "Needs the trace of the run, which detectors do not keep. If the job writes it to files, \
             `callgrove serve TRACE` shows it.",
            None,
        ),
        (MissingData::Trace, _) => (
            "Needs the trace of the run, which detectors do not keep.",
            Some(Remedy::Trace),
        ),
        (MissingData::Times, _) => (
            "The weights of these trees are not times, so the times and durations of their vertices are unknown.",
            None,
        ),
        (MissingData::Trees, _) => (
            "No function is selected. Choose one in the bar above.",
            None,
        ),
        (MissingData::Watch | MissingData::NoData, _) if !snapshot.watch.is_offered() => (
            "Needs the run's records or a live job. `callgrove serve TRACE RECORDS` shows both.",
            None,
        ),
        (MissingData::Watch | MissingData::NoData, _) => (
            "Needs the run's records or a live job.",
            Some(Remedy::Watch),
        ),
    }
}
