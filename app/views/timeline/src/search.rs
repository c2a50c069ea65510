//! The search for calls by function: a field, the number of matches, and buttons for the next and previous.

use std::sync::Arc;

use callgrove_model::count_of;
use callgrove_model::{DurationNs, ExecRef, FuncId};
use callgrove_session::{
    CallOf, Calls, CallsNamed, CallsOfFunction, FoundCalls, SpanIndex, TimeRange,
};
use egui::{Key, Response, TextEdit, Ui};

/// The search and its matches.
#[derive(Default)]
pub(crate) struct SearchState {
    text: String,
    /// The function that was chosen elsewhere; its calls are the matches, whatever the text.
    func: Option<FuncId>,
    /// The matches of the text, once they are known.
    found: Option<Arc<FoundCalls>>,
    /// The matching calls, for drawing.
    pub(crate) spans: SpanIndex,
    wants_focus: bool,
    /// A pending step to another match, forward or back, which waits for its starting point.
    step: Option<bool>,
}

impl SearchState {
    /// Focuses the field.
    pub(crate) fn focus(&mut self) {
        self.wants_focus = true;
    }

    /// Searches the calls of a function that was chosen elsewhere.
    pub(crate) fn choose(&mut self, func: FuncId, name: String) {
        (self.found, self.step, self.spans) = (None, None, SpanIndex::default());
        (self.func, self.text) = (Some(func), name);
    }

    /// Returns the calls, once they are known.
    fn ask(&self, calls: &Calls) -> Option<Arc<FoundCalls>> {
        let Some(func) = self.func else {
            return calls.ask(&CallsNamed(self.text.clone()));
        };
        let (from, to) = calls.time_span()?;
        let range = TimeRange::between(from, to);
        calls.ask(&CallsOfFunction { func, range })
    }
}

/// Draws field and buttons. Returns a call to show.
pub(crate) fn search_ui(
    state: &mut SearchState,
    calls: &Calls,
    call: Option<ExecRef>,
    ui: &mut Ui,
) -> Option<ExecRef> {
    let field = TextEdit::singleline(&mut state.text)
        .hint_text("Find calls (/)")
        .desired_width(140.0);
    let response = ui.add(field).accessible_name("Find calls of a function");
    let response = response.on_hover_text(
        "Part of a name, or a pattern with * and ?. Enter: next, Shift+Enter: previous",
    );
    if std::mem::take(&mut state.wants_focus) {
        response.request_focus();
    }
    if response.changed() {
        (state.found, state.step, state.spans) = (None, None, SpanIndex::default());
        state.func = None;
    }
    if state.text.trim().is_empty() {
        return None;
    }
    if state.found.is_none() {
        state.found = state.ask(calls);
        if let Some(found) = &state.found {
            state.spans = found.spans(DurationNs(0), DurationNs(i64::MAX));
        } else if calls.is_working() {
            ui.ctx().request_repaint();
        }
    }
    ui.weak(match &state.found {
        Some(found) => count_text(found, call),
        None => "Searching…".to_owned(),
    });
    let by_key = key_step(&response, ui);
    let found = state.found.as_ref();
    let is_enabled = found.is_some_and(|found| !found.hits.is_empty());
    state.step = by_key.filter(|_| is_enabled).or(state.step);
    for (text, name, is_forward) in [("‹", "Previous match", false), ("›", "Next match", true)]
    {
        let button = ui.add_enabled(is_enabled, egui::Button::new(text));
        if button.on_hover_text(name).accessible_name(name).clicked() {
            state.step = Some(is_forward);
        }
    }
    let is_forward = state.step?;
    let from = match call {
        Some(call) => Some((calls.ask(&CallOf(call))?.entry, call)),
        None => None,
    };
    state.step = None;
    found?.step(from, is_forward)
}

/// Returns the step of a key: Enter goes forward, with Shift back; the cursor stays in the field.
fn key_step(response: &Response, ui: &Ui) -> Option<bool> {
    let (enter, shift) = ui.input(|input| (input.key_pressed(Key::Enter), input.modifiers.shift));
    if !(response.lost_focus() && enter) {
        return None;
    }
    response.request_focus();
    Some(!shift)
}

/// Returns `3 of 120 calls`.
fn count_text(found: &FoundCalls, call: Option<ExecRef>) -> String {
    let all = count_of(found.num_hits, "call");
    if found.stride > 1 {
        return format!("{all}, every {}th is marked", found.stride);
    }
    let at = call.and_then(|call| found.hits.iter().position(|hit| hit.exec == call));
    at.map_or(all.clone(), |at| format!("{} of {all}", at + 1))
}
