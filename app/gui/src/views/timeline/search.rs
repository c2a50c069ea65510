//! The search for calls by function: a field, how many there are, and the next and previous.

use std::sync::Arc;

use callgrove_model::{DurationNs, ExecRef, Trace};
use callgrove_session::{CallSearch, SpanIndex};
use egui::{Key, Response, TextEdit, Ui};

use crate::widgets::count_of;

/// Calls looked at in one frame.
const ROWS_PER_FRAME: usize = 2_000_000;

/// What is searched for, and what was found.
#[derive(Default)]
pub(super) struct SearchState {
    text: String,
    search: Option<CallSearch>,
    is_done: bool,
    /// The calls, to be drawn.
    pub(super) spans: SpanIndex,
    wants_focus: bool,
}

impl SearchState {
    /// Puts the cursor into the field.
    pub(super) fn focus(&mut self) {
        self.wants_focus = true;
    }
}

/// Draws field and buttons; the answer is a call to show.
pub(super) fn search_ui(
    state: &mut SearchState,
    trace: &Arc<Trace>,
    call: Option<ExecRef>,
    ui: &mut Ui,
) -> Option<ExecRef> {
    let field = TextEdit::singleline(&mut state.text)
        .hint_text("Find calls (/)")
        .desired_width(140.0);
    let response = ui.add(field).accessible_name("Find calls of a function");
    let response = response.on_hover_text(
        "A part of a name, or a pattern with * and ?. Enter: next, Shift+Enter: previous",
    );
    if std::mem::take(&mut state.wants_focus) {
        response.request_focus();
    }
    if response.changed() {
        begin(state, trace);
    }
    advance(state, ui);
    let search = state.search.as_ref()?;
    ui.weak(count_text(search, call, state.is_done));
    let by_key = key_step(&response, ui);
    let is_enabled = state.is_done && !search.hits().is_empty();
    let mut step = by_key.filter(|_| is_enabled);
    for (text, name, is_forward) in [
        ("‹", "Previous call found", false),
        ("›", "Next call found", true),
    ] {
        let button = ui.add_enabled(is_enabled, egui::Button::new(text));
        if button.on_hover_text(name).accessible_name(name).clicked() {
            step = Some(is_forward);
        }
    }
    search.step(call, step?)
}

fn begin(state: &mut SearchState, trace: &Arc<Trace>) {
    let is_empty = state.text.trim().is_empty();
    state.search = (!is_empty).then(|| CallSearch::by_name(trace, &state.text));
    state.is_done = false;
    state.spans = SpanIndex::default();
}

fn advance(state: &mut SearchState, ui: &Ui) {
    let Some(search) = state.search.as_mut().filter(|_| !state.is_done) else {
        return;
    };
    state.is_done = search.advance(ROWS_PER_FRAME);
    if state.is_done {
        state.spans = search.spans(DurationNs(0), DurationNs(i64::MAX));
    } else {
        ui.ctx().request_repaint();
    }
}

/// Enter goes on, with Shift back; the cursor stays in the field.
fn key_step(response: &Response, ui: &Ui) -> Option<bool> {
    let (enter, shift) = ui.input(|input| (input.key_pressed(Key::Enter), input.modifiers.shift));
    if !(response.lost_focus() && enter) {
        return None;
    }
    response.request_focus();
    Some(!shift)
}

/// `3 of 120 calls`.
fn count_text(search: &CallSearch, call: Option<ExecRef>, is_done: bool) -> String {
    let all = count_of(search.num_hits(), "call");
    if !is_done {
        return format!("{all} so far");
    }
    if search.stride() > 1 {
        return format!("{all}, every {}th is marked", search.stride());
    }
    let at = call.and_then(|call| search.hits().iter().position(|hit| hit.exec == call));
    at.map_or(all.clone(), |at| format!("{} of {all}", at + 1))
}
