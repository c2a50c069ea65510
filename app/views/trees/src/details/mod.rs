//! The Details view: times, counters and messages of the selected call, and which rank it waited for.

mod delay;
mod facts;

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_canvas::time::iteration_text;
use callgrove_model::{ExecRef, count_of};
use callgrove_session::{CallDetails, CallOf, Calls, InspectCommand, LaneNames};
use callgrove_widgets::text::{cause_text, design_note, held_text};
use callgrove_widgets::{in_picture, view_header};
use egui::{Align, Layout, RichText, ScrollArea, Ui};

use delay::{DelayState, delay_ui};
use facts::{Fact, FactGroup, as_text, fact_groups};

/// The call that was looked up last.
#[derive(Default)]
pub struct DetailsState {
    delay: DelayState,
    shown: Option<ShownCall>,
}

struct ShownCall {
    calls: Arc<Calls>,
    details: Arc<CallDetails>,
    groups: Vec<FactGroup>,
}

/// Draws the details of the selected call.
pub fn details_ui(ctx: &mut ViewContext<'_>, state: &mut DetailsState, ui: &mut Ui) {
    let wanted = ctx.snapshot.calls().zip(ctx.snapshot.inspected.call);
    let is_known = |shown: &ShownCall| {
        let is_of = |(calls, call): (&Arc<Calls>, ExecRef)| {
            Arc::ptr_eq(calls, &shown.calls) && call == shown.details.call
        };
        wanted.is_some_and(is_of)
    };
    if !state.shown.as_ref().is_some_and(is_known) {
        let details = wanted.and_then(|(calls, call)| Some((calls, calls.ask(&CallOf(call))?)));
        let new = details.map(|(calls, details)| {
            let names = LaneNames::new(calls.trace());
            ShownCall {
                groups: fact_groups(calls, &names, &details),
                calls: Arc::clone(calls),
                details,
            }
        });
        // The previous call stays visible while the next one is loaded.
        let is_coming = |(calls, _): (&Arc<Calls>, ExecRef)| calls.is_waiting();
        if new.is_some() || !wanted.is_some_and(is_coming) {
            state.shown = new;
        }
    }
    let Some(shown) = &state.shown else {
        view_header(ui, "Details", |_| {});
        cause_ui(ctx, ui);
        delay_ui(ctx, &mut state.delay, ui);
        ui.centered_and_justified(|ui| ui.weak("Click a call on the timeline or in the tree"));
        return;
    };
    view_header(ui, "Details", |ui| {
        if ui
            .button("Copy all")
            .on_hover_text("Copy all details as text")
            .clicked()
        {
            ui.ctx().copy_text(as_text(&shown.groups));
        }
    });
    cause_ui(ctx, ui);
    iteration_ui(ctx, shown, ui);
    let mut clicked = None;
    ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
        delay_ui(ctx, &mut state.delay, ui);
        for group in &shown.groups {
            clicked = group_ui(group, ui).or(clicked);
        }
    });
    if let Some(call) = clicked {
        ctx.send(InspectCommand::Call(Some(call)));
    }
}

/// Draws the iteration of the program in which the call was entered.
fn iteration_ui(ctx: &ViewContext<'_>, shown: &ShownCall, ui: &mut Ui) {
    let (lane, entry) = (shown.details.call.lane, shown.details.entry);
    let patterns = ctx.snapshot.patterns().map(AsRef::as_ref);
    if let Some(text) = iteration_text((&shown.calls, patterns), lane, entry) {
        ui.weak(format!("In {text}"));
    }
}

/// Draws what explains the score of the selected tree, whether it is rare by design, and whether its label is held.
fn cause_ui(ctx: &ViewContext<'_>, ui: &mut Ui) {
    let Some(tree) = ctx.snapshot.focus() else {
        return;
    };
    let texts = [
        cause_text(ctx.snapshot, tree),
        design_note(ctx.snapshot, tree),
        held_text(ctx.snapshot, tree),
    ];
    for text in texts.into_iter().flatten() {
        ui.label(RichText::new(text).strong());
    }
}

/// Draws a group. Returns the call of a clicked link.
fn group_ui(group: &FactGroup, ui: &mut Ui) -> Option<ExecRef> {
    let mut clicked = None;
    ui.add_space(4.0);
    ui.label(RichText::new(&group.title).strong());
    for fact in &group.facts {
        clicked = fact_ui(fact, ui).or(clicked);
    }
    if group.num_left_out > 0 {
        let text = format!(
            "{} more not listed",
            count_of(group.num_left_out, "message")
        );
        ui.weak(text);
    }
    clicked
}

/// Draws a name, its value (a link if it names a call), and a button that copies it.
fn fact_ui(fact: &Fact, ui: &mut Ui) -> Option<ExecRef> {
    const NAME_WIDTH: f32 = 104.0;
    let mut clicked = None;
    ui.with_layout(Layout::right_to_left(Align::Min), |ui| {
        if !in_picture(ui) {
            let copy = ui
                .small_button("Copy")
                .on_hover_text(format!("Copy: {}", fact.value))
                .accessible_name(format!("Copy {}", fact.name));
            if copy.clicked() {
                ui.ctx().copy_text(fact.value.clone());
            }
        }
        ui.with_layout(Layout::left_to_right(Align::Min), |ui| {
            ui.scope(|ui| {
                ui.set_min_width(NAME_WIDTH);
                ui.set_max_width(NAME_WIDTH);
                ui.add(egui::Label::new(RichText::new(&fact.name).weak()).wrap());
            });
            let text = RichText::new(&fact.value);
            if let Some(call) = fact.call {
                let link = ui.link(text).on_hover_text("Show this call");
                clicked = link.clicked().then_some(call);
            } else {
                let text = if fact.is_strong { text.strong() } else { text };
                ui.add(egui::Label::new(text).wrap());
            }
        });
    });
    clicked
}

#[cfg(test)]
mod tests;
