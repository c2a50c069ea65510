//! The event window of a record on the timeline canvas: its calls, and messages to other ranks.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::{Hovered, LaneCanvas, LaneScene, RankChoice, Window};
use callgrove_model::{ExecRef, count_of};
use callgrove_session::{Calls, Span, SpanIndex};
use callgrove_watch::{ExecutionDocument, QueryForm, RecordWindow, WatchCommand};
use callgrove_widgets::table::empty_ui;
use callgrove_widgets::view_header;
use egui::Ui;

/// The record that is shown, and its visible part.
#[derive(Default)]
pub(crate) struct RecordTimelineState {
    shown: Option<ShownRecord>,
}

struct ShownRecord {
    document: Arc<ExecutionDocument>,
    record: RecordWindow,
    canvas: LaneCanvas,
    flagged: Arc<SpanIndex>,
    name: String,
}

impl RecordTimelineState {
    /// Shows the event window of a document, with all its calls in view.
    pub(crate) fn show(&mut self, document: &Arc<ExecutionDocument>) {
        let record = document.window_trace();
        let trace = &record.trace;
        let spans = record.anomalies.iter().map(|&call| Span::of(trace, call));
        let name = format!(
            "Timeline of {} and {} with {}",
            count_of(record.event_ids.len(), "call"),
            count_of(trace.messages.len(), "message"),
            count_of(trace.lanes.len() - 1, "rank")
        );
        let mut canvas = LaneCanvas::new(Arc::new(Calls::local(trace)));
        canvas.set_stack(record.lane, true);
        self.shown = Some(ShownRecord {
            document: Arc::clone(document),
            flagged: Arc::new(SpanIndex::new(spans.collect())),
            canvas,
            record,
            name,
        });
        self.fit();
    }

    pub(crate) fn fit(&mut self) {
        if let Some(shown) = &mut self.shown {
            let (from, to) = (shown.record.from, shown.record.to);
            shown.canvas.view.jump(Window::around(from, to, 0.05));
        }
    }
}

/// Draws the calls and messages.
pub(super) fn timeline_ui(ctx: &mut ViewContext<'_>, state: &mut RecordTimelineState, ui: &mut Ui) {
    let mut wants_fit = false;
    view_header(ui, "Context on the same thread", |ui| {
        wants_fit = ui
            .button("Fit")
            .on_hover_text("Fit the whole event window (F)")
            .clicked();
    });
    if let Some(shown) = &mut state.shown {
        if shown.record.event_ids.is_empty() {
            return empty_ui(
                "The record has neither an event window nor a call stack.",
                ui,
            );
        }
        let done = shown.canvas.ui(
            &LaneScene {
                theme: ctx.theme,
                id: "record",
                name: &shown.name,
                has_focus: ctx.has_focus,
                tree: None,
                call: shown.record.subject,
                range: None,
                marks: &[],
                flagged: &shown.flagged,
                highlights: &[],
                occurrences: None,
                ranks: &RankChoice::default(),
                cascade: None,
                patterns: None,
            },
            ui,
        );
        wants_fit |= done.wants_fit;
        let clicked = match done.clicked {
            Some(Hovered::Mark(mark)) => Some(mark.spans.longest.exec),
            Some(Hovered::Bar { lane, bar }) => Some(ExecRef {
                lane,
                exec: bar.exec,
            }),
            _ => None,
        };
        if let Some(call) = clicked {
            query_record(ctx, shown, call);
        }
    }
    if wants_fit {
        state.fit();
    }
}

/// Queries the record of another anomaly of the event window.
fn query_record(ctx: &mut ViewContext<'_>, shown: &ShownRecord, call: ExecRef) {
    let record = &shown.record;
    if !record.anomalies.contains(&call) || record.subject == Some(call) {
        return;
    }
    let event_id = &record.event_ids[call.exec.index()];
    let app = shown.document.app;
    let form = QueryForm {
        apps: app.map_or_else(String::new, |app| app.to_string()),
        filter: format!("event_id = '{}'", event_id.replace('\'', "''")),
        ..QueryForm::default()
    };
    ctx.watch(WatchCommand::Query(Box::new(form)));
}
