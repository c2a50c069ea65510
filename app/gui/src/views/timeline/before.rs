//! The earlier run of a comparison below the open one: one zoom for both.

use std::sync::Arc;

use callgrove_model::{DurationNs, TimeNs};
use callgrove_session::{Command, ComparedWith, SpanIndex, TimeRange};
use egui::{DragValue, Label, Panel, RichText, Ui};

use super::state::ShownRun;
use crate::canvas::time::{LaneCanvas, LaneScene, RangeChoice, Window};
use crate::context::ViewContext;

/// Initial share of the height that the earlier run takes.
const SHARE: f32 = 0.45;

/// Minimum height of the rows of two runs, in points.
const MIN_HEIGHT: f32 = 240.0;
/// Height from which the strip of the whole run is shown above the rows of two runs, in points.
const MIN_HEIGHT_FOR_STRIP: f32 = 400.0;

/// The earlier run on a canvas of its own.
pub(super) struct BeforeRun {
    comparison: Arc<ComparedWith>,
    canvas: LaneCanvas,
    alignment: Alignment,
    is_hidden: bool,
    flagged: Arc<SpanIndex>,
}

/// The times of the two runs that are below each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Alignment {
    /// The starts of the runs.
    Start,
    /// The starts of an iteration, counted from 0.
    Iteration(usize),
}

impl BeforeRun {
    fn new(comparison: &Arc<ComparedWith>) -> Self {
        Self {
            canvas: LaneCanvas::new(Arc::clone(comparison.before())),
            comparison: Arc::clone(comparison),
            alignment: Alignment::Start,
            is_hidden: false,
            flagged: Arc::default(),
        }
    }

    /// Returns the time of this run that is below a time of AFTER, minus that time.
    fn shift(&self, after_origin: TimeNs) -> DurationNs {
        let [before, after] = self.comparison.iteration_starts();
        if let Alignment::Iteration(at) = self.alignment
            && let (Some(before), Some(after)) = (before.get(at), after.get(at))
        {
            return before.since(*after);
        }
        self.canvas.origin().since(after_origin)
    }

    /// Returns the number of iterations that both runs have.
    fn num_iterations(&self) -> usize {
        let [before, after] = self.comparison.iteration_starts();
        before.len().min(after.len())
    }

    /// Returns the iteration of AFTER at a time, limited to those that both runs have.
    fn iteration_at(&self, time: TimeNs) -> usize {
        let after = &self.comparison.iteration_starts()[1];
        let last = after.partition_point(|start| *start <= time);
        last.saturating_sub(1)
            .min(self.num_iterations().saturating_sub(1))
    }
}

impl ShownRun {
    /// Returns whether the strip of the whole run fits above the rows of both runs.
    pub(super) fn has_strip(&self, height: f32) -> bool {
        let is_single = self.before.as_ref().is_none_or(|before| before.is_hidden);
        is_single || height >= MIN_HEIGHT_FOR_STRIP
    }

    /// Takes over the comparison of the snapshot, and shows the same times of both runs.
    pub(super) fn follow_comparison(&mut self, comparison: Option<&Arc<ComparedWith>>) {
        let is_same = |known: &BeforeRun| {
            comparison.is_some_and(|comparison| comparison.is_same(&known.comparison))
        };
        let known = self.before.take().filter(is_same);
        self.before = known.or_else(|| comparison.map(BeforeRun::new));
        let own = self.canvas.run_window();
        let Some(before) = self.before.as_mut().filter(|before| !before.is_hidden) else {
            self.canvas.view.set_bounds(own);
            return;
        };
        let shift = before.shift(self.canvas.origin());
        let other = before.canvas.run_window().shifted(DurationNs(-shift.0));
        let bounds = Window {
            from: own.from.min(other.from),
            to: own.to.max(other.to),
        };
        self.canvas.view.set_bounds(bounds);
        let window = self.canvas.view.window();
        before
            .canvas
            .view
            .couple(bounds.shifted(shift), window.shifted(shift));
    }
}

/// Draws the earlier run in the lower part of the view.
pub(super) fn before_ui(ctx: &mut ViewContext<'_>, shown: &mut ShownRun, ui: &mut Ui) {
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
    let range = ctx.snapshot.range.map(|range| shifted(range, shift));
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
        ctx.send(Command::SelectRange(match request {
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
