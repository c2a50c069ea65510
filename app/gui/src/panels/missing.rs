//! What a view says that has nothing to show: what it is for, why it is empty, and what to do.

use callgrove_session::watch::RECORDED_TREES;
use callgrove_session::{Command, Snapshot};
use egui::{RichText, Ui, vec2};

use super::{has_no_trees, waiting_ui};
use crate::app::{Action, View};
use crate::context::ViewContext;
use crate::platform::FilePurpose;

/// Lines of text are no longer than this, in points.
const WIDTH: f32 = 440.0;

/// What a view lacks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    /// A run is watched, and no trace of it is open.
    Trace,
    /// Executions to compare.
    Trees,
    /// A run to watch.
    Watch,
    /// News of the run that is watched.
    Heard,
    /// Weights that are times.
    Times,
}

/// What a view lacks to show anything.
pub(crate) fn missing(view: View, snapshot: &Snapshot) -> Option<Missing> {
    let watch = &snapshot.watch;
    match view {
        View::Overview | View::Profile | View::Counters if !watch.is_attached() => {
            Some(Missing::Watch)
        }
        View::Overview | View::Profile | View::Counters => {
            watch.is_empty().then_some(Missing::Heard)
        }
        View::Records | View::Record => (!watch.is_attached()).then_some(Missing::Watch),
        View::Candidates | View::Map | View::Training if !has_no_trees(snapshot) => None,
        _ if snapshot.trace.is_none() => Some(Missing::Trace),
        View::Incidents | View::Timeline | View::Patterns | View::Waits if !has_times(snapshot) => {
            Some(Missing::Times)
        }
        View::Incidents | View::Timeline | View::Details | View::Patterns | View::Waits => None,
        _ => has_no_trees(snapshot).then_some(Missing::Trees),
    }
}

/// Whether the weights of what is open are times.
fn has_times(snapshot: &Snapshot) -> bool {
    let trace = snapshot.trace.as_ref();
    trace.is_none_or(|trace| trace.unit.is_time())
}

/// Says so, with a button for each way out.
pub(crate) fn missing_ui(ctx: &mut ViewContext<'_>, (view, missing): (View, Missing), ui: &mut Ui) {
    ui.vertical_centered(|ui| {
        ui.add_space((ui.available_height() * 0.3).min(80.0));
        if missing == Missing::Heard {
            return waiting_ui(ctx, ui);
        }
        let width = WIDTH.min(ui.available_width());
        ui.allocate_ui(vec2(width, 0.0), |ui| {
            ui.vertical_centered(|ui| why_ui(ctx, (view, missing), ui));
        });
    });
}

fn why_ui(ctx: &mut ViewContext<'_>, (view, missing): (View, Missing), ui: &mut Ui) {
    let (why, offer) = why(view, missing, ctx.snapshot);
    ui.label(view.purpose());
    ui.label(RichText::new(why).color(ctx.theme.weak_text()));
    if let Some(offer) = offer.filter(|offer| offer.is_possible(ctx.snapshot)) {
        ui.add_space(4.0);
        if ui.button(offer.name()).clicked() {
            offer.take(ctx);
        }
    }
}

/// A way out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Offer {
    RecordedTrees,
    Trace,
    Watch,
    Overview,
}

impl Offer {
    fn name(self) -> &'static str {
        match self {
            Self::RecordedTrees => "Open the recorded executions",
            Self::Trace => "Open a trace…",
            Self::Watch => "Attach…",
            Self::Overview => "Show the overview",
        }
    }

    fn is_possible(self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Watch => Action::Connect.is_possible(snapshot),
            // What is served is chosen where it is served.
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

/// Whether the session lies on a server.
fn is_served(snapshot: &Snapshot) -> bool {
    !snapshot.viewers.is_empty()
}

fn why(view: View, missing: Missing, snapshot: &Snapshot) -> (&'static str, Option<Offer>) {
    let is_served = is_served(snapshot);
    match (missing, view) {
        (Missing::Trace, View::Candidates | View::Map | View::Tree | View::Training) => (
            "Nothing is compared yet. A job that runs with --trees records its abnormal executions and a sample of all.",
            Some(Offer::RecordedTrees),
        ),
        (Missing::Trace, View::Incidents) => (
            "They are found in the trace of the run. Those that the running job has found are in its overview.",
            Some(Offer::Overview),
        ),
        (Missing::Trace, _) if is_served => (
            "It takes the trace of the run, which detectors do not keep. Where the job writes it to files, \
             `callgrove serve TRACE` shows it.",
            None,
        ),
        (Missing::Trace, _) => (
            "It takes the trace of the run, which detectors do not keep.",
            Some(Offer::Trace),
        ),
        (Missing::Times, _) => (
            "The weights of these trees are no times: nothing is known of when their vertices were, nor for how long.",
            None,
        ),
        (Missing::Trees, _) => (
            "No function is compared yet: choose one in the bar above.",
            None,
        ),
        (Missing::Watch | Missing::Heard, _) if !snapshot.watch.is_offered() => (
            "It takes the records of the run, or the running job: `callgrove serve TRACE RECORDS` shows both.",
            None,
        ),
        (Missing::Watch | Missing::Heard, _) => (
            "It takes the records of the run, or the running job itself.",
            Some(Offer::Watch),
        ),
    }
}
