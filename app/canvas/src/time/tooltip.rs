//! Tooltips of the call, message or mark under the pointer.

use callgrove_model::count_of;
use callgrove_model::{DurationNs, ExecRef, FunctionName, LaneIdx, Trace, tag_text};
use callgrove_session::{Arrow, Bar, CallOf, LaneNames, MessageDetails, PatternList};
use callgrove_widgets::pointer_card_of;
use egui::{PopupAnchor, Response, Ui};

use super::axis::relative_time;
use super::iterations::iteration_text;
use super::lanes::LaneCanvas;
use super::scene::Hovered;
use super::writes::WriteMark;

/// Shows the tooltip of the item under the pointer, and of a trace write there.
pub(super) fn tooltip_ui(
    (canvas, patterns): (&LaneCanvas, Option<&PatternList>),
    (hovered, write): (Option<&Hovered>, Option<&WriteMark>),
    response: &Response,
    ui: &Ui,
) {
    // The tooltip grows once more details of the call are known, so its id depends on them.
    let call = hovered.and_then(|hovered| match hovered {
        Hovered::Bar { lane, bar } if bar.num_calls == 1 => Some(ExecRef {
            lane: *lane,
            exec: bar.exec,
        }),
        _ => None,
    });
    let is_known = call.is_some_and(|call| canvas.calls().ask(&CallOf(call)).is_some());
    let contents = (call, is_known);
    pointer_card_of(response, contents, PopupAnchor::Pointer, ui, |ui| {
        if let Some(hovered) = hovered {
            hovered_tooltip(canvas, patterns, hovered, ui);
        }
        if let Some(write) = write {
            ui.label(write.text());
        }
    });
}

fn hovered_tooltip(
    canvas: &LaneCanvas,
    patterns: Option<&PatternList>,
    hovered: &Hovered,
    ui: &mut Ui,
) {
    match hovered {
        Hovered::Bar { lane, bar } => bar_tooltip((canvas, patterns), *lane, bar, ui),
        Hovered::Arrow(arrow) => arrow_tooltip(canvas, arrow, ui),
        Hovered::Mark(mark) => {
            let longest = mark.spans.longest;
            if mark.spans.num_spans > 1 {
                ui.strong(format!("{} abnormal executions", mark.spans.num_spans));
                ui.label(format!("The longest took {}", longest.duration()));
                ui.weak("Click to select it, zoom in to separate them");
            } else {
                ui.label(format!("Abnormal, took {}", longest.duration()));
                ui.weak("Click to select it");
            }
        }
        // The path of a delay has its own tooltip.
        Hovered::Root(_) | Hovered::Step(_) => {}
    }
}

fn bar_tooltip(
    (canvas, patterns): (&LaneCanvas, Option<&PatternList>),
    lane: LaneIdx,
    bar: &Bar,
    ui: &mut Ui,
) {
    let trace = canvas.trace();
    let time = |time| relative_time(time, canvas.origin(), 1.0);
    let name = FunctionName::parse(trace.names.name(bar.func));
    if bar.num_calls > 1 {
        ui.strong(count_of(bar.num_calls, "call"));
        ui.label(format!("Mostly {}", name.short));
        ui.label(format!("From {} to {}", time(bar.from), time(bar.to)));
        ui.weak("Zoom in to separate them");
        return;
    }
    let call = ExecRef {
        lane,
        exec: bar.exec,
    };
    ui.strong(name.qualified);
    if let Some(file) = name.file {
        ui.weak(
            name.line
                .map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")),
        );
    }
    let Some(details) = canvas.calls().ask(&CallOf(call)) else {
        ui.weak("…");
        return;
    };
    ui.label(format!(
        "{}, exclusive {}",
        trace.unit.took(details.inclusive),
        trace.unit.amount(details.exclusive)
    ));
    let entry = details.entry;
    let iteration = iteration_text((canvas.calls(), patterns), lane, entry);
    let iteration = iteration.map_or_else(String::new, |text| format!(", {text}"));
    ui.label(format!("Entered at {}{iteration}", time(entry)));
    if name.is_mpi()
        && let Some(message) = details.wait.map(|at| &details.messages[at])
    {
        ui.strong(wait_text(trace, canvas.names(), message));
    }
    ui.weak(format!("Event {}", details.label));
    ui.weak("Click to show its details");
}

/// Returns which rank a call waited for, as text.
pub fn wait_text(trace: &Trace, names: &LaneNames, message: &MessageDetails) -> String {
    let peer = message.peer_lane.map_or_else(
        || format!("rank {}", message.peer),
        |lane| names.name(trace, lane),
    );
    let did = message
        .sender_did
        .map(|call| FunctionName::parse(trace.names.name(call.func)).short);
    let sent = match (message.late, did) {
        (Some(late), Some(func)) => format!("was still in {func} and sent only {late} later"),
        (Some(late), None) => format!("sent only {late} later"),
        (None, Some(func)) => format!("was in {func} and had already sent"),
        (None, None) => "had already sent".to_owned(),
    };
    format!("Waited for {peer}, which {sent}")
}

fn arrow_tooltip(canvas: &LaneCanvas, arrow: &Arrow, ui: &mut Ui) {
    let trace = canvas.trace();
    let name = |lane| canvas.names().name(trace, lane);
    ui.strong(format!(
        "Message from {} to {}",
        name(arrow.from),
        name(arrow.to)
    ));
    ui.label(format!(
        "{}, {}",
        count_of(arrow.size_bytes as usize, "byte"),
        tag_text(arrow.tag)
    ));
    let latency = arrow.received.since(arrow.sent);
    if latency.0 < 0 {
        let text = format!(
            "Received {} before it was sent: clocks differ",
            DurationNs(-latency.0)
        );
        ui.label(text);
    } else if latency.0 > 0 {
        ui.label(format!("Received {latency} after it was sent"));
    }
    if arrow.waited.0 > 0 {
        ui.label(format!("The receiver had waited for {}", arrow.waited));
    }
    let sent = relative_time(arrow.sent, canvas.origin(), 1.0);
    ui.weak(format!("Sent at {sent}"));
}
