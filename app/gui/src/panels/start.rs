//! What fills the window as long as there are no trees: an invitation, progress, or what went wrong.

use callgrove_session::Snapshot;
use egui::{Frame, Key, ProgressBar, RichText, TextEdit, Ui};

use super::notices::notice_ui;
use super::{RootChooser, Wish};
use crate::FilePurpose;
use crate::context::ViewContext;

const WIDTH: f32 = 560.0;

/// What is typed into the field.
#[derive(Default)]
pub(crate) struct Start {
    path: String,
}

/// Draws what the state of the session calls for.
pub(crate) fn start_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut Start,
    chooser: &mut RootChooser,
    wishes: &mut Vec<Wish>,
    can_monitor: bool,
    ui: &mut Ui,
) {
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| {
            ui.add_space((ui.available_height() * 0.22).min(200.0));
            let margin = ((ui.available_width() - WIDTH) / 2.0).max(0.0);
            ui.horizontal(|ui| {
                ui.add_space(margin);
                ui.vertical(|ui| {
                    ui.set_width(WIDTH.min(ui.available_width()));
                    ui.spacing_mut().item_spacing.y = 10.0;
                    match phase(ctx.snapshot) {
                        Phase::Working => working_ui(ctx, wishes, ui),
                        Phase::NoTrees => no_trees_ui(ctx, chooser, ui),
                        Phase::NoTrace => open_ui(ctx, state, wishes, can_monitor, ui),
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
    match (&snapshot.work, &snapshot.trace) {
        (Some(_), _) => Phase::Working,
        (None, Some(_)) => Phase::NoTrees,
        (None, None) => Phase::NoTrace,
    }
}

fn working_ui(ctx: &ViewContext<'_>, wishes: &mut Vec<Wish>, ui: &mut Ui) {
    let Some(work) = &ctx.snapshot.work else {
        return;
    };
    ui.heading(match &ctx.snapshot.source {
        Some(source) if ctx.snapshot.trace.is_none() => format!("Opening {source}"),
        _ => "Comparing executions".to_owned(),
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
        wishes.push(Wish::Cancel);
    }
}

fn no_trees_ui(ctx: &mut ViewContext<'_>, chooser: &mut RootChooser, ui: &mut Ui) {
    if let Some(analysis) = &ctx.snapshot.analysis {
        ui.heading(format!(
            "{} was never executed to its end",
            analysis.root_name
        ));
        ui.label("Choose another function; its executions will be compared with each other.");
    } else {
        ui.heading("Which function shall be compared?");
        ui.label("Choose a function that is executed many times; most promising first.");
    }
    Frame::group(ui.style()).show(ui, |ui| chooser.list_ui(ctx, ui));
}

fn open_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut Start,
    wishes: &mut Vec<Wish>,
    can_monitor: bool,
    ui: &mut Ui,
) {
    ui.heading(match &ctx.snapshot.source {
        Some(source) => format!("{source} is not open"),
        None => "Open a trace".to_owned(),
    });
    ui.label("Callgrove compares all executions of a function in the trace of a parallel program and shows the few that are unlike the others.");
    ui.horizontal(|ui| {
        let field = TextEdit::singleline(&mut state.path)
            .hint_text(FilePurpose::OpenTrace.hint())
            .desired_width(ui.available_width() - 160.0);
        let field = ui.add(field).accessible_name("Path of the trace");
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let path = state.path.trim();
        let opened = ui
            .add_enabled(!path.is_empty(), egui::Button::new("Open"))
            .clicked();
        if !path.is_empty() && (opened || entered) {
            ctx.send(FilePurpose::OpenTrace.command(path.to_owned()));
        }
        if ui.button("Browse…").clicked() {
            wishes.push(Wish::File(FilePurpose::OpenTrace));
        }
    });
    ui.label("It reads what TAU writes through ADIOS2: one .bp folder for each rank.");
    if ui.link("Go on with a saved session…").clicked() {
        wishes.push(Wish::File(FilePurpose::LoadSession));
    }
    if can_monitor && ui.link("Connect to a running job…").clicked() {
        wishes.push(Wish::Monitor);
    }
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        ui.weak("No trace at hand? This opens a small one of LAMMPS:");
        ui.label(RichText::new("callgrove demo").monospace());
    });
}

/// Whether there is nothing yet for the views to show.
pub(crate) fn needs_start(snapshot: &Snapshot) -> bool {
    snapshot
        .analysis
        .as_ref()
        .is_none_or(|analysis| analysis.forest.is_empty())
}
