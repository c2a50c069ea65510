//! The cause of the delay of the selected call or tree, with links to the evidence.

use callgrove_actions::context::ViewContext;
use callgrove_model::count_of;
use callgrove_model::{FunctionName, Trace};
use callgrove_session::{DelayRole, InspectCommand, Snapshot};
use callgrove_widgets::delay::{Delay, KnownDelay, commands_to_show_incident, root_of_tree};
use callgrove_widgets::{SIGN_WIDTH, paint_role, phrases_ui};
use egui::{Link, RichText, Sense, Ui, Vec2};

/// Maximum number of listed steps of the path to a root.
const MAX_STEPS: usize = 6;

/// The latest results, for the call and for the tree.
#[derive(Default)]
pub(super) struct DelayState {
    call: KnownDelay,
    tree: KnownDelay,
}

/// Draws the cause of the delay of the selected call, or else of the focused tree; nothing if it was on time.
pub(super) fn delay_ui(ctx: &mut ViewContext<'_>, state: &mut DelayState, ui: &mut Ui) {
    let snapshot = ctx.snapshot;
    let tree = root_of_tree(snapshot, snapshot.focus());
    let of_call = state.call.of(snapshot, snapshot.inspected.call);
    let delay = of_call.or_else(|| state.tree.of(snapshot, tree));
    let (Some(delay), Some(trace)) = (delay, snapshot.trace()) else {
        return;
    };
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 2.0;
        let (sign, _) = ui.allocate_exact_size(Vec2::splat(SIGN_WIDTH), Sense::hover());
        let (role, color) = (delay.cause.role, ctx.theme.role(delay.cause.role));
        paint_role(ui.painter(), role, sign.center(), 5.0, color);
        ui.label(RichText::new(role_title(role)).strong().color(color));
        incident_ui(ctx, delay, ui);
    });
    let subject = subject(snapshot, trace, delay);
    if let Some(evidence) = phrases_ui(&subject, &delay.phrases, ui) {
        ctx.show_evidence(trace, evidence);
    }
    steps_ui(ctx, trace, delay, ui);
    ui.separator();
}

fn role_title(role: DelayRole) -> &'static str {
    match role {
        DelayRole::Root => "Root: delayed itself",
        DelayRole::Victim => "Victim: delayed",
        DelayRole::Undecided => "Delayed, cause unknown",
        DelayRole::OnTime => "On time",
    }
}

/// Returns the code of the tree, or function and rank of the call.
fn subject(snapshot: &Snapshot, trace: &Trace, delay: &Delay) -> String {
    let tree = snapshot
        .focus()
        .filter(|_| snapshot.inspected.call != Some(delay.times.call));
    if let (Some(tree), Some(analysis)) = (tree, snapshot.analysis()) {
        return analysis.forest.code(tree).to_string();
    }
    let name = FunctionName::parse(trace.names.name(delay.times.func)).short;
    format!("{name} on rank {}", trace.lane(delay.times.call.lane).rank)
}

/// Draws a link to the incident.
fn incident_ui(ctx: &mut ViewContext<'_>, delay: &Delay, ui: &mut Ui) {
    let snapshot = ctx.snapshot;
    let Some((number, incident)) = delay.cause.incident.and_then(|number| {
        let incident = snapshot.causes()?.incident(number)?;
        Some((number, incident))
    }) else {
        return;
    };
    let ranks = count_of(incident.ranks.len(), "rank");
    let text = format!(
        "incident {}: {} lost on {ranks}",
        number + 1,
        incident.delay
    );
    ui.label("·");
    let link = ui.add(Link::new(text)).on_hover_text("Show the incident");
    if link.clicked() {
        for command in commands_to_show_incident(snapshot, number) {
            ctx.send(command);
        }
    }
}

/// Draws the path to the root, if it has more than one step.
fn steps_ui(ctx: &mut ViewContext<'_>, trace: &Trace, delay: &Delay, ui: &mut Ui) {
    let hops = &delay.cause.hops;
    if hops.len() < 2 {
        return;
    }
    for (hop, func) in hops.iter().zip(&delay.funcs).take(MAX_STEPS) {
        let name = FunctionName::parse(trace.names.name(*func)).short;
        let kind = hop.kind.to_string().replace('_', " ");
        let text = format!(
            "rank {} waited {} in {name} for rank {} ({kind})",
            hop.rank, hop.handed_on, hop.peer_rank
        );
        let link = ui.add(Link::new(RichText::new(text).small()));
        if link.on_hover_text("Show this call").clicked() {
            ctx.send(InspectCommand::Call(Some(hop.call)));
        }
    }
    if hops.len() > MAX_STEPS {
        let more = count_of(hops.len() - MAX_STEPS, "more step");
        ui.label(RichText::new(more).small().weak());
    }
}
