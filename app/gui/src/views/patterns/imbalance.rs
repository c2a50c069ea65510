//! How uneven the program's iterations were, as a strip: the higher, the more longer the busiest rank worked.

use callgrove_session::{Imbalance, RunPatterns, TimeRange};
use egui::{Mesh, PopupAnchor, Rect, Role, Sense, Shape, Ui, Vec2, WidgetInfo};

use crate::app::Action;
use crate::context::ViewContext;
use crate::widgets::{count_of, pointer_card, thousands};

/// Height of the strip with its caption, in points.
pub(super) const HEIGHT: f32 = 62.0;
const CAPTION: f32 = 18.0;
/// Columns are at least this wide, in points.
const COLUMN: f32 = 2.0;

/// The most uneven iteration of each column, of `num_columns` at most.
pub(super) fn columns(all: &[Imbalance], num_columns: usize) -> Vec<Imbalance> {
    let num_columns = num_columns.min(all.len());
    let bound = |column: usize| column * all.len() / num_columns.max(1);
    let parts = (0..num_columns).map(|column| &all[bound(column)..bound(column + 1)]);
    let most = |part: &[Imbalance]| {
        let it = part.iter();
        it.max_by(|a, b| a.share().total_cmp(&b.share())).copied()
    };
    parts.filter_map(most).collect()
}

/// Draws the strip; a click moves the timeline to an iteration.
pub(super) fn imbalance_ui(ctx: &mut ViewContext<'_>, patterns: &RunPatterns, ui: &mut Ui) {
    let all = patterns.imbalances();
    let name = patterns.loop_name().unwrap_or_default();
    let (_, whole) = ui.allocate_space(Vec2::new(ui.available_width(), HEIGHT));
    let (caption, area) = whole.split_top_bottom_at_y(whole.top() + CAPTION);
    let room = (area.width() / COLUMN).max(1.0) as usize;
    let columns = columns(all, room);
    let most = columns.iter().map(Imbalance::share).fold(0.0, f64::max);
    let text = format!(
        "Imbalance of {} ({name}): up to {}",
        count_of(all.len(), "iteration"),
        percent(most)
    );
    let label = egui::Label::new(egui::RichText::new(&text).small()).truncate();
    ui.put(caption, label);
    let id = ui.unique_id().with("imbalance");
    let response = ui.interact(area, id, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, &text));
    ui.painter().rect_filled(area, 0.0, ctx.theme.canvas());
    let width = area.width() / columns.len().max(1) as f32;
    let place = |at: usize, share: f64| {
        let height = ((share / most.max(1e-9)).sqrt() as f32 * area.height()).max(1.0);
        let left = area.left() + at as f32 * width;
        let gap = if width > 4.0 { 1.0 } else { 0.0 };
        let x = left..=left + width - gap;
        Rect::from_x_y_ranges(x, area.bottom() - height..=area.bottom())
    };
    let mut mesh = Mesh::default();
    for (at, imbalance) in columns.iter().enumerate() {
        let color = ctx
            .theme
            .heat((imbalance.share() / most.max(1e-9)).sqrt() as f32);
        mesh.add_colored_rect(place(at, imbalance.share()), color);
    }
    ui.painter().add(Shape::mesh(mesh));
    let Some(pointer) = response.hover_pos() else {
        return;
    };
    let at = ((pointer.x - area.left()) / width.max(0.1)).max(0.0) as usize;
    let Some(imbalance) = columns.get(at) else {
        return;
    };
    let stroke = egui::Stroke::new(1.5, ctx.theme.selection());
    let column = place(at, most);
    ui.painter()
        .rect_stroke(column, 0.0, stroke, egui::StrokeKind::Outside);
    pointer_card(&response, PopupAnchor::Pointer, ui, |ui| {
        tooltip_ui(patterns, imbalance, ui);
        if all.len() > columns.len() {
            ui.weak("The most uneven of several; zoom is by the width of the view");
        }
        ui.weak("Click to see it on the timeline");
    });
    let span = patterns
        .iterations()
        .and_then(|known| known.span(imbalance.iteration));
    if let Some((from, to)) = span.filter(|_| response.clicked()) {
        ctx.actions.push(Action::ShowTime(TimeRange { from, to }));
    }
}

fn tooltip_ui(patterns: &RunPatterns, imbalance: &Imbalance, ui: &mut Ui) {
    let rank = patterns.trace().lane(imbalance.slowest).rank;
    ui.strong(format!("Iteration {}", thousands(imbalance.iteration)));
    ui.label(format!("Took {} on the slowest rank", imbalance.duration));
    ui.label(format!(
        "Rank {rank} was busy {}, {} longer than the mean of all",
        imbalance.most_busy,
        percent(imbalance.share())
    ));
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
