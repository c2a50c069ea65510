//! The calls of two trees on one time axis, relative to their entries.

use callgrove_model::{CsTree, DurationNs, FuncId, FunctionName};
use callgrove_widgets::pointer_card;
use callgrove_widgets::theme::{SMALLEST_TEXT, Theme};
use egui::{
    Align2, FontId, Mesh, PopupAnchor, Pos2, Rect, Role, Sense, Shape, Ui, Vec2, WidgetInfo,
};

use super::state::Shown;

/// Maximum number of call levels drawn.
const MAX_LEVELS: usize = 6;
/// Height of a level, in points.
const LEVEL_HEIGHT: f32 = 8.0;
/// Width of the code of a tree before the axis, in points.
const CODE_WIDTH: f32 = 72.0;
/// Gap between the two trees, in points.
const GAP: f32 = 6.0;
/// Total height, in points.
pub(super) const HEIGHT: f32 = 2.0 * (MAX_LEVELS as f32 * LEVEL_HEIGHT + GAP) + 18.0;
/// Minimum width of a call, in points; a call that would overlap the previous one is left out.
const MIN_WIDTH: f32 = 0.75;

/// A call as a bar: times relative to the entry of its tree.
#[derive(Clone, Copy, PartialEq, Debug)]
struct CallBar {
    func: FuncId,
    level: usize,
    from: f32,
    to: f32,
    took: DurationNs,
}

/// Returns the calls of a tree as bars, `points_per_ns` wide.
fn bars(tree: CsTree<'_>, points_per_ns: f32) -> Vec<CallBar> {
    let mut ends = [f32::NEG_INFINITY; MAX_LEVELS];
    let origin = tree.entry()[0];
    let mut bars = Vec::new();
    for vertex in 0..tree.len() {
        let level = tree.depth(vertex);
        let took = tree.inclusive()[vertex];
        let from = tree.entry()[vertex].since(origin).0 as f32 * points_per_ns;
        let to = (from + took.0 as f32 * points_per_ns).max(from + MIN_WIDTH);
        let Some(end) = ends.get_mut(level).filter(|end| to > **end + MIN_WIDTH) else {
            continue;
        };
        *end = to;
        bars.push(CallBar {
            func: tree.funcs()[vertex],
            level,
            from,
            to,
            took,
        });
    }
    bars
}

/// Draws the calls of the tree, and below them those of the tree it is compared with.
pub(super) fn aligned_ui(theme: &Theme, shown: &Shown, ui: &mut Ui) {
    let (Some(other), Some(other_tree)) = (shown.other, shown.other_tree()) else {
        return;
    };
    let size = Vec2::new(ui.available_width(), HEIGHT);
    let (response, painter) = ui.allocate_painter(size, Sense::hover());
    let forest = &shown.focus.analysis.forest;
    let trees = [shown.tree(), other_tree];
    let longest = trees[0].duration().max(trees[1].duration());
    let codes = [shown.focus.tree, other].map(|tree| shown.focus.analysis.tree_name(tree));
    let unit = forest.unit();
    let longest_text = unit.amount(longest).to_string();
    let label = format!(
        "{} of {} and {} aligned at their entries, {longest_text}",
        unit.of_kind("Calls", "Vertices"),
        codes[0],
        codes[1]
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, label.as_str()));
    let area = response.rect;
    let width = (area.width() - CODE_WIDTH - 2.0 * GAP).max(1.0);
    let points_per_ns = width / longest.0.max(1) as f32;
    let font = FontId::proportional(SMALLEST_TEXT);
    let mut hovered = None;
    let mut mesh = Mesh::default();
    for (row, (tree, code)) in trees.into_iter().zip(codes).enumerate() {
        let top = area.top() + row as f32 * (MAX_LEVELS as f32 * LEVEL_HEIGHT + GAP);
        let origin = Pos2::new(area.left() + CODE_WIDTH, top);
        let at = Pos2::new(area.left() + GAP, top);
        painter.text(at, Align2::LEFT_TOP, code, font.clone(), theme.weak_text());
        for bar in bars(tree, points_per_ns) {
            let corner = origin + Vec2::new(bar.from, bar.level as f32 * LEVEL_HEIGHT);
            let size = Vec2::new(bar.to - bar.from, LEVEL_HEIGHT - 1.0);
            let rect = Rect::from_min_size(corner, size);
            mesh.add_colored_rect(rect, theme.function(bar.func));
            if response.hover_pos().is_some_and(|at| rect.contains(at)) {
                hovered = Some(bar);
            }
        }
    }
    painter.add(Shape::mesh(mesh));
    for (align, x, text) in [
        (
            Align2::LEFT_BOTTOM,
            area.left() + CODE_WIDTH,
            "0".to_owned(),
        ),
        (
            Align2::RIGHT_BOTTOM,
            area.left() + CODE_WIDTH + width,
            longest_text,
        ),
    ] {
        let at = Pos2::new(x, area.bottom());
        painter.text(at, align, text, font.clone(), theme.weak_text());
    }
    if let Some(bar) = hovered {
        pointer_card(&response, PopupAnchor::Pointer, ui, |ui| {
            let name = FunctionName::parse(forest.trace().names.name(bar.func));
            ui.strong(name.qualified);
            ui.label(unit.took(bar.took));
        });
    }
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::forest_of;
    use callgrove_model::TreeIdx;

    use super::*;

    #[test]
    fn bars_start_at_the_entry_of_their_tree_and_do_not_overlap() {
        let forest = forest_of("+r -r +x -x +r +a +b -b -a +a -a -r");
        let drawn = |points_per_ns| {
            let bars = bars(forest.tree(TreeIdx(1)), points_per_ns);
            let bars_of = bars.iter().map(|bar| (bar.level, bar.from, bar.to));
            bars_of.collect::<Vec<_>>()
        };
        let all = [(0, 0.0, 7.0), (1, 1.0, 4.0), (2, 2.0, 3.0), (1, 5.0, 6.0)];
        assert_eq!(drawn(1.0), all);
        let few = drawn(0.1);
        assert_eq!(
            few.len(),
            3,
            "the second `a` would overlap the first: {few:?}"
        );
        assert!(few.iter().all(|bar| bar.2 - bar.1 >= 0.7));
    }
}
