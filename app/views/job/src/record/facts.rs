//! The content of a record: facts, call stack, detector, GPU, counters, node.

use callgrove_actions::context::ViewContext;
use callgrove_model::{FunctionName, tag_text};
use callgrove_watch::ExecutionDocument;
use callgrove_watch::document::{CallStackEntry, CommType, GpuParent, Model};
use callgrove_widgets::text::{
    dash, duration, duration_or_dash, number, number_or_dash, short_name, utc,
};
use egui::{CollapsingHeader, Grid, Label, RichText, Ui};

use super::histogram::histogram_ui;

/// Maximum number of counters shown; more are in the JSON.
const MAX_COUNTERS: usize = 200;
/// Maximum number of messages shown; more are in the JSON.
const MAX_MESSAGES: usize = 64;

/// Draws all parts that the record has.
pub(super) fn facts_ui(ctx: &ViewContext<'_>, document: &ExecutionDocument, ui: &mut Ui) {
    part_ui("Execution", ui, |ui| execution_ui(document, ui));
    part_ui("Call stack", ui, |ui| {
        stack_ui(ctx, &document.call_stack, ui);
    });
    part_ui("Detector", ui, |ui| model_ui(ctx, document, ui));
    if document.is_gpu || document.gpu_location.is_some() || document.gpu_parent.is_some() {
        part_ui("GPU", ui, |ui| gpu_ui(ctx, document, ui));
    }
    messages_ui(ctx, document, ui);
    part_ui("Counters", ui, |ui| counters_ui(document, ui));
    part_ui("Node", ui, |ui| node_ui(document, ui));
}

fn part_ui(name: &str, ui: &mut Ui, content: impl FnOnce(&mut Ui)) {
    CollapsingHeader::new(RichText::new(name).strong())
        .default_open(true)
        .show(ui, content);
}

fn rows_ui(salt: &str, rows: &[(&str, String)], ui: &mut Ui) {
    Grid::new(salt).num_columns(2).show(ui, |ui| {
        for (name, value) in rows {
            ui.weak(*name);
            ui.add(Label::new(value).wrap());
            ui.end_row();
        }
    });
}

fn execution_ui(document: &ExecutionDocument, ui: &mut Ui) {
    let name = FunctionName::parse(&document.func);
    let whole = |value: Option<u64>| value.map_or_else(dash, |value| value.to_string());
    let time =
        |time_us: Option<u64>| time_us.map_or_else(dash, |time_us| format!("{} UTC", utc(time_us)));
    let place = match (name.file, name.line) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.to_owned(),
        _ => dash(),
    };
    let step = match (document.step, document.step_range_us) {
        (Some(step), Some((from_us, to_us))) => {
            let length = duration(to_us.saturating_sub(from_us) as f64);
            format!("{step}, which lasted {length}")
        }
        (step, _) => whole(step),
    };
    let rows = [
        ("Severity", duration_or_dash(document.severity_us)),
        ("Score", number_or_dash(document.score)),
        (
            "Exclusive time",
            duration_or_dash(document.runtime_exclusive_us),
        ),
        (
            "Inclusive time",
            duration_or_dash(document.runtime_total_us),
        ),
        ("Function", name.qualified.to_owned()),
        ("Source", place),
        ("Entry", time(document.entry_us)),
        ("Exit", time(document.exit_us)),
        ("I/O step", step),
        ("Rank", whole(document.rank.map(u64::from))),
        ("Thread", whole(document.thread)),
        ("Program", whole(document.app.map(u64::from))),
        ("Host", document.hostname.clone().unwrap_or_else(dash)),
    ];
    rows_ui("what", &rows, ui);
}

/// Draws the stack from the execution outwards, each call with its duration.
fn stack_ui(ctx: &ViewContext<'_>, stack: &[CallStackEntry], ui: &mut Ui) {
    if stack.is_empty() {
        ui.weak("The record has no call stack.");
    }
    for (depth, frame) in stack.iter().enumerate() {
        ui.horizontal(|ui| {
            ui.add_space(8.0 * depth as f32);
            let (mark, _) = ui.allocate_exact_size(egui::vec2(10.0, 10.0), egui::Sense::hover());
            ui.painter()
                .rect_filled(mark, 2.0, ctx.color_of(&frame.func));
            let mut name = RichText::new(short_name(&frame.func));
            if frame.is_anomaly == Some(true) {
                name = name.strong().color(ctx.theme.abnormal_text());
            }
            ui.add(Label::new(name).truncate())
                .on_hover_text(&*frame.func);
            ui.weak(match frame.exit {
                0 => "still running".to_owned(),
                exit_us => duration(exit_us.saturating_sub(frame.entry) as f64),
            });
            if frame.is_anomaly == Some(true) {
                ui.label(RichText::new("◆ anomaly").color(ctx.theme.abnormal_text()));
            }
        });
    }
}

