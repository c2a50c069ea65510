//! The bar below: what is being worked on, and what is wrong with the trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_model::{Trace, WarningKind};
use egui::{Align, Layout, Popup, PopupCloseBehavior, ProgressBar, RichText, ScrollArea, Ui};

use super::{Wish, needs_start};
use crate::context::ViewContext;
use crate::widgets::{count_of, thousands};

/// Warnings by kind, counted once per trace.
#[derive(Default)]
pub(crate) struct StatusBar {
    summary: Option<(Arc<Trace>, Vec<WarningSummary>)>,
}

/// One kind of damage over all ranks.
struct WarningSummary {
    kind: WarningKind,
    count: u64,
    num_ranks: usize,
    first: String,
}

/// Draws the bar. `num_unsent` commands wait for the session.
pub(crate) fn status_bar_ui(
    ctx: &ViewContext<'_>,
    state: &mut StatusBar,
    num_unsent: usize,
    wishes: &mut Vec<Wish>,
    ui: &mut Ui,
) {
    ui.horizontal_centered(|ui| {
        let work = ctx
            .snapshot
            .work
            .as_ref()
            .filter(|_| !needs_start(ctx.snapshot));
        if let Some(work) = work {
            let fraction = work.fraction.clamp(0.0, 1.0);
            ui.add(
                ProgressBar::new(fraction)
                    .desired_width(160.0)
                    .desired_height(10.0)
                    .fill(ctx.theme.accent()),
            )
            .accessible_name("Progress");
            ui.label(format!("{:.0} %", fraction * 100.0));
            if ui.small_button("Cancel").clicked() {
                wishes.push(Wish::Cancel);
            }
            ui.add(egui::Label::new(&work.stage).truncate());
        } else if num_unsent > 0 {
            ui.label(format!("{} for the session", count_of(num_unsent, "wish")));
        } else if ctx.snapshot.work.is_none() {
            ui.weak("Ready");
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            warnings_ui(ctx, state, ui);
            if let Some(trace) = &ctx.snapshot.trace {
                ui.weak(format!(
                    "{}  ·  {}  ·  {}",
                    count_of(trace.ranks().len(), "rank"),
                    count_of(trace.num_executions(), "call"),
                    count_of(trace.messages.len(), "message"),
                ));
            }
        });
    });
}

fn warnings_ui(ctx: &ViewContext<'_>, state: &mut StatusBar, ui: &mut Ui) {
    let Some(trace) = &ctx.snapshot.trace else {
        return;
    };
    if !state
        .summary
        .as_ref()
        .is_some_and(|(known, _)| Arc::ptr_eq(known, trace))
    {
        state.summary = Some((Arc::clone(trace), summarize_warnings(trace)));
    }
    let Some((_, kinds)) = state
        .summary
        .as_ref()
        .filter(|(_, kinds)| !kinds.is_empty())
    else {
        return;
    };
    let total: u64 = kinds.iter().map(|kind| kind.count).sum();
    let text = RichText::new(count_of(total as usize, "warning")).color(ctx.theme.weak_text());
    let button = ui
        .button(text)
        .on_hover_text("What was found wrong with the trace")
        .accessible_name("Warnings");
    Popup::from_toggle_button_response(&button).close_behavior(PopupCloseBehavior::CloseOnClickOutside).width(620.0).show(|ui| {
        ui.set_width(620.0);
        ui.label(RichText::new("Found while reading the trace").strong());
        ui.weak("Nothing was hidden: damaged parts were left out or closed as said here, and all the rest is used.");
        ScrollArea::vertical().max_height(360.0).auto_shrink([false, true]).show(ui, |ui| {
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
            egui::Grid::new("warnings").num_columns(3).striped(true).spacing([16.0, 4.0]).show(ui, |ui| {
                for kind in kinds {
                    ui.label(RichText::new(format!("{:>11}", thousands(kind.count as usize))).monospace());
                    ui.vertical(|ui| {
                        ui.label(kind.kind.to_string());
                        ui.weak(format!("first: {}", kind.first));
                    });
                    ui.weak(if kind.num_ranks > 0 { format!("on {}", count_of(kind.num_ranks, "rank")) } else { String::new() });
                    ui.end_row();
                }
            });
        });
    });
}

fn summarize_warnings(trace: &Trace) -> Vec<WarningSummary> {
    let mut by_kind: BTreeMap<WarningKind, WarningSummary> = BTreeMap::new();
    for warning in trace.warnings.iter() {
        let first = match warning.rank {
            Some(rank) => format!("rank {rank}, {}", warning.first),
            None => warning.first.clone(),
        };
        let summary = by_kind.entry(warning.kind).or_insert(WarningSummary {
            kind: warning.kind,
            count: 0,
            num_ranks: 0,
            first,
        });
        summary.count += warning.count;
        summary.num_ranks += usize::from(warning.rank.is_some());
    }
    by_kind.into_values().collect()
}
