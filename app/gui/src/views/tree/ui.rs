//! The tree on the screen: takes zoom, pan and clicks.

use callgrove_model::{CsTree, FunctionName};
use egui::{
    Frame, Key, Margin, Panel, PopupAnchor, Rect, Response, Role, Sense, Tooltip, Ui, WidgetInfo,
};

use super::findings::{findings_ui, listed};
use super::layout::Vertex;
use super::paint::{Canvas, Highlight};
use super::state::{Shown, TreeState};
use crate::context::ViewContext;
use crate::views::focus::Focus;
use crate::widgets::{count_of, thousands, view_header};

/// Width of the list of subtrees, in points.
const LIST_WIDTH: std::ops::RangeInclusive<f32> = 180.0..=280.0;
/// Its share of the view.
const LIST_SHARE: f32 = 0.42;

/// Draws the focused tree and the subtrees that make it unlike its neighbours.
pub fn tree_ui(ctx: &mut ViewContext<'_>, state: &mut TreeState, ui: &mut Ui) {
    state.show(Focus::of(ctx.snapshot));
    state.explain(ctx.snapshot.explanation.as_ref());
    header_ui(state, ui);
    if state.shown.is_none() {
        ui.centered_and_justified(|ui| ui.weak("Select a tree in the map or the list"));
        return;
    }
    let list_width =
        (ui.available_width() * LIST_SHARE).clamp(*LIST_WIDTH.start(), *LIST_WIDTH.end());
    let list = Panel::right("unusual subtrees")
        .default_size(list_width)
        .size_range(*LIST_WIDTH.start()..=ui.available_width() * 0.7)
        .show_separator_line(false)
        .frame(Frame::NONE.inner_margin(Margin {
            left: 8,
            ..Margin::ZERO
        }))
        .show(ui, |ui| findings_ui(ctx, state, ui));
    canvas_ui(ctx, state, list.inner, ui);
}

fn header_ui(state: &mut TreeState, ui: &mut Ui) {
    let title = state.shown.as_ref().map_or("Tree".to_owned(), |shown| {
        format!("Tree {}", shown.focus.code())
    });
    view_header(ui, &title, |ui| {
        if ui
            .button("Fit")
            .on_hover_text("Show the whole tree (F, or double click)")
            .clicked()
        {
            state.fit();
        }
        let Some(shown) = &state.shown else { return };
        let mut merges = state.merges_in(&shown.focus);
        let hint =
            "Calls of one function by one caller that call nothing themselves become one vertex";
        if ui
            .checkbox(&mut merges, "Merge repeated calls")
            .on_hover_text(hint)
            .changed()
        {
            state.merges = Some(merges);
            ui.ctx().request_repaint();
        }
    });
}

/// How many calls there are, and how many of them are drawn as one.
fn size_text(shown: &Shown) -> String {
    let num_calls = shown.drawing.vertex_of_call.len();
    match shown.drawing.num_merged() {
        (0, _) => count_of(num_calls, "call"),
        (_, 1) => format!(
            "{} calls merged into 1 vertex",
            thousands(shown.drawing.num_merged().0)
        ),
        (calls, vertices) => format!(
            "{} calls merged into {} vertices",
            thousands(calls),
            thousands(vertices)
        ),
    }
}

fn canvas_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut TreeState,
    pointed: Option<usize>,
    ui: &mut Ui,
) {
    let chosen = pointed.or(state.pinned);
    let threshold = state.threshold;
    let (response, painter) = ui.allocate_painter(ui.available_size(), Sense::click_and_drag());
    state.has_pointer = response.contains_pointer();
    let Some(shown) = &mut state.shown else {
        return;
    };
    let label = format!(
        "Call stack tree of {}: {}",
        shown.focus.code(),
        size_text(shown)
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, label.as_str()));
    if shown.forces.step() {
        ui.ctx().request_repaint();
    }
    navigate(ui, &response, shown);
    let area = response.rect;
    let camera = shown.camera(area);
    let canvas = Canvas {
        shown,
        theme: ctx.theme,
        painter: &painter,
        area,
        camera,
    };
    let pointer = response.hover_pos().filter(|_| !response.dragged());
    let hovered = pointer.and_then(|pointer| canvas.vertex_at(pointer));
    let highlight = highlight(ctx, shown, threshold, chosen);
    canvas.paint(&highlight, hovered, &size_text(shown));
    if let Some(vertex) = hovered {
        let vertex = shown.drawing.vertices[vertex];
        Tooltip::always_open(
            ui.ctx().clone(),
            ui.layer_id(),
            response.id,
            PopupAnchor::Pointer,
        )
        .gap(12.0)
        .show(|ui| tooltip_ui(shown, &vertex, ui));
    }
}