/// Draws the messages of the execution itself, each with its other end if that is known.
fn messages_ui(ctx: &ViewContext<'_>, document: &ExecutionDocument, ui: &mut Ui) {
    let own = document.window.comm_window.iter();
    let own: Vec<_> = own
        .filter(|it| it.execdata_key == document.event_id)
        .collect();
    if own.is_empty() {
        return;
    }
    let incident = ctx.snapshot.watch.incident();
    part_ui("Messages", ui, |ui| {
        if let Some(incident) = incident {
            ui.add(Label::new(incident.sentence()).wrap());
        }
        let rows: Vec<(&str, String)> = own
            .into_iter()
            .take(MAX_MESSAGES)
            .map(|message| {
                let (name, mate) = match message.kind {
                    CommType::Send => ("Sent to", "received"),
                    CommType::Recv => ("Received from", "sent"),
                };
                let end = incident.and_then(|incident| incident.mate(document, message));
                let mate = end.map_or_else(
                    || "; its other end is unknown".to_owned(),
                    |end| {
                        let entry_us = document.entry_us.unwrap_or(message.timestamp_us);
                        let (apart_us, order) = match end.timestamp_us.checked_sub(entry_us) {
                            Some(after_us) => (after_us, "after"),
                            None => (entry_us - end.timestamp_us, "before"),
                        };
                        let call = end.event_id.as_deref().unwrap_or("no call");
                        format!(
                            ", {mate} {} {order} entry, in {call}",
                            duration(apart_us as f64)
                        )
                    },
                );
                (
                    name,
                    format!(
                        "rank {}, {}{mate}",
                        message.partner(),
                        tag_text(message.tag)
                    ),
                )
            })
            .collect();
        rows_ui("messages", &rows, ui);
    });
}

fn model_ui(ctx: &ViewContext<'_>, document: &ExecutionDocument, ui: &mut Ui) {
    match &document.model {
        Model::Unknown => {
            ui.weak("The record has no readable model of the detector.");
        }
        Model::Moments(stats) => {
            let time_us = document.runtime_exclusive_us;
            let distance = time_us
                .filter(|_| stats.stddev > 0.0)
                .map(|time_us| (time_us - stats.mean) / stats.stddev);
            let rows = [
                ("Executions", number(stats.count as f64)),
                ("Mean", duration(stats.mean)),
                ("Standard deviation", duration(stats.stddev)),
                ("Shortest", duration(stats.minimum)),
                ("Longest", duration(stats.maximum)),
                (
                    "Skewness, kurtosis",
                    format!("{}, {}", number(stats.skewness), number(stats.kurtosis)),
                ),
                (
                    "This execution",
                    distance.map_or_else(dash, |distance| {
                        format!("{} standard deviations from the mean", number(distance))
                    }),
                ),
            ];
            rows_ui("moments", &rows, ui);
        }
        Model::RecordHistogram(histogram) => histogram_ui(ctx, histogram, document, ui),
    }
}

fn gpu_ui(ctx: &ViewContext<'_>, document: &ExecutionDocument, ui: &mut Ui) {
    if let Some(location) = &document.gpu_location {
        let rows = [
            ("Device", location.device.to_string()),
            ("Context", location.context.to_string()),
            ("Stream", location.stream.to_string()),
            ("Thread index", location.thread.to_string()),
        ];
        rows_ui("gpu", &rows, ui);
    }
    match &document.gpu_parent {
        None => {}
        Some(GpuParent::Missing(cause)) => {
            ui.label(format!("The launching call is unknown: {cause}"));
        }
        Some(GpuParent::Found {
            event_id,
            tid,
            call_stack,
        }) => {
            ui.label(format!("Launched by {event_id} on thread {tid}:"));
            stack_ui(ctx, call_stack, ui);
        }
    }
}

fn counters_ui(document: &ExecutionDocument, ui: &mut Ui) {
    if document.counters.is_empty() {
        ui.weak("No counters during this execution");
        return;
    }
    let entry_us = document.entry_us.unwrap_or_default();
    Grid::new("counters")
        .num_columns(3)
        .striped(true)
        .show(ui, |ui| {
            for event in document.counters.iter().take(MAX_COUNTERS) {
                ui.label(number(event.counter_value as f64));
                let after_us = event.ts_us.saturating_sub(entry_us);
                ui.weak(format!("{} after entry", duration(after_us as f64)));
                // The name comes last, where a long one fits.
                ui.add(Label::new(&*event.counter_name).extend());
                ui.end_row();
            }
        });
    let num_hidden = document.counters.len().saturating_sub(MAX_COUNTERS);
    if num_hidden > 0 {
        ui.weak(format!("and {num_hidden} more, in the JSON"));
    }
}

fn node_ui(document: &ExecutionDocument, ui: &mut Ui) {
    let Some(state) = &document.node_state else {
        ui.weak("No node data. TAU's monitoring plugin records it.");
        return;
    };
    let fields = state.data.iter();
    let rows: Vec<(&str, String)> = fields
        .map(|it| (&*it.field, it.value.to_string()))
        .collect();
    rows_ui("node", &rows, ui);
    ui.weak(format!("as of {} UTC", utc(state.timestamp_us)));
}
