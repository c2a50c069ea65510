//! The card of one candidate.

use std::sync::Arc;

use callgrove_actions::context::ViewContext;
use callgrove_model::{TreeIdx, thousands};
use callgrove_session::{
    Analysis, Cause, DelayRole, Detection, Selection, design_text, rareness_text,
};
use callgrove_widgets::delay::role_of_tree;
use callgrove_widgets::hover;
use callgrove_widgets::text::{author_text, cause_text, design_note, held_text};
use callgrove_widgets::theme::RADIUS;
use callgrove_widgets::{SIGN_WIDTH, label_buttons, paint_role, score_text};
use egui::{
    Align2, Color32, FontId, Painter, Pos2, Rect, Role, Sense, Stroke, StrokeKind, Ui, UiBuilder,
    WidgetInfo, vec2,
};

use super::mini_tree;
use super::state::CandidatesState;

/// Height of a card, in points.
pub(super) const CARD_HEIGHT: f32 = 96.0;
/// Width of the text column; the structure has the rest, in points.
const TEXT_WIDTH: f32 = 190.0;
/// Minimum width of the structure, in points; below it, the structure is left out.
const MIN_STRUCTURE: f32 = 72.0;

/// Draws a card and handles clicks on it and its buttons.
pub(super) fn card_ui(
    ctx: &mut ViewContext<'_>,
    analysis: &Arc<Analysis>,
    state: &mut CandidatesState,
    tree: TreeIdx,
    rect: Rect,
    ui: &mut Ui,
) {
    let response = ui.interact(
        rect,
        ui.scope_id().with(("candidate", tree.0)),
        Sense::click(),
    );
    let code = analysis.forest.code(tree).to_string();
    let is_focused = ctx.snapshot.focus() == Some(tree);
    let role = role_of_tree(ctx.snapshot, tree);
    let design = ctx.snapshot.by_design(tree).map(design_text);
    response.widget_info(|| {
        WidgetInfo::selected(
            Role::ListItem,
            true,
            is_focused,
            [
                Some(format!("Candidate {code}")),
                tag(ctx, tree).map(str::to_owned),
                design.clone(),
                role.as_ref().map(|(_, text)| text.clone()),
            ]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(", "),
        )
    });
    if response.clicked() {
        ctx.select(tree);
    }
    let why = cause_text(ctx.snapshot, tree).or_else(|| design_note(ctx.snapshot, tree));
    if let Some(text) = why.or_else(|| held_text(ctx.snapshot, tree)) {
        response.clone().on_hover_text(text);
    }
    if response.hovered()
        && let Some(text) = author_text(ctx.snapshot, tree)
    {
        response.clone().on_hover_text(text);
    }
    if role.is_some() {
        response.clone().on_hover_ui(|ui| {
            if let Some(words) = ctx.snapshot.cause_sentence(tree) {
                ui.label(format!("{code} {words}"));
            }
        });
    }
    if response.contains_pointer() {
        hover::set(ui.ctx(), tree);
    }
    let stroke = match () {
        () if is_focused => Stroke::new(2.0, ctx.theme.selection()),
        () if hover::get(ui.ctx()) == Some(tree) => Stroke::new(1.0, ctx.theme.weak_text()),
        () => Stroke::new(1.0, ctx.theme.outline()),
    };
    paint_frame(ctx, tree, rect, is_focused, stroke, ui);
    let right_of_head = paint_texts(ctx, analysis, tree, &code, rect, ui);
    let area = rect.with_min_x(right_of_head);
    let top = if role_ui(ctx, (role, design), area, ui) {
        26.0
    } else {
        4.0
    };
    let structure = Rect::from_min_max(rect.min + vec2(TEXT_WIDTH, top), rect.max - vec2(4.0, 4.0));
    if structure.width() >= MIN_STRUCTURE {
        let minis = state.minis.get(ctx.snapshot, tree);
        let median = analysis.median_duration;
        mini_tree::paint(ui.painter(), structure, minis, median, ctx.theme);
    }
    buttons_ui(ctx, state, (tree, &code), rect, ui);
}

