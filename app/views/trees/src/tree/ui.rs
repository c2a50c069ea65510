//! The tree as a widget: handles zoom, pan, clicks and keys.

use std::collections::BTreeMap;

use callgrove_actions::context::ViewContext;
use callgrove_model::{CsTree, FunctionName, WeightUnit, thousands};
use callgrove_session::{DifferenceKind, InspectCommand};
use callgrove_widgets::{pointer_card, view_header};
use egui::{
    Checkbox, EventFilter, Frame, Key, Margin, Panel, PointerButton, PopupAnchor, Rect, Response,
    Role, Sense, Ui, WidgetInfo,
};

use super::aligned::{self, aligned_ui};
use super::findings::{findings_ui, listed};
use super::layout::{TreeMove, Vertex};
use super::paint::{Canvas, Highlight};
use super::state::{Shown, TreeState};

/// Width of the list of differences, in points.
const LIST_WIDTH: std::ops::RangeInclusive<f32> = 180.0..=280.0;
/// Fraction of the view that the list takes.
const LIST_SHARE: f32 = 0.42;
/// Width of the pane below which it shows either the drawing or the list, in points.
const MIN_WIDTH_FOR_BOTH: f32 = 420.0;
/// Height of the drawing from which the calls of two compared trees are shown below it, in points.
const MIN_HEIGHT_FOR_CALLS: f32 = 3.0 * aligned::HEIGHT;
/// Zoom factor of one key press.
const ZOOM_STEP: f32 = 1.25;
/// Change of the threshold by one key press.
const THRESHOLD_STEP: f64 = 0.05;

