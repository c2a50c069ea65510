//! The Record view: one execution with its context.

mod facts;
mod histogram;
mod timeline;

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_session::{Command, UserCommand};
use callgrove_watch::{ExecutionDocument, WatchCommand};
use callgrove_widgets::table::empty_ui;
use callgrove_widgets::text::short_name;
use callgrove_widgets::{label_buttons, view_header};
use egui::{CentralPanel, Frame, Margin, Panel, ScrollArea, TextEdit, Ui};

use timeline::RecordTimelineState;

/// The displayed form of the record.
#[derive(Default)]
pub struct DocumentState {
    timeline: RecordTimelineState,
    is_json: bool,
    /// The document that `json` was formatted from.
    document: Option<Arc<ExecutionDocument>>,
    json: String,
}

impl DocumentState {
    /// Fits the timeline to the execution.
    pub fn fit(&mut self) {
        self.timeline.fit();
    }

    /// Shows the record as JSON, or as a page.
    pub fn toggle_json(&mut self) {
        self.is_json = !self.is_json;
    }

    fn prepare(&mut self, document: &Arc<ExecutionDocument>) {
        if !self
            .document
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, document))
        {
            self.json = document.pretty_json();
            self.document = Some(Arc::clone(document));
            self.timeline.show(document);
        }
    }
}

/// Draws the view.
pub fn document_ui(ctx: &mut ViewContext<'_>, state: &mut DocumentState, ui: &mut Ui) {
    let Some(document) = ctx.snapshot.watch.visit().document.clone() else {
        return empty_ui("Select an execution in the table or the plot.", ui);
    };
    state.prepare(&document);
    let rank = document.app.zip(document.rank);
    let rank = rank.map_or_else(String::new, |(app, rank)| {
        format!(" on {}", ctx.rank_name(app, rank))
    });
    let title = format!(
        "{}{rank}, execution {}",
        short_name(&document.func),
        document.event_id
    );
    view_header(ui, &title, |ui| {
        ui.toggle_value(&mut state.is_json, "JSON")
            .on_hover_text("The record as stored (J)");
        if state.is_json {
            let copy = ui.button("Copy JSON");
            if copy.on_hover_text("Copy the whole record").clicked() {
                ui.ctx().copy_text(state.json.clone());
            }
        }
        neighbours_ui(ctx, &document, ui);
        let on = ctx.snapshot.record_label(&document);
        let author = ctx.snapshot.record_label_author(&document);
        if let Some(label) = label_buttons(ctx.theme, (on, author), &document.event_id, ui) {
            let label = Some(label).filter(|_| on != Some(label));
            let command = Command::label_record(&document, label);
            ctx.commands.extend(command.map(UserCommand::from));
        }
    });
    if state.is_json {
        let mut json = state.json.as_str();
        let text = TextEdit::multiline(&mut json)
            .code_editor()
            .desired_width(f32::INFINITY);
        ScrollArea::both()
            .auto_shrink(false)
            .show(ui, |ui| ui.add(text).accessible_name("Record as JSON"));
        return;
    }
    let width = ui.available_width();
    let frame = Frame::new().inner_margin(Margin {
        right: 8,
        ..Margin::ZERO
    });
    Panel::left("facts")
        .default_size((width * 0.32).clamp(300.0, 460.0))
        .size_range(240.0..=640.0)
        .frame(frame)
        .show(ui, |ui| {
            ScrollArea::vertical()
                .auto_shrink(false)
                .show(ui, |ui| facts::facts_ui(ctx, &document, ui));
        });
    CentralPanel::no_frame().show(ui, |ui| {
        timeline::timeline_ui(ctx, &mut state.timeline, ui);
    });
}

/// Draws the button that queries normal executions of the same function, for comparison.
fn neighbours_ui(ctx: &mut ViewContext<'_>, document: &ExecutionDocument, ui: &mut Ui) {
    use callgrove_watch::{QueryForm, RecordCollection};

    let Some(fid) = document.fid else {
        return;
    };
    let button = ui
        .button("Compare")
        .on_hover_text("Query normal executions of the same function for comparison");
    if button.clicked() {
        let form = QueryForm {
            collection: RecordCollection::NormalExecs,
            apps: document.app.map_or_else(String::new, |app| app.to_string()),
            fid: fid.to_string(),
            ..QueryForm::default()
        };
        ctx.watch(WatchCommand::Query(Box::new(form)));
    }
}