/// Draws the role of the tree in a delay, or why it is rare by design. Returns whether there is either.
fn role_ui(
    ctx: &ViewContext<'_>,
    (role, design): (Option<(DelayRole, String)>, Option<String>),
    area: Rect,
    ui: &Ui,
) -> bool {
    if let Some((role, text)) = role {
        let color = ctx.theme.role(role);
        let sign = |painter: &Painter, at: Pos2| paint_role(painter, role, at, 4.5, color);
        paint_role_text(color, text, sign, area, ui);
    } else if let Some(words) = design {
        let color = ctx.theme.weak_text();
        let sign = |painter: &Painter, at: Pos2| paint_regular(painter, at, color);
        paint_role_text(color, words, sign, area, ui);
    } else {
        return false;
    }
    true
}

/// Draws the buttons that label it.
fn buttons_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut CandidatesState,
    (tree, code): (TreeIdx, &str),
    rect: Rect,
    ui: &mut Ui,
) {
    let buttons = Rect::from_min_size(
        rect.left_bottom() + vec2(12.0, -30.0),
        vec2(TEXT_WIDTH, 22.0),
    );
    ui.scope_builder(
        UiBuilder::new()
            .max_rect(buttons)
            .id_salt(("buttons", tree.0)),
        |ui| {
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 4.0;
                ui.spacing_mut().button_padding.x = 6.0;
                let on = (ctx.snapshot.label(tree), ctx.snapshot.label_author(tree));
                if let Some(label) = label_buttons(ctx.theme, on, code, ui) {
                    for command in state.press_label(ctx.snapshot, tree, label) {
                        ctx.send(command);
                    }
                }
            });
        },
    );
}

fn paint_frame(
    ctx: &ViewContext<'_>,
    tree: TreeIdx,
    rect: Rect,
    is_focused: bool,
    stroke: Stroke,
    ui: &Ui,
) {
    let theme = ctx.theme;
    let in_group = matches!(&ctx.snapshot.selection, Selection::Group(group) if group.binary_search(&tree).is_ok());
    let fill = if is_focused || in_group {
        theme.card_focused()
    } else {
        theme.card()
    };
    ui.painter()
        .rect(rect, RADIUS, fill, stroke, StrokeKind::Inside);
    let is_abnormal = ctx
        .snapshot
        .detection()
        .is_some_and(|detection| detection.is_abnormal(tree));
    let bar = Rect::from_min_size(rect.min + vec2(3.0, 6.0), vec2(3.0, rect.height() - 12.0));
    let color = if is_abnormal {
        theme.abnormal()
    } else {
        theme.outline()
    };
    ui.painter().rect_filled(bar, 1.5, color);
}

/// Paints the role of the tree in the delays of the run, or why it is rare by design, at the right of the first line;
/// only the sign if the text does not fit.
fn paint_role_text(
    color: Color32,
    text: String,
    sign_at: impl FnOnce(&Painter, Pos2),
    area: Rect,
    ui: &Ui,
) {
    let painter = ui.painter_at(area.intersect(ui.clip_rect()));
    let galley = painter.layout_no_wrap(text, FontId::proportional(12.0), color);
    let width = galley.size().x;
    let fits = width + SIGN_WIDTH + 20.0 <= area.width();
    let right = area.right() - 8.0 - if fits { width } else { 0.0 };
    let y = area.top() + 18.0;
    let sign = Pos2::new(right - SIGN_WIDTH / 2.0 - 2.0, y);
    sign_at(&painter, sign);
    if fits {
        let at = Pos2::new(right, y - galley.size().y / 2.0);
        painter.galley(at, galley, color);
    }
}

