//! A strip of the imbalance of the program's iterations: higher if the busiest rank worked for longer than the mean.

use callgrove_actions::Action;
use callgrove_actions::context::ViewContext;
use callgrove_actions::latest_answer::LatestAnswer;
use callgrove_model::count_of;
use callgrove_model::{Trace, thousands};
use callgrove_session::{Imbalance, ListedIterations, TimeRange, UnevenIteration, UnevenOf};
use callgrove_widgets::pointer_card;
use egui::{Mesh, PopupAnchor, Rect, Role, Sense, Shape, Ui, Vec2, WidgetInfo};

/// Height of the strip with its caption, in points.
pub(super) const HEIGHT: f32 = 62.0;
/// Height of the caption, in points.
const CAPTION: f32 = 18.0;
/// Minimum width of a column, in points.
const COLUMN: f32 = 2.0;

/// Draws the strip; a click moves the timeline to an iteration.
pub(super) fn imbalance_ui(
    ctx: &mut ViewContext<'_>,
    (iterations, asked): (&ListedIterations, &mut LatestAnswer<UnevenOf>),
    ui: &mut Ui,
) {
    let (_, whole) = ui.allocate_space(Vec2::new(ui.available_width(), HEIGHT));
    let (caption, area) = whole.split_top_bottom_at_y(whole.top() + CAPTION);
    let num_columns = (area.width() / COLUMN).max(1.0) as usize;
    let Some(calls) = ctx.snapshot.calls() else {
        return;
    };
    let known = asked.ask(calls, &UnevenOf { num_columns });
    let columns = known.map_or(&[][..], |(_, columns)| columns);
    let shares = columns.iter().map(|column| column.imbalance.share());
    let most = shares.fold(0.0, f64::max);
    let text = format!(
        "Imbalance of {} ({}): up to {}",
        count_of(iterations.num(), "iteration"),
        iterations.name,
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
    for (at, column) in columns.iter().enumerate() {
        let share = column.imbalance.share();
        let color = ctx.theme.heat((share / most.max(1e-9)).sqrt() as f32);
        mesh.add_colored_rect(place(at, share), color);
    }
    ui.painter().add(Shape::mesh(mesh));
    let Some(pointer) = response.hover_pos() else {
        return;
    };
    let at = ((pointer.x - area.left()) / width.max(0.1)).max(0.0) as usize;
    let Some(&UnevenIteration {
        imbalance,
        from,
        to,
    }) = columns.get(at)
    else {
        return;
    };
    let stroke = egui::Stroke::new(1.5, ctx.theme.selection());
    let column = place(at, most);
    ui.painter()
        .rect_stroke(column, 0.0, stroke, egui::StrokeKind::Outside);
    pointer_card(&response, PopupAnchor::Pointer, ui, |ui| {
        tooltip_ui(calls.trace(), imbalance, ui);
        if iterations.num() > columns.len() {
            ui.weak("The most uneven of several iterations; widen the view to separate them");
        }
        ui.weak("Click to show it on the timeline");
    });
    if response.clicked() {
        ctx.actions.push(Action::ShowTime(TimeRange { from, to }));
    }
}

fn tooltip_ui(trace: &Trace, imbalance: Imbalance, ui: &mut Ui) {
    let rank = trace.lane(imbalance.slowest).rank;
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
