//! The subtrees that make the tree unlike its neighbours, most important first.

use callgrove_model::{DurationNs, FunctionName, Trace};
use callgrove_session::{Command, Explanation, Finding};
use egui::text::{LayoutJob, TextWrapping};
use egui::{
    Align, CursorIcon, Frame, Layout, Pos2, RichText, Role, ScrollArea, Sense, Slider, Stroke, Ui,
    UiBuilder, Vec2, WidgetInfo,
};

use super::outline::{Outline, outline};
use super::state::{Shown, TreeState};
use crate::context::ViewContext;
use crate::theme::{RADIUS, Theme};
use crate::widgets::{count_of, thousands};

/// A lower pane, in points, has no room for a title above the list.
const ROOM_FOR_TITLE: f32 = 240.0;
/// Cards from this width on show the importance as a bar too.
const BAR_FROM: f32 = 140.0;
const IMPORTANCE_HELP: &str = "Share in what makes this tree unlike its neighbours";
/// Lines of a structure drawn on a card at first.
const MAX_LINES: usize = 8;
/// Lines drawn when the person wants all: as many as anybody reads.
const MAX_UNFOLDED: usize = 300;
const LINE_HEIGHT: f32 = 16.0;
const INDENT: f32 = 14.0;
/// The discs of structures have one size: their times differ from place to place.
const DISC: f32 = 4.5;

/// Draws the threshold and the cards of the subtrees above it. The answer is the finding that the
/// pointer is on, by its place among the findings.
pub(super) fn findings_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut TreeState,
    ui: &mut Ui,
) -> Option<usize> {
    let snapshot = ctx.snapshot;
    let shown = state.shown.as_ref()?;
    if ui.available_height() > ROOM_FOR_TITLE {
        ui.label(RichText::new("Unusual subtrees").strong());
    }
    let is_of_tree = |known: &&Explanation| known.tree == shown.focus.tree;
    let Some(explanation) = snapshot.explanation.as_deref().filter(is_of_tree) else {
        ui.weak("Comparing with neighbours…");
        return None;
    };
    if explanation.findings.is_empty() {
        ui.weak("No subtree stands out");
        return None;
    }
    threshold_ui(&mut state.threshold, explanation, ui);
    let listed = listed(explanation, state.threshold);
    if listed.is_empty() {
        ui.weak("No subtree is that important. Lower the threshold to see more.");
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

/// One finding: a click pins it and selects its longest call. Whether the pointer is on it.
fn finding_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut TreeState,
    at: usize,
    finding: &Finding,
    ui: &mut Ui,
) -> bool {
    let Some(shown) = &state.shown else {
        return false;
    };
    let is_pinned = state.pinned == Some(at);
    let mut is_unfolded = state.unfolded.contains(&at);
    // The card takes clicks below what is on it.
    let card = UiBuilder::new().id_salt(at).sense(Sense::click());
    let card = ui.scope_builder(card, |ui| {
        card_ui(ctx.theme, shown, finding, is_pinned, &mut is_unfolded, ui);
    });
    let name = short_name(shown, finding);
    let label = format!("Subtree {name}, importance {:.2}", finding.importance);
    let response = card.response.on_hover_cursor(CursorIcon::PointingHand);
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_pinned, label.as_str()));
    let longest = finding.vertices.first().filter(|_| !is_pinned);
    if response.clicked() {
        let call = longest.map(|&call| shown.exec_of(call as usize));
        state.pinned = (!is_pinned).then_some(at);
        if call.is_some() {
            ctx.send(Command::SelectCall(call));
        }
    }
    if is_unfolded {
        state.unfolded.insert(at);
    } else {
        state.unfolded.remove(&at);
    }
    response.contains_pointer()
}

/// Findings of at least this importance, by their place among all.
pub(super) fn listed(explanation: &Explanation, threshold: f64) -> Vec<usize> {
    let findings = explanation.findings.iter().enumerate();
    findings
        .filter(|(_, finding)| finding.importance >= threshold)
        .map(|(at, _)| at)
        .collect()
}

