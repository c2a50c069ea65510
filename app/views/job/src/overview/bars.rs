//! Ranks and functions as bars, in the order that the user selects.

use callgrove_actions::context::ViewContext;
use callgrove_watch::{
    Measure, Ranked, RankedEnd, Ranking, Scope, Statistic, ranked_funcs, ranked_ranks,
};
use callgrove_widgets::table::{empty_ui, search_ui};
use callgrove_widgets::text::{self, short_name};
use callgrove_widgets::theme::RADIUS;
use callgrove_widgets::{in_picture, view_header};
use egui::{Align2, ComboBox, FontId, Pos2, Rect, Role, ScrollArea, Sense, Ui, Vec2, WidgetInfo};

use super::blocks::listed_ui;

/// Height of a row, in points.
const ROW_HEIGHT: f32 = 22.0;
/// Width of the value next to a bar, in points.
const VALUE_WIDTH: f32 = 84.0;

/// Width of the buttons that choose the end of the order, in points.
const ENDS_WIDTH: f32 = 150.0;

/// The compared measures of ranks and functions.
#[derive(Default)]
pub(crate) struct BarsState {
    ranks: Ranking,
    funcs: Ranking,
    wants_focus: bool,
}

/// One bar.
struct Bar {
    name: String,
    full_name: String,
    value: f64,
    focus: Scope,
    is_focused: bool,
    color: egui::Color32,
}

impl BarsState {
    pub(crate) fn begin_search(&mut self) {
        self.wants_focus = true;
    }
}

/// Draws functions above ranks.
pub(crate) fn bars_ui(ctx: &mut ViewContext<'_>, state: &mut BarsState, ui: &mut Ui) {
    let height = ui.available_height() / 2.0;
    ui.push_id("functions", |ui| {
        ui.set_height(height);
        view_header(ui, "Functions", |ui| {
            search_ui(
                &mut state.funcs.search,
                &mut state.wants_focus,
                "Find a function",
                ui,
            );
        });
        choices_ui(&mut state.funcs, &Measure::OF_FUNCS, "functions", ui);
        let overview = ctx.snapshot.watch.overview();
        let ranked = ranked_funcs(overview, &state.funcs);
        let bar = |ctx: &ViewContext<'_>, ranked: &Ranked| {
            let func = &ctx.snapshot.watch.overview().funcs[ranked.index];
            let key = Some((func.app, func.fid));
            Bar {
                name: short_name(&func.name).to_owned(),
                full_name: func.name.clone(),
                value: ranked.value,
                focus: Scope {
                    func: key,
                    ..Scope::default()
                },
                is_focused: ctx.scope().func == key,
                color: ctx.color_of(&func.name),
            }
        };
        list_ui(ctx, &state.funcs, &ranked, bar, ui);
    });
    ui.push_id("ranks", |ui| {
        view_header(ui, "Ranks", |ui| {
            search_ui(&mut state.ranks.search, &mut false, "Find a rank", ui);
        });
        choices_ui(&mut state.ranks, &Measure::OF_RANKS, "ranks", ui);
        listed_ui(ctx, &state.ranks.search, ui);
        let Some(overview) = ctx.snapshot.watch.shown_ranks() else {
            return empty_ui("Waiting for the ranks of this block", ui);
        };
        let ranked = ranked_ranks(overview, &state.ranks);
        let bar = |ctx: &ViewContext<'_>, ranked: &Ranked| {
            let rank = &overview.ranks[ranked.index];
            let key = Some((rank.app, rank.rank));
            let name = ctx.rank_name(rank.app, rank.rank);
            Bar {
                full_name: name.clone(),
                name,
                value: ranked.value,
                focus: Scope {
                    rank: key,
                    ..Scope::default()
                },
                is_focused: ctx.scope().rank == key,
                color: ctx.theme.normal(),
            }
        };
        list_ui(ctx, &state.ranks, &ranked, bar, ui);
    });
}

