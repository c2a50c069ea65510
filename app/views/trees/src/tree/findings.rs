//! The differences of the tree from usual ones, most important first.

use callgrove_actions::context::ViewContext;
use callgrove_model::{DurationNs, FunctionName, Trace, WeightUnit, thousands};
use callgrove_session::{Difference, DifferenceKind, Explanation, InspectCommand};
use callgrove_widgets::delay::Delay;
use callgrove_widgets::phrases_ui;
use callgrove_widgets::theme::{RADIUS, Theme};
use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align, CursorIcon, Frame, Layout, Pos2, RichText, Role, ScrollArea, Sense, Slider, Stroke, Ui,
    UiBuilder, Vec2, WidgetInfo,
};

use super::outline::{Outline, outline};
use super::sign::{paint_sign, sign_color};
use super::state::{Shown, TreeState};

/// Height of the pane below which the title is left out, in points.
const MIN_TITLE_HEIGHT: f32 = 240.0;
/// Width from which cards show the importance as a bar too, in points.
const BAR_FROM: f32 = 140.0;
/// Help text of the importance.
const IMPORTANCE_HELP: &str =
    "The larger one of the share of the excess time and the rarity of the structure";
/// Maximum number of lines of a folded structure on a card.
const MAX_LINES: usize = 8;
/// Maximum number of lines of an unfolded structure.
const MAX_UNFOLDED: usize = 300;
/// Height of a line of a structure, in points.
const LINE_HEIGHT: f32 = 16.0;
/// Indentation of a level of a structure, in points.
const INDENT: f32 = 14.0;
/// Radius of the discs of structures, in points; all have one size, since their times differ between occurrences.
const DISC: f32 = 4.5;
/// Radius of the sign of a difference, in points.
const SIGN: f32 = 5.0;

/// Draws the threshold and the cards of the differences above it. Returns the index of the hovered finding.
pub(super) fn findings_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut TreeState,
    ui: &mut Ui,
) -> Option<usize> {
    let snapshot = ctx.snapshot;
    let shown = state.shown.as_ref()?;
    if ui.available_height() > MIN_TITLE_HEIGHT {
        ui.label(RichText::new("Differences from usual").strong());
    }
    let is_of_tree = |known: &&Explanation| known.tree == shown.focus.tree;
    let Some(explanation) = snapshot.explanation.as_deref().filter(is_of_tree) else {
        ui.weak("Comparing with usual executions…");
        return None;
    };
    if explanation.findings.is_empty() {
        ui.weak(no_differences_text(explanation));
        return None;
    }
    ui.weak(compared_text(
        shown.focus.analysis.forest.unit(),
        explanation,
    ));
    threshold_ui(&mut state.threshold, explanation, ui);
    let listed = listed(explanation, state.threshold);
    if listed.is_empty() {
        ui.weak("No differences of this importance. Lower the threshold to see more.");
        return None;
    }
    let cards = ScrollArea::vertical()
        .auto_shrink(false)
        .min_scrolled_height(0.0);
    let hovered = cards.show(ui, |ui| {
        let mut hovered = None;
        for at in listed {
            if finding_ui(ctx, state, at, &explanation.findings[at], ui) {
                hovered = Some(at);
            }
            ui.add_space(2.0);
        }
        hovered
    });
    hovered.inner
}

/// Draws one finding; a click pins it and selects its longest call. Returns whether it is hovered.
fn finding_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut TreeState,
    at: usize,
    finding: &Difference,
    ui: &mut Ui,
) -> bool {
    let Some(shown) = &state.shown else {
        return false;
    };
    let is_pinned = state.pinned == Some(at);
    let mut is_unfolded = state.unfolded.contains(&at);
    let root = shown.exec_of(0);
    let delay = state.delay.of(ctx.snapshot, Some(root));
    let delay = delay.filter(|delay| delay.func == Some(finding.func));
    // The card handles clicks beneath its content.
    let card = UiBuilder::new().id_salt(at).sense(Sense::click());
    let card = ui.scope_builder(card, |ui| {
        card_ui(
            ctx,
            (shown, delay),
            finding,
            is_pinned,
            &mut is_unfolded,
            ui,
        );
    });
    let name = short_name(shown, finding);
    let kind = finding.kind.words(shown.focus.analysis.forest.unit());
    let label = format!("{kind}: {name}, importance {:.2}", finding.importance);
    let response = card.response.on_hover_cursor(CursorIcon::PointingHand);
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_pinned, label.as_str()));
    let longest = finding.vertices.first().filter(|_| !is_pinned);
    if response.clicked() {
        let call = longest.map(|&call| shown.exec_of(call as usize));
        state.pinned = (!is_pinned).then_some(at);
        if call.is_some() {
            ctx.send(InspectCommand::Call(call));
        }
    }
    if is_unfolded {
        state.unfolded.insert(at);
    } else {
        state.unfolded.remove(&at);
    }
    response.contains_pointer()
}

