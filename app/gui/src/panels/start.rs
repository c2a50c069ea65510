//! The start page, while nothing is attached: an invitation, progress, or an error.

use callgrove_actions::context::ViewContext;
use callgrove_actions::{Action, FilePurpose};
use callgrove_session::Snapshot;
use egui::{Frame, Key, ProgressBar, RichText, TextEdit, Ui};

use super::RootChooser;
use super::notices::notice_ui;
use crate::platform::Platform;

/// Maximum width of the page, in points.
const WIDTH: f32 = 560.0;
/// The first sentence of the start page.
const INTRODUCTION: &str = "Callgrove compares all executions of a function in the trace of a parallel program and \
    shows the few that differ from the others.";
/// The supported sources.
const SOURCES: &str = "It reads traces of TAU (ADIOS2), OTF2 archives, traces of PyTorch and other Chrome JSON, of Perfetto, Nsight Systems and ROCm, events as CSV, anomalies recorded by `callgrove run`, and running jobs.";
/// The supported files in a browser.
const BROWSER_SOURCES: &str = "Drop a trace on this page, or choose one: the files or folder of an OTF2 archive, Chrome JSON (PyTorch), Perfetto, events (.csv), an exported run (.callgrove), a forest file (.jsonl) or a saved session; nothing leaves your browser.";

/// The text in the field, and the list of functions.
#[derive(Default)]
pub(crate) struct Start {
    path: String,
    chooser: RootChooser,
}

/// Draws the page for the state of the session. `recent` are recently opened runs.
pub(crate) fn start_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut Start,
    recent: &[String],
    platform: &dyn Platform,
    ui: &mut Ui,
) {
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.add_space((ui.available_height() * 0.16).min(200.0));
            let margin = ((ui.available_width() - WIDTH) / 2.0).max(0.0);
            ui.horizontal(|ui| {
                ui.add_space(margin);
                ui.vertical(|ui| {
                    ui.set_width(WIDTH.min(ui.available_width()));
                    ui.spacing_mut().item_spacing.y = 10.0;
                    match phase(ctx.snapshot) {
                        Phase::Working => working_ui(ctx, ui),
                        Phase::NoTrees => no_trees_ui(ctx, &mut state.chooser, ui),
                        Phase::NoTrace => open_ui(ctx, state, recent, platform, ui),
                    }
                    for notice in ctx.snapshot.notices.clone().iter().rev() {
                        notice_ui(ctx, notice, ui);
                    }
                });
            });
        });
}

enum Phase {
    Working,
    NoTrees,
    NoTrace,
}

fn phase(snapshot: &Snapshot) -> Phase {
    match (&snapshot.work, snapshot.trace()) {
        (Some(_), _) => Phase::Working,
        (None, Some(_)) => Phase::NoTrees,
        (None, None) => Phase::NoTrace,
    }
}

fn working_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    let Some(work) = &ctx.snapshot.work else {
        return;
    };
    ui.heading(match (ctx.snapshot.trace(), &ctx.snapshot.source) {
        (Some(_), _) => "Comparing executions".to_owned(),
        (None, Some(source)) => format!("Opening {source}"),
        (None, None) => "Opening a run".to_owned(),
    });
    let fraction = work.fraction.clamp(0.0, 1.0);
    ui.add(
        ProgressBar::new(fraction)
            .desired_height(10.0)
            .fill(ctx.theme.accent()),
    )
    .accessible_name("Progress");
    ui.horizontal(|ui| {
        ui.label(format!("{:.0} %", fraction * 100.0));
        ui.weak(&work.stage);
    });
    if ui.button("Cancel").clicked() {
        ctx.actions.push(Action::Cancel);
    }
}

fn no_trees_ui(ctx: &mut ViewContext<'_>, chooser: &mut RootChooser, ui: &mut Ui) {
    if let Some(analysis) = ctx.snapshot.analysis() {
        ui.heading(format!("{} has no complete execution", analysis.root_name));
        ui.label("Choose another function to compare its executions.");
    } else {
        ui.heading("Choose a function to compare");
        ui.label("Choose a function with many executions. The most promising are listed first.");
    }
    Frame::group(ui.style()).show(ui, |ui| chooser.list_ui(ctx, ui));
}

fn open_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut Start,
    recent: &[String],
    platform: &dyn Platform,
    ui: &mut Ui,
) {
    ui.heading(match &ctx.snapshot.source {
        Some(source) => format!("Could not open {source}"),
        None => "Open a run".to_owned(),
    });
    let has_paths = platform.has_paths();
    if has_paths {
        ui.label(format!("{INTRODUCTION} {SOURCES}"));
        name_ui(ctx, &mut state.path, platform, ui);
    } else {
        ui.label(INTRODUCTION);
        ui.label(BROWSER_SOURCES);
    }
    ui.horizontal_wrapped(|ui| {
        if !has_paths {
            browse_ui(ctx, ui);
        }
        let others = [
            ("Demo", Action::Demo),
            ("Open a session…", Action::File(FilePurpose::LoadSession)),
            ("Attach a running job…", Action::Connect),
        ];
        for (name, action) in others {
            if action.is_possible(ctx.snapshot) && ui.button(name).clicked() {
                ctx.actions.push(action);
            }
        }
    });
    if !recent.is_empty() && has_paths {
        ui.label(RichText::new("Recent").strong());
        for source in recent {
            if ui.link(source).clicked() {
                ctx.send(platform.open(source));
            }
        }
    }
}

/// Draws the field for the path or address to open.
fn name_ui(ctx: &mut ViewContext<'_>, path: &mut String, platform: &dyn Platform, ui: &mut Ui) {
    ui.horizontal(|ui| {
        let field = TextEdit::singleline(path)
            .hint_text("Folder of a trace or of records, pattern, or http://host:port")
            .desired_width(ui.available_width() - 160.0);
        let field = ui.add(field).accessible_name("Trace, records or address");
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let path = path.trim();
        let opened = ui
            .add_enabled(!path.is_empty(), egui::Button::new("Open"))
            .clicked();
        if !path.is_empty() && (opened || entered) {
            ctx.send(platform.open(path));
        }
        browse_ui(ctx, ui);
    });
}

fn browse_ui(ctx: &mut ViewContext<'_>, ui: &mut Ui) {
    if ui.button("Browse…").clicked() {
        ctx.actions.push(Action::File(FilePurpose::OpenTrace));
    }
}

/// Returns whether nothing is attached yet that the views could show.
pub(crate) fn needs_start(snapshot: &Snapshot) -> bool {
    has_no_trees(snapshot) && !snapshot.watch.is_attached()
}

/// Returns whether there are no executions to compare.
pub(crate) fn has_no_trees(snapshot: &Snapshot) -> bool {
    snapshot
        .analysis()
        .is_none_or(|analysis| analysis.forest.is_empty())
}