/// Draws the focused tree of a run.
pub(super) fn one_run_ui(ctx: &mut ViewContext<'_>, state: &mut TreeState, ui: &mut Ui) {
    state.explain(ctx.snapshot.explanation.as_ref());
    state.show(ctx.snapshot);
    let is_narrow = ui.available_width() < MIN_WIDTH_FOR_BOTH;
    header_ui(state, is_narrow, ui);
    if state.shown.is_none() {
        ui.centered_and_justified(|ui| ui.weak("Select a tree in the map or the list"));
        return;
    }
    if is_narrow {
        if state.shows_findings {
            findings_ui(ctx, state, ui);
        } else {
            canvas_ui(ctx, state, None, ui);
        }
        return;
    }
    let list_width =
        (ui.available_width() * LIST_SHARE).clamp(*LIST_WIDTH.start(), *LIST_WIDTH.end());
    let list = Panel::right("differences")
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

fn header_ui(state: &mut TreeState, is_narrow: bool, ui: &mut Ui) {
    let title = state.shown.as_ref().map_or("Tree".to_owned(), |shown| {
        format!("Tree {}", shown.focus.name())
    });
    view_header(ui, &title, |ui| {
        if ui
            .button("Fit")
            .on_hover_text("Show the whole tree (F, or double click)")
            .clicked()
        {
            state.fit();
        }
        if state.shown.is_none() {
            return;
        }
        compare_ui(state, is_narrow, ui);
        if !state.compares {
            merge_ui(state, is_narrow, ui);
        }
        if is_narrow {
            ui.toggle_value(&mut state.shows_findings, "Diff")
                .on_hover_text("Show the differences from usual instead of the drawing")
                .accessible_name("Differences");
        }
    });
}

/// Draws the controls that compare the tree with another: the usual one, or a pinned one.
fn compare_ui(state: &mut TreeState, is_narrow: bool, ui: &mut Ui) {
    let Some(focus) = state.shown.as_ref().map(|shown| shown.focus.clone()) else {
        return;
    };
    let unit = focus.analysis.forest.unit().clone();
    let reference = state.reference.as_ref();
    let text = match reference {
        Some(reference) => format!("Compare with {}", reference.name()),
        None => "Compare with usual".to_owned(),
    };
    let is_pinned = reference.is_some_and(|reference| reference.is_same_tree(&focus));
    let verb = if is_pinned { "Unpin" } else { "Pin" };
    let hint = if is_pinned {
        unit.of_kind(
            "Compare with the usual execution again",
            "Compare with the usual tree again",
        )
    } else {
        unit.of_kind(
            "Compare the next selected executions with this one",
            "Compare the next selected trees with this one",
        )
    };
    if state.compares || reference.is_some() {
        let name = format!("{verb} {} for comparison", focus.name());
        let button = ui.button(verb).on_hover_text(hint).accessible_name(name);
        if button.clicked() {
            state.reference = (!is_pinned).then_some(focus);
        }
    }
    let short = if is_narrow { "Compare" } else { text.as_str() };
    ui.toggle_value(&mut state.compares, short)
        .on_hover_text(unit.of_kind(
            "Draw both as one tree and mark calls that are new, missing, longer, shorter, more or less frequent",
            "Draw both as one tree and mark vertices that are new, missing, heavier, lighter, more or less frequent",
        ))
        .accessible_name(&text);
}

fn merge_ui(state: &mut TreeState, is_narrow: bool, ui: &mut Ui) {
    let Some(shown) = &state.shown else { return };
    let unit = shown.focus.analysis.forest.unit();
    let name = unit.of_kind("Merge repeated calls", "Merge repeated vertices");
    let mut merges = state.merges_in(shown);
    let hint = unit.of_kind(
        "Merge calls of one function by one caller that have no callees into one vertex",
        "Merge leaf vertices of one name below one vertex into one vertex",
    );
    let text = if is_narrow { "Merge" } else { name };
    if ui
        .add(Checkbox::new(&mut merges, text))
        .on_hover_text(hint)
        .accessible_name(name)
        .changed()
    {
        state.merges = Some(merges);
        ui.ctx().request_repaint();
    }
}

/// Returns the number of calls, and how many of them are merged.
fn size_text(shown: &Shown) -> String {
    if shown.other.is_some() {
        return changes_text(shown);
    }
    let unit = shown.focus.analysis.forest.unit();
    let vertices = |count: usize| vertices_text(unit, count);
    let num_calls = shown.drawing.vertex_of_call.len();
    match shown.drawing.num_merged() {
        (0, _) => vertices(num_calls),
        (_, 1) => format!(
            "{} merged into 1 vertex",
            vertices(shown.drawing.num_merged().0)
        ),
        (calls, num_vertices) => format!(
            "{} merged into {} vertices",
            vertices(calls),
            thousands(num_vertices)
        ),
    }
}

/// Returns the number of paths that differ from the other tree, by kind.
fn changes_text(shown: &Shown) -> String {
    let vertices = 0..shown.drawing.vertices.len();
    let mut counts: BTreeMap<DifferenceKind, usize> = BTreeMap::new();
    for kind in vertices.filter_map(|vertex| shown.drawing.change(vertex)) {
        *counts.entry(kind).or_default() += 1;
    }
    if counts.is_empty() {
        return "no differences".to_owned();
    }
    let counts = counts.iter();
    let unit = shown.focus.analysis.forest.unit();
    let texts = counts.map(|(kind, &count)| format!("{} {}", thousands(count), kind.words(unit)));
    texts.collect::<Vec<_>>().join(", ")
}

pub(super) fn canvas_ui(
    ctx: &mut ViewContext<'_>,
    state: &mut TreeState,
    pointed: Option<usize>,
    ui: &mut Ui,
) {
    let chosen = pointed.or(state.pinned);
    let mut size = ui.available_size();
    let compared = state.shown.as_ref().filter(|shown| shown.other.is_some());
    if let Some(shown) = compared.filter(|_| size.y > MIN_HEIGHT_FOR_CALLS) {
        let below = Panel::bottom("calls of both")
            .frame(Frame::NONE)
            .resizable(false);
        below.show(ui, |ui| aligned_ui(ctx.theme, shown, ui));
        size = ui.available_size();
    }
    let (response, painter) = ui.allocate_painter(size, Sense::click_and_drag());
    state.has_pointer = response.contains_pointer();
    let Some(shown) = &mut state.shown else {
        return;
    };
    let unit = shown.focus.analysis.forest.unit();
    let kind = unit.of_kind("Call stack tree", "Tree");
    let label = match shown.other {
        Some(other) => format!(
            "{kind} of {} compared with {}: {}",
            shown.focus.name(),
            shown.focus.analysis.tree_name(other),
            size_text(shown)
        ),
        None => format!("{kind} of {}: {}", shown.focus.name(), size_text(shown)),
    };
    response.widget_info(|| WidgetInfo::labeled(Role::Canvas, true, label.as_str()));
    if shown.forces.step() {
        ui.ctx().request_repaint();
    }
    let call = ctx
        .snapshot
        .inspected
        .call
        .and_then(|call| shown.vertex_of(call));
    navigate(ui, &response, shown);
    if has_keys(ctx, &response, ui) {
        walk(ctx, shown, call, response.rect, ui);
        threshold_keys(&mut state.threshold, ui);
    } else {
        shown.cursor = None;
    }
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
    let highlight = Highlight {
        call,
        cursor: shown.cursor,
        ..highlight(ctx, shown, state.threshold, chosen)
    };
    if let Some(vertex) = hovered.filter(|_| response.clicked_by(PointerButton::Primary)) {
        let call = shown.call_at(vertex, ctx.snapshot.inspected.call);
        ctx.send(InspectCommand::Call(Some(call)));
    }
    canvas.paint(&highlight, hovered, &size_text(shown));
    if let Some(vertex) = hovered {
        let vertex = shown.drawing.vertices[vertex];
        pointer_card(&response, PopupAnchor::Pointer, ui, |ui| {
            tooltip_ui(shown, &vertex, ui);
        });
    }
}

/// Returns whether the drawing handles keys: it has the focus, or its pane has and nothing else in the pane does. It
/// then keeps the arrow keys.
fn has_keys(ctx: &ViewContext<'_>, response: &Response, ui: &Ui) -> bool {
    let focused = ui.memory(egui::Memory::focused);
    let is_around = |id| {
        let other = ui.ctx().read_response(id);
        other.is_some_and(|other: Response| other.rect.contains_rect(response.rect))
    };
    let is_pane = ctx.has_focus && focused.is_none_or(is_around);
    if !response.has_focus() && !is_pane {
        return false;
    }
    if let Some(id) = focused {
        let filter = EventFilter {
            horizontal_arrows: true,
            vertical_arrows: true,
            ..EventFilter::default()
        };
        ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
    }
    true
}

/// Handles keys: arrows move between vertices, Enter shows the call, plus and minus zoom.
fn walk(ctx: &mut ViewContext<'_>, shown: &mut Shown, call: Option<usize>, area: Rect, ui: &Ui) {
    let is_pressed = |key| ui.input(|input| input.modifiers.is_none() && input.key_pressed(key));
    for (key, way) in [
        (Key::ArrowLeft, TreeMove::Caller),
        (Key::ArrowRight, TreeMove::Callee),
        (Key::ArrowUp, TreeMove::Before),
        (Key::ArrowDown, TreeMove::After),
    ] {
        if is_pressed(key) {
            shown.walk(way, shown.cursor.or(call), area);
        }
    }
    if let Some(vertex) = shown.cursor.filter(|_| is_pressed(Key::Enter)) {
        let call = shown.call_at(vertex, ctx.snapshot.inspected.call);
        ctx.send(InspectCommand::Call(Some(call)));
    }
    for (keys, factor) in [
        (&[Key::Plus, Key::Equals][..], ZOOM_STEP),
        (&[Key::Minus][..], 1.0 / ZOOM_STEP),
    ] {
        // Plus needs Shift on many keyboards.
        if ui.input(|input| {
            !input.modifiers.command && keys.iter().any(|&key| input.key_pressed(key))
        }) {
            shown.camera = Some(shown.camera(area).zoomed(area, area.center(), factor));
        }
    }
}

/// Handles the bracket keys, which list fewer or more differences.
fn threshold_keys(threshold: &mut f64, ui: &Ui) {
    for (key, change) in [
        (Key::OpenBracket, -THRESHOLD_STEP),
        (Key::CloseBracket, THRESHOLD_STEP),
    ] {
        if ui.input(|input| input.key_pressed(key)) {
            *threshold = (*threshold + change).clamp(0.0, 1.0);
        }
    }
}

/// Zooms to the pointer by wheel and pinch, pans by drag, and fits the tree by F or a double click.
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

/// Returns the highlighted vertices: the calls of the listed differences, and those of a hovered or pinned one.
pub(super) fn highlight(
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
        // Only the first call of each, which is the longest.
        let listed = listed(explanation, threshold).into_iter();
        let roots = listed
            .filter_map(|at| findings[at].vertices.first())
            .map(|&call| call as usize);
        return Highlight {
            listed: drawing.vertices_of(roots),
            ..Highlight::default()
        };
    };
    let tree = shown.tree();
    let is_subtree = finding.kind == DifferenceKind::New;
    let calls = finding
        .vertices
        .iter()
        .flat_map(|&root| subtree_calls(tree, root as usize, is_subtree));
    Highlight {
        listed: Vec::new(),
        roots: drawing.vertices_of(finding.vertices.iter().map(|&call| call as usize)),
        members: drawing.vertices_of(calls),
        ..Highlight::default()
    }
}