/// Returns the indices of the findings of at least this importance.
pub(super) fn listed(explanation: &Explanation, threshold: f64) -> Vec<usize> {
    let findings = explanation.findings.iter().enumerate();
    findings
        .filter(|(_, finding)| finding.importance >= threshold)
        .map(|(at, _)| at)
        .collect()
}

fn threshold_ui(threshold: &mut f64, explanation: &Explanation, ui: &mut Ui) {
    let label = ui.label("Minimum importance");
    ui.horizontal(|ui| {
        ui.spacing_mut().slider_width = (ui.available_width() - 130.0).max(60.0);
        ui.add(Slider::new(threshold, 0.0..=1.0).fixed_decimals(2))
            .labelled_by(label.id);
        let num_listed = listed(explanation, *threshold).len();
        ui.weak(format!("{num_listed} of {}", explanation.findings.len()));
    });
}

fn short_name<'a>(shown: &'a Shown, finding: &Difference) -> &'a str {
    let trace = shown.focus.analysis.forest.trace();
    FunctionName::parse(trace.names.name(finding.func)).short
}

pub(super) fn card_ui(
    ctx: &mut ViewContext<'_>,
    (shown, delay): (&Shown, Option<&Delay>),
    finding: &Difference,
    is_pinned: bool,
    is_unfolded: &mut bool,
    ui: &mut Ui,
) {
    let (theme, forest) = (ctx.theme, &shown.focus.analysis.forest);
    let name = short_name(shown, finding);
    let stroke = if is_pinned {
        Stroke::new(2.0, theme.abnormal())
    } else {
        Stroke::new(1.0, theme.outline())
    };
    let frame = Frame::new()
        .fill(theme.card())
        .stroke(stroke)
        .corner_radius(RADIUS)
        .inner_margin(8);
    frame.show(ui, |ui| {
        ui.style_mut().interaction.selectable_labels = false;
        ui.spacing_mut().item_spacing.y = 3.0;
        ui.set_min_width(ui.available_width());
        ui.horizontal(|ui| {
            let (sign, _) = ui.allocate_exact_size(Vec2::splat(2.0 * SIGN), Sense::hover());
            let color = sign_color(theme, finding.kind);
            paint_sign(ui.painter(), finding.kind, sign.center(), SIGN, color);
            let (dot, _) = ui.allocate_exact_size(Vec2::splat(2.0 * DISC), Sense::hover());
            ui.painter()
                .circle_filled(dot.center(), DISC, theme.function(finding.func));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                importance_bar(theme, finding.importance, ui);
                ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                    ui.add(egui::Label::new(RichText::new(name).strong()).truncate());
                });
            });
        });
        ui.label(difference_text(forest.unit(), finding));
        if let Some(delay) = delay
            && let Some(evidence) = phrases_ui("It", &delay.phrases, ui)
        {
            ctx.show_evidence(forest.trace(), evidence);
        }
        let explanation = ctx.snapshot.explanation.as_ref();
        if explanation.is_none_or(|it| it.num_usual > 0) {
            ui.weak(share_text(forest.unit(), finding));
        }
        ui.add(
            egui::Label::new(RichText::new(path_text(forest.trace(), finding)).weak()).truncate(),
        );
        // If a call is new as a whole, all calls below it are new too.
        let new = finding.vertices.first();
        if let Some(&root) = new.filter(|_| finding.kind == DifferenceKind::New) {
            let (tree, degree) = (shown.tree(), usize::MAX);
            let max_lines = if *is_unfolded {
                MAX_UNFOLDED
            } else {
                MAX_LINES
            };
            let lines = outline(tree, root as usize, degree, max_lines);
            outline_ui(theme, forest.trace(), &lines, ui);
            let text = match lines.num_left_out {
                0 if lines.lines.len() <= MAX_LINES => return,
                0 => "Show fewer".to_owned(),
                num_left_out => format!("and {} more", thousands(num_left_out)),
            };
            if theme.is_for_picture() && lines.num_left_out == 0 {
                return;
            }
            if theme.is_for_picture() || (*is_unfolded && lines.num_left_out > 0) {
                ui.weak(text);
            } else if ui.link(text).clicked() {
                *is_unfolded ^= true;
            }
        }
    });
}