/// Wheel and pinch zoom to the pointer, drag moves, F or a double click shows everything.
fn navigate(ui: &Ui, response: &Response, shown: &mut Shown) {
    let area: Rect = response.rect;
    if let Some(pointer) = response.hover_pos() {
        let (wheel, pinch) = ui.input(|input| (input.smooth_scroll_delta().y, input.zoom_delta()));
        let factor = (wheel * 0.005).exp() * pinch;
        if (factor - 1.0).abs() > 1e-4 {
            shown.camera = Some(shown.camera(area).zoomed(area, pointer, factor));
        }
    }
    if response.dragged() {
        shown.camera = Some(shown.camera(area).panned(response.drag_delta()));
    }
    let is_f = response.contains_pointer() && !ui.ctx().text_edit_focused();
    if response.double_clicked()
        || is_f && ui.input(|input| input.modifiers.is_none() && input.key_pressed(Key::F))
    {
        shown.camera = None;
    }
}

/// What stands out: the roots of the listed subtrees, and one subtree that is pointed at or pinned.
fn highlight(
    ctx: &ViewContext<'_>,
    shown: &Shown,
    threshold: f64,
    chosen: Option<usize>,
) -> Highlight {
    let explanation = ctx
        .snapshot
        .explanation
        .as_deref()
        .filter(|known| known.tree == shown.focus.tree);
    let Some(explanation) = explanation else {
        return Highlight::default();
    };
    let findings = &explanation.findings;
    let drawing = &shown.drawing;
    let Some(finding) = chosen.and_then(|at| findings.get(at)) else {
        // Of each listed structure the first occurrence only: it is the longest.
        let listed = listed(explanation, threshold).into_iter();
        let roots = listed
            .filter_map(|at| findings[at].vertices.first())
            .map(|&call| call as usize);
        return Highlight {
            listed: drawing.vertices_of(roots),
            ..Highlight::default()
        };
    };
    let tree = shown.focus.cs_tree();
    let calls = finding
        .vertices
        .iter()
        .flat_map(|&root| subtree_calls(tree, root as usize, finding.degree as usize));
    Highlight {
        listed: Vec::new(),
        roots: drawing.vertices_of(finding.vertices.iter().map(|&call| call as usize)),
        members: drawing.vertices_of(calls),
    }
}

/// The calls of a subtree down to `degree` levels below its root.
fn subtree_calls(
    tree: CsTree<'_>,
    root: usize,
    degree: usize,
) -> impl Iterator<Item = usize> + use<'_> {
    let end = if root < tree.len() {
        tree.subtree_end(root)
    } else {
        root
    };
    (root..end).filter(move |&call| tree.depth(call) - tree.depth(root) <= degree)
}

fn tooltip_ui(shown: &Shown, vertex: &Vertex, ui: &mut Ui) {
    let tree = shown.focus.cs_tree();
    let name = FunctionName::parse(shown.focus.analysis.forest.trace().names.name(vertex.func));
    ui.strong(name.qualified);
    if let Some(file) = name.file {
        ui.weak(
            name.line
                .map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")),
        );
    }
    if vertex.num_calls > 1 {
        ui.label(format!("{} together", count_of(vertex.num_calls, "call")));
    }
    ui.label(format!(
        "Took {}, exclusive {}",
        vertex.inclusive, vertex.exclusive
    ));
    let share = vertex.inclusive.0 as f64 / tree.duration().0.max(1) as f64;
    ui.label(format!("{:.1} % of the execution", 100.0 * share));
}

