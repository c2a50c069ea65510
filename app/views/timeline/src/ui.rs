//! The timeline as a widget.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::{Hovered, LaneScene, RangeChoice, UnderlinedCalls};
use callgrove_model::ExecRef;
use callgrove_session::InspectCommand;
use callgrove_widgets::view_header;
use egui::{Panel, Ui};

use super::earlier_run::BeforeRun;
use super::earlier_run_ui::before_ui;
use super::header::{header_ui, tools_ui};
use super::marks::{NewMark, new_mark_ui};
use super::state::{ShownRun, TimelineState};
use super::statistics::{RangeRequest, StatisticsState, statistics_ui};
use super::strip::strip_ui;

/// Draws the timeline of the run, the selected tree first.
pub fn timeline_ui(ctx: &mut ViewContext<'_>, state: &mut TimelineState, ui: &mut Ui) {
    let Some(shown) = state.show(ctx.snapshot) else {
        view_header(ui, "Timeline", |_| {});
        ui.centered_and_justified(|ui| ui.weak("Open a trace to see what its ranks did"));
        return;
    };
    header_ui(ctx, shown, ui);
    if let Some(call) = tools_ui(shown, ctx.snapshot.inspected.call, ui) {
        ctx.send(InspectCommand::Call(Some(call)));
    }
    if let Some(range) = ctx.snapshot.inspected.range {
        let width = ui.available_width();
        let request = Panel::right("range")
            .resizable(true)
            .default_size((width * 0.34).min(430.0))
            .frame(egui::Frame::new().inner_margin(egui::Margin::symmetric(8, 0)))
            .show(ui, |ui| {
                let parts = (&mut shown.canvas, &mut shown.statistics);
                statistics_ui(ctx.theme, parts, range, ui)
            })
            .inner;
        match request {
            Some(RangeRequest::Call(call)) => ctx.send(InspectCommand::Call(Some(call))),
            Some(RangeRequest::Close) => ctx.send(InspectCommand::Range(None)),
            None => {}
        }
    } else {
        shown.statistics = None;
    }
    new_mark_ui(ctx, &mut shown.new_mark, ui);
    if BeforeRun::has_strip(shown.before.as_ref(), ui.available_height()) {
        strip_ui(ctx, shown, ui);
    }
    before_ui(ctx, shown, ui);
    rows_ui(ctx, shown, ui);
}

/// Draws the rows and carries out the actions on them.
pub(crate) fn rows_ui(ctx: &mut ViewContext<'_>, shown: &mut ShownRun, ui: &mut Ui) {
    let name = shown.name();
    let brushed = shown.statistics.as_ref().and_then(StatisticsState::spans);
    let mut highlights = vec![UnderlinedCalls {
        calls: &shown.search.spans,
        color: ctx.theme.warning(),
    }];
    highlights.extend(brushed.map(|calls| UnderlinedCalls {
        calls,
        color: ctx.theme.selection(),
    }));
    let seen = LaneScene {
        theme: ctx.theme,
        id: "timeline",
        name: &name,
        has_focus: ctx.has_focus,
        tree: shown.tree(),
        call: ctx.snapshot.inspected.call,
        range: ctx.snapshot.inspected.range,
        marks: &ctx.snapshot.edits.marks,
        flagged: &shown.flagged,
        highlights: &highlights,
        occurrences: shown.occurrences.shown(),
        ranks: &shown.ranks,
        cascade: shown.cascade.shown(),
        patterns: ctx.snapshot.patterns().map(AsRef::as_ref),
    };
    let done = shown.canvas.ui(&seen, ui);
    if let Some(request) = done.range {
        let range = match request {
            RangeChoice::Choose(range) => Some(range),
            RangeChoice::Clear => None,
        };
        ctx.send(InspectCommand::Range(range));
    }
    let clicked = match done.clicked {
        Some(Hovered::Bar { lane, bar }) if bar.num_calls == 1 => Some(ExecRef {
            lane,
            exec: bar.exec,
        }),
        Some(Hovered::Mark(mark)) => {
            if let Some(tree) = mark.spans.longest.tree {
                ctx.select(tree);
            }
            None
        }
        Some(Hovered::Step(step)) => Some(step.call),
        Some(Hovered::Root(root)) => Some(root.call),
        _ => None,
    };
    if let Some(call) = clicked.or(done.stepped) {
        ctx.send(InspectCommand::Call(Some(call)));
    }
    if let Some((lane, request)) = done.row {
        let lane = shown.canvas.trace().lane(lane);
        shown.choose((lane.program, lane.rank), request);
    }
    if let Some(range) = done.mark {
        shown.new_mark = Some(NewMark::at(range));
    }
    if done.wants_search {
        shown.search.focus();
    }
    if done.wants_fit {
        shown.fit();
    }
}

#[cfg(test)]
mod tests;