fn threshold_ui(threshold: &mut f64, explanation: &Explanation, ui: &mut Ui) {
    let label = ui.label("Show subtrees with importance ≥");
    ui.horizontal(|ui| {
        ui.spacing_mut().slider_width = (ui.available_width() - 130.0).max(60.0);
        ui.add(Slider::new(threshold, 0.0..=1.0).fixed_decimals(2))
            .labelled_by(label.id);
        let num_listed = listed(explanation, *threshold).len();
        ui.weak(format!("{num_listed} of {}", explanation.findings.len()));
    });
}

fn short_name<'a>(shown: &'a Shown, finding: &Finding) -> &'a str {
    let trace = shown.focus.analysis.forest.trace();
    FunctionName::parse(trace.names.name(finding.func)).short
}

fn card_ui(
    theme: &Theme,
    shown: &Shown,
    finding: &Finding,
    is_pinned: bool,
    is_unfolded: &mut bool,
    ui: &mut Ui,
) {
    let forest = &shown.focus.analysis.forest;
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
        ui.label(times_text(finding.time, finding.usual_time));
        ui.weak(places_text(finding, forest.len()));
        if let Some(&root) = finding.vertices.first() {
            let (tree, degree) = (shown.focus.cs_tree(), finding.degree as usize);
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
            if *is_unfolded && lines.num_left_out > 0 {
                ui.weak(text);
            } else if ui.link(text).clicked() {
                *is_unfolded ^= true;
            }
        }
    });
}

/// The time, what is usual, and how they compare.
fn times_text(time: DurationNs, usual: DurationNs) -> String {
    if usual.0 <= 0 {
        return format!("{time}, usually none");
    }
    let factor = time.0 as f64 / usual.0 as f64;
    let decimals = usize::from((0.095..9.95).contains(&factor));
    if factor < 0.095 {
        return format!("{time}, usually {usual}");
    }
    format!("{time}, usually {usual} (×{factor:.decimals$})")
}

/// How often the structure occurs, here and elsewhere.
fn places_text(finding: &Finding, num_trees: usize) -> String {
    let places = count_of(finding.vertices.len(), "time");
    let places = if finding.vertices.len() == 1 {
        "Once".to_owned()
    } else {
        places
    };
    match finding.num_trees {
        1 => format!("{places} here, in no other tree"),
        others => format!(
            "{places} here, in {} of {} trees",
            thousands(others),
            thousands(num_trees)
        ),
    }
}

fn importance_bar(theme: &Theme, importance: f64, ui: &mut Ui) {
    ui.label(RichText::new(format!("{importance:.2}")).small())
        .on_hover_text(IMPORTANCE_HELP);
    // On a narrow card the name needs the room; the number says it all.
    if ui.available_width() < BAR_FROM {
        return;
    }
    let (rect, response) = ui.allocate_exact_size(Vec2::new(44.0, 8.0), Sense::hover());
    ui.painter().rect_filled(rect, 2.0, theme.grid());
    let filled = rect.with_max_x(rect.left() + rect.width() * importance.clamp(0.0, 1.0) as f32);
    ui.painter().rect_filled(filled, 2.0, theme.abnormal());
    response.on_hover_text(IMPORTANCE_HELP);
}

/// The structure as an outline with lines from callers to what they call.
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
    use super::*;

    #[test]
    fn times_are_compared_with_what_is_usual() {
        let text = |time, usual| times_text(DurationNs(time), DurationNs(usual));
        assert_eq!(text(38_200_000, 210_000), "38.2 ms, usually 210 µs (×182)");
        assert_eq!(text(3_000, 2_000), "3 µs, usually 2 µs (×1.5)");
        assert_eq!(text(1_000, 2_000_000), "1 µs, usually 2 ms");
        assert_eq!(text(1_000, 0), "1 µs, usually none");
    }

    #[test]
    fn occurrences_are_told_here_and_elsewhere() {
        let finding = |vertices: &[u32], num_trees| Finding {
            vertices: vertices.to_vec(),
            degree: 1,
            func: callgrove_model::FuncId(0),
            importance: 1.0,
            time: DurationNs(1),
            usual_time: DurationNs(1),
            num_trees,
        };
        assert_eq!(
            places_text(&finding(&[1], 1), 5_792),
            "Once here, in no other tree"
        );
        assert_eq!(
            places_text(&finding(&[1, 2], 1_034), 5_792),
            "2 times here, in 1,034 of 5,792 trees"
        );
    }
}