/// Paints three equidistant dots: the sign of a regular repetition.
fn paint_regular(painter: &Painter, centre: Pos2, color: Color32) {
    for x in [-4.5, 0.0, 4.5] {
        painter.circle_filled(centre + vec2(x, 0.0), 1.7, color);
    }
}

/// Paints rank and code, duration, and score. Returns the right end of the first line.
fn paint_texts(
    ctx: &ViewContext<'_>,
    analysis: &Analysis,
    tree: TreeIdx,
    code: &str,
    rect: Rect,
    ui: &Ui,
) -> f32 {
    let Some(detection) = ctx.snapshot.detection() else {
        return rect.left();
    };
    let theme = ctx.theme;
    let painter = ui.painter_at(rect.shrink(2.0).intersect(ui.clip_rect()));
    let left = rect.min + vec2(14.0, 0.0);
    let place = detection.place[tree.index()];
    let code = painter.text(
        left + vec2(0.0, 9.0),
        Align2::LEFT_TOP,
        code,
        FontId::monospace(15.0),
        theme.text(),
    );
    let place_text = format!("no. {}", thousands(place as usize + 1));
    let after_code = code.right_top() + vec2(8.0, 3.0);
    let mut shown = painter.text(
        after_code,
        Align2::LEFT_TOP,
        place_text,
        FontId::proportional(12.0),
        theme.weak_text(),
    );
    let before = detection
        .change
        .as_ref()
        .and_then(|change| change.place_before.get(tree.index()));
    if let Some(&before) = before.filter(|&&before| before != place) {
        let (sign, by) = if before > place {
            ("▲", before - place)
        } else {
            ("▼", place - before)
        };
        let text = format!("{sign}{}", thousands(by as usize));
        shown = painter.text(
            shown.right_top() + vec2(6.0, 0.0),
            Align2::LEFT_TOP,
            text,
            FontId::proportional(12.0),
            theme.text(),
        );
    }
    let duration = analysis.forest.tree(tree).duration();
    let text = format!(
        "{} · {}",
        analysis.forest.unit().amount(duration),
        ratio_text(duration.0 as f64 / (analysis.median_duration.0 as f64).max(1.0))
    );
    painter.text(
        left + vec2(0.0, 29.0),
        Align2::LEFT_TOP,
        text,
        FontId::proportional(13.0),
        theme.text(),
    );
    let score = painter.text(
        left + vec2(0.0, 46.0),
        Align2::LEFT_TOP,
        rareness(detection, tree),
        FontId::proportional(12.0),
        theme.weak_text(),
    );
    if let Some(tag) = tag(ctx, tree) {
        painter.text(
            score.right_top() + vec2(6.0, 0.0),
            Align2::LEFT_TOP,
            format!("· {tag}"),
            FontId::proportional(12.0),
            theme.text(),
        );
    }
    shown.right()
}

/// Returns a tag of an execution in addition to its score: a known cause, that it is by design, or a held label.
fn tag(ctx: &ViewContext<'_>, tree: TreeIdx) -> Option<&'static str> {
    let held = ctx
        .snapshot
        .label(tree)
        .filter(|_| ctx.snapshot.is_held(tree));
    let cause = ctx.snapshot.cause(tree).map(Cause::name);
    let design = ctx.snapshot.by_design(tree).map(|_| "by design");
    cause.or(design).or(held.map(|_| "held"))
}

/// Returns the rarity of an execution among normal ones, and the score.
fn rareness(detection: &Detection, tree: TreeIdx) -> String {
    let score = score_text(detection.scores[tree.index()]);
    match detection.p_value(tree) {
        Some(p_value) => {
            let rare = rareness_text(p_value, detection.scores.len());
            format!("{rare} · score {score}")
        }
        None => format!("score {score}"),
    }
}

/// Formats a duration relative to the median of all executions.
fn ratio_text(ratio: f64) -> String {
    match ratio {
        0.0..9.95 => format!("{ratio:.1}× median"),
        _ => format!("{}× median", thousands(ratio.round() as usize)),
    }
}