/// Draws the choice of measure, statistic and end of the order.
fn choices_ui(ranking: &mut Ranking, measures: &[Measure], of: &str, ui: &mut Ui) {
    if in_picture(ui) {
        let (measure, statistic) = (ranking.measure.name(), ranking.statistic.name());
        let order = match ranking.end {
            RankedEnd::Top => "largest first",
            RankedEnd::Bottom => "smallest first",
        };
        ui.weak(format!("{measure}, {statistic}, {order}"));
        return;
    }
    let available = (ui.available_width() - ENDS_WIDTH).max(120.0);
    ui.horizontal(|ui| {
        ComboBox::from_id_salt(("measure", of))
            .selected_text(ranking.measure.name())
            .width((available * 0.6).min(130.0))
            .show_ui(ui, |ui| {
                for measure in measures {
                    ui.selectable_value(&mut ranking.measure, *measure, measure.name());
                }
            })
            .response
            .accessible_name(format!("Measure of {of}"));
        ComboBox::from_id_salt(("statistic", of))
            .selected_text(ranking.statistic.name())
            .width((available * 0.4).min(80.0))
            .show_ui(ui, |ui| {
                for statistic in Statistic::ALL {
                    ui.selectable_value(&mut ranking.statistic, statistic, statistic.name());
                }
            })
            .response
            .accessible_name(format!("Statistic of {of}"));
        for (end, name) in [(RankedEnd::Top, "Top"), (RankedEnd::Bottom, "Bottom")] {
            let button = egui::Button::selectable(ranking.end == end, name);
            let response = ui.add(button).accessible_name(format!("{name} {of}"));
            if response.clicked() {
                ranking.end = end;
            }
        }
    });
}

fn list_ui(
    ctx: &mut ViewContext<'_>,
    ranking: &Ranking,
    ranked: &[Ranked],
    bar: impl Fn(&ViewContext<'_>, &Ranked) -> Bar,
    ui: &mut Ui,
) {
    if ranked.is_empty() {
        return empty_ui("No matches", ui);
    }
    let largest = ranked
        .iter()
        .map(|ranked| ranked.value.abs())
        .fold(0.0, f64::max);
    let num_fitting = if in_picture(ui) {
        let pitch = ROW_HEIGHT + ui.spacing().item_spacing.y;
        (ui.available_height() / pitch).floor() as usize
    } else {
        usize::MAX
    };
    ScrollArea::vertical()
        .auto_shrink([false, false])
        .show_rows(ui, ROW_HEIGHT, ranked.len().min(num_fitting), |ui, rows| {
            for ranked in &ranked[rows] {
                let bar = bar(ctx, ranked);
                let share = if largest > 0.0 {
                    (bar.value.abs() / largest) as f32
                } else {
                    0.0
                };
                bar_ui(ctx, ranking, &bar, share, ui);
            }
        });
}

fn bar_ui(ctx: &mut ViewContext<'_>, ranking: &Ranking, bar: &Bar, share: f32, ui: &mut Ui) {
    let size = Vec2::new(ui.available_width(), ROW_HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let value = text::statistic(ranking.measure, ranking.statistic, bar.value);
    let label = format!("{}, {value}", bar.name);
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, bar.is_focused, &label));
    let painter = ui.painter_at(rect);
    if bar.is_focused || response.hovered() || response.has_focus() {
        painter.rect_filled(rect, RADIUS, ctx.theme.card_focused());
    }
    let available = (rect.width() - VALUE_WIDTH).max(1.0);
    let line = Rect::from_min_size(
        Pos2::new(rect.left(), rect.bottom() - 5.0),
        Vec2::new((available * share).max(1.0), 4.0),
    );
    painter.rect_filled(line, 1.0, bar.color);
    let font = FontId::proportional(13.0);
    let name_place = rect.with_max_x(rect.left() + available - 6.0);
    ui.painter_at(name_place).text(
        Pos2::new(rect.left() + 2.0, rect.center().y - 2.0),
        Align2::LEFT_CENTER,
        &bar.name,
        font.clone(),
        ctx.theme.text(),
    );
    painter.text(
        Pos2::new(rect.right() - 4.0, rect.center().y),
        Align2::RIGHT_CENTER,
        &value,
        font,
        ctx.theme.text(),
    );
    let hint = format!(
        "{}\nClick to query its executions; Ctrl+click only selects it",
        bar.full_name
    );
    if response.on_hover_text(hint).clicked() {
        ctx.choose(bar.focus, ui);
    }
}