/// Returns a call, or the call and all calls below it.
fn subtree_calls(tree: CsTree<'_>, root: usize, is_subtree: bool) -> std::ops::Range<usize> {
    if root >= tree.len() {
        return root..root;
    }
    root..if is_subtree {
        tree.subtree_end(root)
    } else {
        root + 1
    }
}

fn tooltip_ui(shown: &Shown, vertex: &Vertex, ui: &mut Ui) {
    let tree = shown.tree();
    let unit = shown.focus.analysis.forest.unit();
    let name = FunctionName::parse(shown.focus.analysis.forest.trace().names.name(vertex.func));
    ui.strong(name.qualified);
    if let Some(file) = name.file {
        ui.weak(
            name.line
                .map_or_else(|| file.to_owned(), |line| format!("{file}:{line}")),
        );
    }
    if vertex.num_calls > 1 {
        ui.label(format!(
            "{} in total",
            vertices_text(unit, vertex.num_calls)
        ));
        let largest = unit.of_kind("longest", "heaviest");
        ui.weak(format!("Click to show the {largest}, again for the next"));
    }
    ui.label(format!(
        "{}, exclusive {}",
        unit.took(vertex.inclusive),
        unit.amount(vertex.exclusive)
    ));
    if let (Some(other), Some(tree)) = (vertex.other, shown.other) {
        ui.label(format!(
            "In {}: {}, {}, exclusive {}",
            shown.focus.analysis.tree_name(tree),
            vertices_text(unit, other.num_calls),
            unit.amount(other.inclusive),
            unit.amount(other.exclusive)
        ));
    }
    let share = vertex.inclusive.0 as f64 / tree.duration().0.max(1) as f64;
    ui.label(format!("{:.1} % of the {}", 100.0 * share, unit.trees(1)));
}

/// Returns a number of calls, or of vertices, as text.
fn vertices_text(unit: &WeightUnit, count: usize) -> String {
    format!("{} {}", thousands(count), unit.vertices(count as u64))
}
