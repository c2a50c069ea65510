//! The map as a picture.

use callgrove_actions::context::ViewContext;
use callgrove_canvas::points::mark_shape;
use callgrove_model::count_of;
use callgrove_widgets::text::short_name;
use callgrove_widgets::{LegendItem, ViewNotes};
use egui::{Painter, Rect, Stroke, Ui};

use super::canvas::canvas_ui;
use super::legend::scale_bar;
use super::method::method_name;
use super::state::ScatterState;
use super::values::LegendRow;

/// Draws the map alone.
pub fn map_picture_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut ScatterState,
    ui: &mut Ui,
) -> ViewNotes {
    let (Some(analysis), Some(map)) = (
        ctx.snapshot.analysis().cloned(),
        ctx.snapshot.map().cloned(),
    ) else {
        return ViewNotes::default();
    };
    canvas_ui(ctx, state, (&analysis, &map), ui);
    let mut facts = vec![count_of(analysis.forest.len(), "execution")];
    if let Some(detection) = ctx.snapshot.detection() {
        facts.push(format!("{} abnormal", detection.num_abnormal));
    }
    facts.push(method_name(map.method).to_owned());
    if let Some(trust) = map.trustworthiness {
        facts.push(format!("trustworthiness {trust:.2}"));
    }
    facts.push("close points are similar executions; the axes have no unit".to_owned());
    let rows = state.palette().map(|palette| palette.legend(ctx));
    let rows = rows.unwrap_or_default().into_iter();
    ViewNotes {
        title: format!("Map of {}", short_name(&analysis.root_name)),
        facts,
        legend: rows.map(|row| legend_item(ctx, row)).collect(),
    }
}

fn legend_item(ctx: &ViewContext<'_>, row: LegendRow) -> LegendItem {
    match row {
        LegendRow::Mark(shape, color, text) => {
            let paint = move |painter: &Painter, rect: Rect| {
                painter.add(mark_shape(shape, rect.center(), 4.5, color));
            };
            LegendItem::painted(paint, text)
        }
        LegendRow::Ring(shape, color, ring, text) => {
            let paint = move |painter: &Painter, rect: Rect| {
                painter.add(mark_shape(shape, rect.center(), 3.5, color));
                painter.circle_stroke(rect.center(), 6.5, Stroke::new(1.5, ring));
            };
            LegendItem::painted(paint, text)
        }
        LegendRow::Scale([low, high]) => {
            let theme = ctx.theme.clone();
            let paint = move |painter: &Painter, rect: Rect| {
                painter.add(scale_bar(&theme, rect));
            };
            LegendItem::painted(paint, format!("{low} to {high}"))
        }
    }
}