/// Returns why no difference is listed.
pub(super) fn no_differences_text(explanation: &Explanation) -> &'static str {
    if explanation.num_usual == 0 {
        "No call differs from the others"
    } else {
        "No differences from usual executions"
    }
}

/// Returns which trees the tree was compared with.
pub(super) fn compared_text(unit: &WeightUnit, explanation: &Explanation) -> String {
    if explanation.num_usual == 0 {
        return "Its calls are compared with each other: there is no other normal execution"
            .to_owned();
    }
    let trees = format!(
        "{} normal {}",
        thousands(explanation.num_usual),
        unit.trees(explanation.num_usual as u64)
    );
    if explanation.is_same_shape {
        format!("Compared with {trees} of the same structure")
    } else {
        format!("Compared with {trees} of the most similar structure")
    }
}

/// Returns the difference as text.
fn difference_text(unit: &WeightUnit, finding: &Difference) -> String {
    let sign = if finding.excess.0 < 0 { "" } else { "+" };
    let excess = format!("{sign}{}", unit.amount(finding.excess));
    let usual = unit.amount(finding.usual_time);
    let calls = |count: u64| {
        let number = thousands(usize::try_from(count).unwrap_or(usize::MAX));
        format!("{number} {}", unit.vertices(count))
    };
    match finding.kind {
        DifferenceKind::New => format!("New: {}, {excess}", calls(finding.count)),
        DifferenceKind::Missing => {
            format!("Missing: usually {}, {excess}", calls(finding.usual_count))
        }
        DifferenceKind::MoreCalls | DifferenceKind::FewerCalls => {
            let usual_count = thousands(usize::try_from(finding.usual_count).unwrap_or(usize::MAX));
            format!(
                "{} instead of {usual_count}, {excess}",
                calls(finding.count)
            )
        }
        kind @ (DifferenceKind::Longer | DifferenceKind::Shorter) => {
            let excess = unit.amount(DurationNs(finding.excess.0.saturating_abs()));
            format!("{excess} {} than usual ({usual})", kind.words(unit))
        }
    }
}

/// Returns the share of usual trees that have the call.
fn share_text(unit: &WeightUnit, finding: &Difference) -> String {
    let makes_call = unit.of_kind("makes this call", "has this vertex");
    if finding.share <= 0.0 {
        return format!("No normal {} {makes_call}", unit.trees(1));
    }
    if finding.share >= 1.0 {
        return format!("Every normal {} {makes_call}", unit.trees(1));
    }
    let make_call = unit.of_kind("make this call", "have this vertex");
    let percent = 100.0 * finding.share;
    format!("{percent:.0} % of normal {} {make_call}", unit.trees(2))
}

/// Returns the call path, the root first.
fn path_text(trace: &Trace, finding: &Difference) -> String {
    let names = finding
        .path
        .iter()
        .map(|&func| FunctionName::parse(trace.names.name(func)).short);
    names.collect::<Vec<_>>().join(" › ")
}

fn importance_bar(theme: &Theme, importance: f64, ui: &mut Ui) {
    ui.label(RichText::new(format!("{importance:.2}")).small())
        .on_hover_text(IMPORTANCE_HELP);
    // On a narrow card only the number is shown, so that the name fits.
    if ui.available_width() < BAR_FROM {
        return;
    }
    let (rect, response) = ui.allocate_exact_size(Vec2::new(44.0, 8.0), Sense::hover());
    ui.painter().rect_filled(rect, 2.0, theme.grid());
    let filled = rect.with_max_x(rect.left() + rect.width() * importance.clamp(0.0, 1.0) as f32);
    ui.painter().rect_filled(filled, 2.0, theme.abnormal());
    response.on_hover_text(IMPORTANCE_HELP);
}