#[cfg(test)]
mod tests {
    use callgrove_model::TreeIdx;
    use callgrove_session::{Command, Snapshot};
    use egui_kittest::Harness;
    use egui_kittest::kittest::Queryable as _;

    use super::*;
    use crate::test_support::{demo_snapshot, with_focus};
    use crate::theme::Theme;

    fn harness(snapshot: Snapshot) -> Harness<'static, TreeState> {
        let theme = Theme::new(true, snapshot.trace.as_ref());
        let draw = move |ui: &mut Ui, state: &mut TreeState| {
            let mut commands: Vec<Command> = Vec::new();
            let mut ctx = ViewContext {
                snapshot: &snapshot,
                theme: &theme,
                commands: &mut commands,
            };
            tree_ui(&mut ctx, state, ui);
        };
        let harness = Harness::builder().with_size([900.0, 500.0]);
        harness
            .with_max_steps(200)
            .build_ui_state(draw, TreeState::default())
    }

    fn focused() -> Harness<'static, TreeState> {
        let mut harness = harness(with_focus(&demo_snapshot(), TreeIdx(3)));
        harness.run();
        harness
    }

    #[test]
    fn without_a_tree_it_says_what_to_do() {
        let mut harness = harness(demo_snapshot());
        harness.run();
        harness.get_by_label("Select a tree in the map or the list");
    }

    #[test]
    fn the_drawing_settles_and_no_more_frames_are_asked_for() {
        let harness = focused();
        harness.get_by_label_contains("Call stack tree of #0-3");
    }

    #[test]
    fn the_threshold_filters_the_subtrees() {
        let mut harness = focused();
        harness.get_by_label("Subtree MPI_Wait, importance 1.00");
        harness.get_by_label("Subtree forward_comm, importance 0.60");
        assert!(
            harness
                .query_by_label_contains("Subtree ev_tally")
                .is_none()
        );
        harness.state_mut().threshold = 0.7;
        harness.run();
        assert!(
            harness
                .query_by_label_contains("Subtree forward_comm")
                .is_none()
        );
        harness.state_mut().threshold = 0.0;
        harness.run();
        harness.get_by_label("Subtree ev_tally, importance 0.20");
    }

    #[test]
    fn clicking_a_subtree_pins_it_and_clicking_again_lets_it_go() {
        let mut harness = focused();
        for expected in [Some(1), None] {
            harness
                .get_by_label("Subtree forward_comm, importance 0.60")
                .click();
            harness.run();
            assert_eq!(harness.state().pinned, expected);
        }
    }

    #[test]
    fn a_highlighted_subtree_has_its_roots_and_its_members() {
        let snapshot = with_focus(&demo_snapshot(), TreeIdx(3));
        let harness = focused();
        let theme = Theme::new(true, None);
        let ctx = ViewContext {
            snapshot: &snapshot,
            theme: &theme,
            commands: &mut Vec::new(),
        };
        let shown = harness.state().shown.as_ref().expect("a tree is shown");
        // compute 0 { forward_comm 1 { MPI_Send 2, MPI_Wait 3 }, ev_tally 4, … }
        let highlight = highlight(&ctx, shown, 0.5, Some(1));
        assert_eq!(
            (highlight.roots, highlight.members),
            (vec![1], vec![1, 2, 3])
        );
    }

    #[test]
    fn repeated_calls_are_merged_on_request() {
        let mut harness = focused();
        let num_before = harness
            .state()
            .shown
            .as_ref()
            .map(|shown| shown.drawing.vertices.len());
        harness.get_by_label("Merge repeated calls").click();
        harness.run();
        let shown = harness.state().shown.as_ref().expect("a tree is shown");
        assert!(Some(shown.drawing.vertices.len()) < num_before);
        harness.get_by_label("Call stack tree of #0-3: 2 calls merged into 1 vertex");
    }

    #[test]
    fn while_there_is_no_explanation_of_this_tree_it_says_so() {
        let snapshot = Snapshot {
            explanation: None,
            ..with_focus(&demo_snapshot(), TreeIdx(3))
        };
        let mut harness = harness(snapshot);
        harness.run();
        harness.get_by_label("Comparing with neighbours…");
    }
}
