//! What is told about the call, message or mark under the pointer.

use callgrove_model::{DurationNs, ExecRef, FunctionName, LaneIdx, ThreadId};
use callgrove_session::{Arrow, Bar, Timeline};
use egui::{PopupAnchor, Response, Tooltip, Ui};

use super::axis::relative_time;
use super::paint::{Canvas, Hovered};
use super::state::Shown;
use crate::widgets::count_of;

/// Shows what is known about what the pointer is on.
pub(super) fn tooltip_ui(
    canvas: &Canvas<'_>,
    timeline: &Timeline,
    hovered: Hovered,
    response: &Response,
    ui: &Ui,
) {
    Tooltip::always_open(
        ui.ctx().clone(),
        ui.layer_id(),
        response.id,
        PopupAnchor::Pointer,
    )
    .gap(12.0)
    .show(|ui| match hovered {
        Hovered::Bar { row, bar } => bar_tooltip(canvas, timeline.rows[row].lane, &bar, ui),
        Hovered::Arrow(at) => arrow_tooltip(canvas, timeline, &timeline.arrows[at], ui),
        Hovered::Mark(tree) => {
            let forest = &canvas.shown.focus.analysis.forest;
            ui.monospace(forest.code(tree).to_string());
            ui.label(format!("Abnormal, took {}", forest.tree(tree).duration()));
            if tree != canvas.shown.focus.tree {
                ui.weak("Click to select it");
            }
        }
    });
}

fn bar_tooltip(canvas: &Canvas<'_>, lane: LaneIdx, bar: &Bar, ui: &mut Ui) {
    let trace = canvas.shown.focus.analysis.forest.trace();
    let executions = &trace.lane(lane).executions;
    let time = |time| relative_time(time, canvas.origin(), canvas.pixel_ns().min(100.0));
    let name = FunctionName::parse(trace.names.name(bar.func));
    if bar.num_calls > 1 {
        ui.strong(count_of(bar.num_calls, "call"));
        ui.label(format!("Mostly {}", name.short));
        ui.label(format!("From {} to {}", time(bar.from), time(bar.to)));
        ui.weak("Zoom in to tell them apart");
        return;
    }
    ui.strong(name.qualified);
    if let Some(file) = name.file {
        ui.weak(
            name.line
                .map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")),
        );
    }
    let row = bar.exec.index();
    ui.label(format!(
        "Took {}, exclusive {}",
        executions.inclusive[row], executions.exclusive[row]
    ));
    ui.label(format!("Entered at {}", time(executions.entry[row])));
    let label = trace.label(ExecRef {
        lane,
        exec: bar.exec,
    });
    ui.weak(format!("Event {label}"));
}

fn arrow_tooltip(canvas: &Canvas<'_>, timeline: &Timeline, arrow: &Arrow, ui: &mut Ui) {
    let name = |row: usize| lane_name(canvas.shown, timeline.rows[row].lane);
    ui.strong(format!(
        "Message from {} to {}",
        name(arrow.from_row),
        name(arrow.to_row)
    ));
    ui.label(format!(
        "{}, tag {}",
        count_of(arrow.size_bytes as usize, "byte"),
        arrow.tag
    ));
    let latency = arrow.received.since(arrow.sent);
    if latency.0 < 0 {
        let text = format!(
            "Received {} before it was sent: clocks differ",
            DurationNs(-latency.0)
        );
        ui.label(text);
    } else {
        ui.label(format!("Received {latency} after it was sent"));
    }
    let sent = relative_time(arrow.sent, canvas.origin(), canvas.pixel_ns().min(100.0));
    ui.weak(format!("Sent at {sent}"));
}

/// `rank 7`, with program and thread where there are several.
pub(super) fn lane_name(shown: &Shown, lane: LaneIdx) -> String {
    let trace = shown.focus.analysis.forest.trace();
    let lane = trace.lane(lane);
    let mut name = format!("rank {}", lane.rank);
    if lane.thread != ThreadId(0) {
        name.push_str(&format!(" thread {}", lane.thread));
    }
    if trace
        .lanes
        .iter()
        .any(|other| other.program != lane.program)
    {
        name.push_str(&format!(" of {}", lane.program));
    }
    name
}