/// Draws the structure as an outline with lines from callers to callees.
fn outline_ui(theme: &Theme, trace: &Trace, outline: &Outline, ui: &mut Ui) {
    if outline.lines.len() < 2 {
        return;
    }
    let height = outline.lines.len() as f32 * LINE_HEIGHT + 4.0;
    let size = Vec2::new(ui.available_width(), height);
    let (area, _) = ui.allocate_exact_size(size, Sense::hover());
    let painter = ui.painter_at(area);
    let place = |at: usize, depth: usize| {
        area.min
            + Vec2::new(
                DISC + 2.0 + depth as f32 * INDENT,
                4.0 + (at as f32 + 0.5) * LINE_HEIGHT,
            )
    };
    let font = egui::FontId::proportional(12.0);
    let edge = Stroke::new(1.0, theme.normal().gamma_multiply(0.7));
    for (at, line) in outline.lines.iter().enumerate() {
        if let Some(parent) = line.parent {
            let (from, to) = (
                place(parent, outline.lines[parent].depth),
                place(at, line.depth),
            );
            painter.line(vec![from, Pos2::new(from.x, to.y), to], edge);
        }
    }
    for (at, line) in outline.lines.iter().enumerate() {
        let disc = place(at, line.depth);
        painter.circle_filled(disc, DISC, theme.function(line.func));
        let mut text = FunctionName::parse(trace.names.name(line.func))
            .short
            .to_owned();
        if line.num_calls > 1 {
            text.push_str(&format!(" ×{}", thousands(line.num_calls)));
        }
        let left = disc.x + DISC + 5.0;
        let mut job = LayoutJob::simple_singleline(text, font.clone(), theme.text());
        job.wrap = TextWrapping::truncate_at_width((area.right() - left).max(0.0));
        let galley = painter.layout_job(job);
        let at = Pos2::new(left, disc.y - galley.size().y / 2.0);
        painter.galley(at, galley, theme.text());
    }
}

#[cfg(test)]
mod tests {
    use callgrove_model::FuncId;

    use super::*;

    fn finding(kind: DifferenceKind, counts: [u64; 2], times_us: [i64; 2]) -> Difference {
        let [time, usual_time] = times_us.map(DurationNs::from_us);
        Difference {
            kind,
            func: FuncId(0),
            path: vec![FuncId(0)],
            count: counts[0],
            usual_count: counts[1],
            time,
            usual_time,
            excess: time - usual_time,
            share: 0.25,
            importance: 1.0,
            vertices: Vec::new(),
        }
    }

    #[test]
    fn differences_are_described_with_the_usual_value() {
        use DifferenceKind::{FewerCalls, Longer, Missing, MoreCalls, New, Shorter};
        let time = WeightUnit::Time;
        let text =
            |kind, counts, times_us| difference_text(&time, &finding(kind, counts, times_us));
        for (shown, expected) in [
            (
                text(Longer, [1, 1], [38_210, 210]),
                "38 ms longer than usual (210 µs)",
            ),
            (
                text(Shorter, [1, 1], [10, 210]),
                "200 µs shorter than usual (210 µs)",
            ),
            (text(New, [3, 0], [1_500, 0]), "New: 3 calls, +1.5 ms"),
            (
                text(Missing, [0, 1], [0, 40]),
                "Missing: usually 1 call, -40 µs",
            ),
            (
                text(MoreCalls, [6, 3], [14, 7]),
                "6 calls instead of 3, +7 µs",
            ),
            (
                text(FewerCalls, [1, 3], [2, 6]),
                "1 call instead of 3, -4 µs",
            ),
        ] {
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn the_share_of_a_path_is_described() {
        let with = |share| Difference {
            share,
            ..finding(DifferenceKind::New, [1, 0], [1, 0])
        };
        let text = |share| share_text(&WeightUnit::Time, &with(share));
        assert_eq!(text(0.0), "No normal execution makes this call");
        assert_eq!(text(0.25), "25 % of normal executions make this call");
        assert_eq!(text(1.0), "Every normal execution makes this call");
    }

    #[test]
    fn weights_that_are_not_times_are_not_called_long() {
        use DifferenceKind::{Longer, MoreCalls, New, Shorter};
        let votes = WeightUnit::Other("votes".to_owned());
        let text = |kind, counts, times_us| {
            let finding = finding(kind, counts, times_us);
            let share = share_text(&votes, &finding);
            format!("{}; {share}", difference_text(&votes, &finding))
        };
        for (shown, expected) in [
            (
                text(Longer, [1, 1], [38_210, 210]),
                "38,000 votes heavier than usual (210 votes); 25 % of normal trees have this vertex",
            ),
            (
                text(Shorter, [1, 1], [10, 210]),
                "200 votes lighter than usual (210 votes); 25 % of normal trees have this vertex",
            ),
            (
                text(New, [3, 0], [1_500, 0]),
                "New: 3 vertices, +1,500 votes; 25 % of normal trees have this vertex",
            ),
            (
                text(MoreCalls, [6, 3], [14, 7]),
                "6 vertices instead of 3, +7 votes; 25 % of normal trees have this vertex",
            ),
        ] {
            assert_eq!(shown, expected);
        }
    }
}
