//! Draws the earlier run of a comparison below the open one.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::{LaneScene, RangeChoice};
use callgrove_model::{DurationNs, TimeNs};
use callgrove_session::{InspectCommand, TimeRange};
use egui::{DragValue, Label, Panel, RichText, Ui};

use super::earlier_run::Alignment;
use super::state::ShownRun;

/// Initial share of the height that the earlier run takes.
const SHARE: f32 = 0.45;
/// Minimum height of the rows of two runs, in points.
const MIN_HEIGHT: f32 = 240.0;

/// Draws the earlier run in the lower part of the view.
pub(crate) fn before_ui(ctx: &mut ViewContext<'_>, shown: &mut ShownRun, ui: &mut Ui) {
    let Some(before) = &mut shown.before else {
        return;
    };
    if before.is_hidden {
        if ui.button("Show BEFORE").clicked() {
            before.is_hidden = false;
            ui.ctx().request_repaint();
        }
        return;
    }
    let available = ui.available_height();
    if available < MIN_HEIGHT {
        ui.weak("Make this view taller to see BEFORE below AFTER.");
        return;
    }
    let height = available * SHARE;
    Panel::bottom("before")
        .resizable(true)
        .default_size(height)
        .max_size(available - MIN_HEIGHT / 2.0)
        .frame(egui::Frame::new())
        .show(ui, |ui| {
            controls_ui(ctx, shown, ui);
            rows_ui(ctx, shown, ui);
        });
}

/// Draws the name of the run, and the choice of the times that are below each other.
fn controls_ui(ctx: &ViewContext<'_>, shown: &mut ShownRun, ui: &mut Ui) {
    let window = shown.canvas.view.window();
    let Some(before) = &mut shown.before else {
        return;
    };
    ui.horizontal(|ui| {
        if ui
            .button("Hide")
            .on_hover_text("Hide the timeline of BEFORE")
            .clicked()
        {
            before.is_hidden = true;
        }
        let num_iterations = before.num_iterations();
        ui.weak("aligned at");
        let is_start = before.alignment == Alignment::Start;
        if ui.selectable_label(is_start, "start of run").clicked() {
            before.alignment = Alignment::Start;
        }
        if num_iterations > 0 {
            let here = before.iteration_at(window.time_at(0.5));
            let iteration = ui
                .selectable_label(!is_start, "iteration")
                .on_hover_text("Align the runs at the iteration in the middle of the view");
            if iteration.clicked() {
                before.alignment = Alignment::Iteration(here);
            }
            if let Alignment::Iteration(at) = &mut before.alignment {
                let field = DragValue::new(at).range(0..=num_iterations - 1);
                ui.add(field).accessible_name("Aligned iteration");
            }
        }
        let after = ctx.snapshot.source.as_deref().unwrap_or_default();
        let text = format!(
            "below: BEFORE {} · above: AFTER {after}",
            before.comparison.source()
        );
        let text = RichText::new(text).color(ctx.theme.weak_text());
        ui.add(Label::new(text).truncate());
    });
}

fn rows_ui(ctx: &mut ViewContext<'_>, shown: &mut ShownRun, ui: &mut Ui) {
    let after_origin = shown.canvas.origin();
    let Some(before) = &mut shown.before else {
        return;
    };
    let shift = before.shift(after_origin);
    let coupled = before.canvas.view.window();
    let range = ctx
        .snapshot
        .inspected
        .range
        .map(|range| shifted(range, shift));
    let name = "Timeline of BEFORE";
    let seen = LaneScene {
        theme: ctx.theme,
        id: "timeline of before",
        name,
        has_focus: false,
        tree: None,
        call: None,
        range,
        marks: &[],
        flagged: &before.flagged,
        highlights: &[],
        occurrences: None,
        ranks: &shown.ranks,
        cascade: None,
        patterns: None,
    };
    let done = before.canvas.ui(&seen, ui);
    let back = DurationNs(-shift.0);
    if let Some(request) = done.range {
        ctx.send(InspectCommand::Range(match request {
            RangeChoice::Choose(range) => Some(shifted(range, back)),
            RangeChoice::Clear => None,
        }));
    }
    let moved = before.canvas.view.window();
    if moved != coupled {
        let now = ui.input(|input| input.time);
        shown.canvas.view.glide(moved.shifted(back), now);
        ui.ctx().request_repaint();
    }
    if let Some((lane, request)) = done.row {
        let lane = before.canvas.trace().lane(lane);
        let rank = (lane.program, lane.rank);
        shown.choose(rank, request);
    }
    if done.wants_fit {
        shown.fit();
    }
}

fn shifted(range: TimeRange, by: DurationNs) -> TimeRange {
    let [from, to] = [range.from, range.to].map(|time| TimeNs(time.0.saturating_add(by.0)));
    TimeRange { from, to }
}
