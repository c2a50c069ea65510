//! The status bar: running work, and problems of the trace.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_actions::Action;
use callgrove_actions::context::ViewContext;
use callgrove_model::{WarningKind, count_of, thousands};
use callgrove_session::{Calls, Work};
use egui::{Align, Layout, Popup, PopupCloseBehavior, ProgressBar, RichText, ScrollArea, Ui};

use super::needs_start;
use super::viewers::{NameDraft, viewers_ui};

/// Preferred width of the list of warnings, in points.
const LIST_WIDTH: f32 = 620.0;

/// The problems of the trace, looked up once, and the name while it is edited.
#[derive(Default)]
pub(crate) struct StatusBar {
    problems: Option<TraceProblems>,
    name: NameDraft,
}

struct TraceProblems {
    calls: Arc<Calls>,
    damage: Vec<Damage>,
    /// Conventions of the tracer, as text.
    notes: Vec<String>,
}

/// One kind of damage over all ranks.
struct Damage {
    kind: WarningKind,
    count: u64,
    num_ranks: usize,
    first: String,
}

/// Draws the bar. `num_unsent` commands have not been sent to the session; `export` is the file that is being made.
pub(crate) fn status_bar_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut StatusBar,
    (num_unsent, export): (usize, Option<&Work>),
    ui: &mut Ui,
) {
    ui.horizontal_centered(|ui| {
        let work = ctx
            .snapshot
            .work
            .as_ref()
            .filter(|_| !needs_start(ctx.snapshot));
        let cancel = if work.is_some() {
            Action::Cancel
        } else {
            Action::CancelExport
        };
        if let Some(work) = work.or(export) {
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
                ctx.actions.push(cancel);
            }
            ui.add(egui::Label::new(&work.stage).truncate());
        } else if num_unsent > 0 {
            ui.label(format!("{} not sent yet", count_of(num_unsent, "change")));
        } else if ctx.snapshot.work.is_none() {
            ui.weak("Ready");
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            viewers_ui(ctx, &mut state.name, ui);
            warnings_ui(ctx, state, ui);
            if let Some(calls) = ctx.snapshot.calls() {
                let (unit, num_calls) = (&calls.trace().unit, calls.num_calls());
                let vertices = format!(
                    "{} {}",
                    thousands(num_calls),
                    unit.vertices(num_calls as u64)
                );
                ui.weak(format!(
                    "{}  ·  {}  ·  {}",
                    count_of(calls.trace().ranks().len(), "rank"),
                    vertices,
                    count_of(calls.num_messages(), "message"),
                ));
            }
        });
    });
}

/// Draws the button with the number of warnings or notes, and the list that it opens.
fn warnings_ui(ctx: &ViewContext<'_>, state: &mut StatusBar, ui: &mut Ui) {
    let Some(calls) = ctx.snapshot.calls() else {
        return;
    };
    let is_known = |problems: &TraceProblems| Arc::ptr_eq(&problems.calls, calls);
    if !state.problems.as_ref().is_some_and(is_known) {
        state.problems = Some(TraceProblems::of(calls));
    }
    let Some(TraceProblems { damage, notes, .. }) = &state.problems else {
        return;
    };
    let total: u64 = damage.iter().map(|kind| kind.count).sum();
    let (text, name) = match (total, notes.len()) {
        (0, 0) => return,
        (0, num_notes) => (count_of(num_notes, "note"), "Notes"),
        (total, _) => (count_of(total as usize, "warning"), "Warnings"),
    };
    let button = ui
        .button(RichText::new(text).color(ctx.theme.weak_text()))
        .on_hover_text("Problems found while reading the trace")
        .accessible_name(name);
    Popup::from_toggle_button_response(&button)
        .close_behavior(PopupCloseBehavior::CloseOnClickOutside)
        .show(|ui| {
            ui.set_width(LIST_WIDTH.min(ui.ctx().content_rect().width() - 32.0));
            ui.label(RichText::new("Found while reading the trace").strong());
            if !damage.is_empty() {
                ui.weak(
                    "Damaged parts were left out or closed as listed here. All other data is \
                     used.",
                );
                damage_ui(damage, ui);
            }
            for note in notes {
                ui.label(format!("Note: {note}."));
            }
        });
}

fn damage_ui(damage: &[Damage], ui: &mut Ui) {
    ScrollArea::both()
        .max_height(360.0)
        .auto_shrink([false, true])
        .show(ui, |ui| {
            ui.style_mut().wrap_mode = Some(egui::TextWrapMode::Extend);
            egui::Grid::new("warnings")
                .num_columns(3)
                .striped(true)
                .spacing([16.0, 4.0])
                .show(ui, |ui| {
                    for kind in damage {
                        let count = format!("{:>11}", thousands(kind.count as usize));
                        ui.label(RichText::new(count).monospace());
                        ui.vertical(|ui| {
                            ui.label(kind.kind.to_string());
                            ui.weak(format!("first: {}", kind.first));
                        });
                        ui.weak(match kind.num_ranks {
                            0 => String::new(),
                            num_ranks => format!("on {}", count_of(num_ranks, "rank")),
                        });
                        ui.end_row();
                    }
                });
        });
}

impl TraceProblems {
    fn of(calls: &Arc<Calls>) -> Self {
        let trace = calls.trace();
        let start = calls.time_span().map(|(start, _)| start);
        let mut by_kind: BTreeMap<WarningKind, Damage> = BTreeMap::new();
        for warning in trace.warnings.damage() {
            let first = warning.first.since(start);
            let damage = by_kind.entry(warning.kind).or_insert_with(|| Damage {
                kind: warning.kind,
                count: 0,
                num_ranks: 0,
                first: match warning.rank {
                    Some(rank) => format!("rank {rank}, {first}"),
                    None => first,
                },
            });
            damage.count += warning.count;
            damage.num_ranks += usize::from(warning.rank.is_some());
        }
        let notes = trace.warnings.notes().into_iter();
        let notes = notes.map(|(kind, count)| format!("{kind} ({})", count_of(count, "time")));
        Self {
            calls: Arc::clone(calls),
            damage: by_kind.into_values().collect(),
            notes: notes.collect(),
        }
    }
}
