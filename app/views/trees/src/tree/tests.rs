//! Tests of the tree on the screen, by label, pointer and keys.

use callgrove_actions::context::ViewContext;
use callgrove_app_tests::demo_run::{demo_snapshot, demo_trace, snapshot_of, with_focus};
use callgrove_app_tests::{changed, forest_in, run_of};
use callgrove_model::{ExecIdx, ExecRef, LaneIdx, TreeIdx, WeightUnit};
use callgrove_session::{Calls, Difference, DifferenceKind, InspectCommand, Snapshot, UserCommand};
use callgrove_view_tests::written;
use callgrove_widgets::theme::Theme;
use egui::{Key, Pos2, Rect, Ui, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::state::{Shown, TreeState};
use super::tree_ui;
use super::ui::highlight;

/// The view, and the commands that it sent.
#[derive(Default)]
struct Screen {
    state: TreeState,
    commands: Vec<UserCommand>,
}

fn harness(snapshot: Snapshot, size: [f32; 2]) -> Harness<'static, Screen> {
    let theme = Theme::new(true, snapshot.trace());
    let draw = move |ui: &mut Ui, screen: &mut Screen| {
        let mut ctx = ViewContext {
            snapshot: &snapshot,
            theme: &theme,
            commands: &mut screen.commands,
            actions: &mut Vec::new(),
            has_focus: false,
        };
        tree_ui(&mut ctx, &mut screen.state, ui);
    };
    let mut harness = Harness::builder()
        .with_size(size)
        .with_max_steps(200)
        .build_ui_state(draw, Screen::default());
    harness.run();
    harness
}

fn focused() -> Harness<'static, Screen> {
    harness(with_focus(&demo_snapshot(), TreeIdx(3)), [900.0, 500.0])
}

/// Returns a call of the selected tree (the fourth execution of compute on rank 0) in its lane.
fn call(snapshot: &Snapshot, vertex: usize) -> ExecRef {
    let forest = &snapshot.analysis().expect("it is analysed").forest;
    ExecRef {
        lane: LaneIdx(0),
        exec: forest.tree(TreeIdx(3)).exec(vertex),
    }
}

fn shown<'a>(harness: &'a Harness<'_, Screen>) -> &'a Shown {
    let shown = harness.state().state.shown.as_ref();
    shown.expect("a tree is shown")
}

fn canvas(harness: &Harness<'_, Screen>) -> Rect {
    harness.get_by_label_contains("Call stack tree of").rect()
}

/// Returns the position of a vertex on the screen.
fn place(harness: &Harness<'_, Screen>, vertex: usize) -> Pos2 {
    let shown = shown(harness);
    let area = canvas(harness);
    shown
        .camera(area)
        .to_screen(area, shown.forces.positions()[vertex])
}

#[test]
fn without_a_tree_it_shows_a_hint() {
    let harness = harness(demo_snapshot(), [900.0, 500.0]);
    harness.get_by_label("Select a tree in the map or the list");
}

#[test]
fn the_drawing_settles_and_requests_no_more_frames() {
    let harness = focused();
    harness.get_by_label_contains("Call stack tree of #0-3");
}

#[test]
fn a_click_on_a_vertex_selects_its_call() {
    let mut harness = focused();
    let at = place(&harness, 3);
    harness.drag_at(at);
    harness.drop_at(at);
    harness.run();
    let expected = call(&demo_snapshot(), 3);
    assert_eq!(
        harness.state().commands,
        [InspectCommand::Call(Some(expected)).into()]
    );
}

#[test]
fn clicks_on_merged_calls_select_the_longest_and_then_the_next() {
    let mut harness = focused();
    harness.get_by_label("Merge repeated calls").click();
    harness.run();
    let shown = shown(&harness);
    let merged = shown
        .drawing
        .vertices
        .iter()
        .position(|vertex| vertex.num_calls == 2);
    let merged = merged.expect("ev_tally is called twice");
    let first = shown.call_at(merged, None);
    let second = shown.call_at(merged, Some(first));
    assert_ne!(first, second);
    assert_eq!(shown.call_at(merged, Some(second)), first, "around");
    assert_eq!(shown.vertex_of(second), Some(merged));
    let elsewhere = ExecRef {
        lane: LaneIdx(1),
        exec: ExecIdx(0),
    };
    assert_eq!(shown.vertex_of(elsewhere), None);
}

#[test]
fn arrows_walk_the_tree_and_enter_selects_the_call() {
    let mut harness = focused();
    harness.get_by_label_contains("Call stack tree of").focus();
    harness.run();
    // compute 0 { forward_comm 1 { MPI_Send 2, MPI_Wait 3 }, ev_tally 4, … }
    for (key, expected) in [
        (Key::ArrowRight, 1),
        (Key::ArrowRight, 3),
        (Key::ArrowUp, 2),
        (Key::ArrowDown, 3),
        (Key::ArrowLeft, 1),
        (Key::ArrowDown, 4),
    ] {
        harness.key_press(key);
        harness.run();
        let shown = shown(&harness);
        assert_eq!(shown.cursor, Some(expected), "after {key:?}");
    }
    harness.key_press(Key::Enter);
    harness.run();
    let expected = call(&demo_snapshot(), 4);
    assert_eq!(
        harness.state().commands,
        [InspectCommand::Call(Some(expected)).into()]
    );
}

#[test]
fn the_keys_walk_on_from_the_selected_call() {
    let snapshot = with_focus(&demo_snapshot(), TreeIdx(3));
    let selected = changed(snapshot, |it| it.inspected.call = Some(call(it, 2)));
    let mut harness = harness(selected, [900.0, 500.0]);
    harness.get_by_label_contains("Call stack tree of").focus();
    harness.run();
    harness.key_press(Key::ArrowDown);
    harness.run();
    let shown = shown(&harness);
    assert_eq!(shown.cursor, Some(3));
}

#[test]
fn plus_and_minus_zoom_and_brackets_move_the_threshold() {
    let mut harness = focused();
    harness.get_by_label_contains("Call stack tree of").focus();
    harness.run();
    let area = canvas(&harness);
    let zoom = |harness: &Harness<'_, Screen>| {
        let shown = shown(harness);
        shown.camera(area).zoom
    };
    let before = zoom(&harness);
    harness.key_press(Key::Plus);
    harness.run();
    assert!(zoom(&harness) > before);
    for _ in 0..2 {
        harness.key_press(Key::Minus);
        harness.run();
    }
    assert!(zoom(&harness) < before);
    for _ in 0..12 {
        harness.key_press(Key::CloseBracket);
    }
    harness.run();
    harness.get_by_label("longer: MPI_Wait, importance 1.00");
    assert!(
        harness
            .query_by_label_contains("new: forward_comm")
            .is_none()
    );
    for _ in 0..20 {
        harness.key_press(Key::OpenBracket);
    }
    harness.run();
    harness.get_by_label("more calls: ev_tally, importance 0.20");
}

#[test]
fn the_threshold_filters_the_differences() {
    let mut harness = focused();
    harness.state_mut().state.threshold = 0.25;
    harness.run();
    harness.get_by_label("longer: MPI_Wait, importance 1.00");
    harness.get_by_label("new: forward_comm, importance 0.60");
    assert!(
        harness
            .query_by_label_contains("more calls: ev_tally")
            .is_none()
    );
    harness.state_mut().state.threshold = 0.7;
    harness.run();
    assert!(
        harness
            .query_by_label_contains("new: forward_comm")
            .is_none()
    );
    harness.state_mut().state.threshold = 0.0;
    harness.run();
    harness.get_by_label("more calls: ev_tally, importance 0.20");
}

#[test]
fn clicking_a_subtree_pins_it_and_selects_its_call_and_clicking_again_unpins_it() {
    let mut harness = focused();
    for expected in [Some(1), None] {
        harness
            .get_by_label("new: forward_comm, importance 0.60")
            .click();
        harness.run();
        assert_eq!(harness.state().state.pinned, expected);
    }
    let expected = call(&demo_snapshot(), 1);
    assert_eq!(
        harness.state().commands,
        [InspectCommand::Call(Some(expected)).into()]
    );
}

/// Returns the demo with one finding about a structure of `num_functions` functions below its root.
fn with_large_structure(num_functions: usize) -> Snapshot {
    use std::sync::Arc;

    let call = |at: usize| format!("+a_rather_long_name_{at} -a_rather_long_name_{at} ");
    let calls: Vec<String> = (0..num_functions).map(call).collect();
    let calls = calls.concat();
    let forest = callgrove_app_tests::demo_run::forest_of(&format!("+r {calls}-r"));
    let snapshot = with_focus(&demo_snapshot(), TreeIdx(0));
    let analysis = callgrove_session::Analysis {
        forest: forest.clone(),
        ..callgrove_session::Analysis::clone(snapshot.analysis().expect("it is analysed"))
    };
    let explanation = snapshot.explanation.as_deref().expect("it is explained");
    let finding = Difference {
        kind: DifferenceKind::New,
        vertices: vec![0],
        func: forest.tree(TreeIdx(0)).funcs()[0],
        path: vec![forest.tree(TreeIdx(0)).funcs()[0]],
        ..explanation.findings[0].clone()
    };
    let explanation = callgrove_session::Explanation {
        findings: vec![finding],
        ..explanation.clone()
    };
    changed(snapshot, |it| {
        run_of(it).calls = Arc::new(Calls::local(forest.trace()));
        forest_in(it).analysis = Arc::new(analysis);
        it.explanation = Some(Arc::new(explanation));
    })
}

#[test]
fn a_long_outline_unfolds_and_its_names_are_elided() {
    let mut harness = harness(with_large_structure(15), [500.0, 900.0]);
    let has = |harness: &Harness<'_, Screen>, name: &str| {
        written(harness)
            .iter()
            .any(|written| written.text.contains(name))
    };
    assert!(!has(&harness, "a_rather_long_name_14"));
    harness.get_by_label("and 8 more").click();
    harness.run();
    assert!(has(&harness, "a_rather_long_name_14"));
    assert_eq!(
        harness.state().state.pinned,
        None,
        "the card was not clicked"
    );
    let pane = Rect::from_min_size(Pos2::ZERO, Vec2::new(500.0, 900.0));
    for written in written(&harness) {
        assert!(pane.contains_rect(written.rect), "{} is cut", written.text);
    }
    harness.get_by_label("Show fewer").click();
    harness.run();
    assert!(!has(&harness, "a_rather_long_name_14"));
}

#[test]
fn importance_is_shown_in_numbers_however_narrow_the_list_is() {
    for width in [900.0, 440.0] {
        let harness = harness(with_focus(&demo_snapshot(), TreeIdx(3)), [width, 500.0]);
        let written = written(&harness);
        for number in ["1.00", "0.60"] {
            let is_shown = written.iter().any(|written| written.text == number);
            assert!(is_shown, "{number} at {width}");
        }
    }
}

#[test]
fn a_small_pane_shows_the_drawing_or_the_list() {
    let size = [260.0, 180.0];
    let mut harness = harness(with_focus(&demo_snapshot(), TreeIdx(3)), size);
    let pane = Rect::from_min_size(Pos2::ZERO, Vec2::from(size));
    assert!(canvas(&harness).height() > 80.0);
    for label in ["Differences", "Merge repeated calls", "Fit"] {
        let rect = harness.get_by_label(label).rect();
        assert!(pane.contains_rect(rect), "{label}: {rect}");
    }
    harness.get_by_label("Differences").click();
    harness.run();
    assert!(
        harness
            .query_by_label_contains("Call stack tree of")
            .is_none()
    );
    let card = harness
        .get_by_label("longer: MPI_Wait, importance 1.00")
        .rect();
    assert!(
        pane.contains(card.center_top() + Vec2::new(0.0, 12.0)),
        "{card}"
    );
}

#[test]
fn trees_of_votes_are_not_described_as_times_or_calls() {
    let mut trace = demo_trace(2, 20);
    trace.unit = WeightUnit::Other("votes".to_owned());
    let snapshot = with_focus(&snapshot_of(trace), TreeIdx(3));
    let harness = harness(snapshot, [900.0, 500.0]);
    harness.get_by_label_contains("Tree of #0-3: ");
    harness.get_by_label("heavier: MPI_Wait, importance 1.00");
    harness.get_by_label("more often: ev_tally, importance 0.20");
    harness.get_by_label("Merge repeated vertices");
    let texts = written(&harness);
    assert!(texts.iter().any(|it| it.text.contains("votes")));
    for text in texts {
        let words: Vec<&str> = text.text.split([' ', ',', ':']).collect();
        let of_time = [
            "ms", "µs", "ns", "s", "longer", "shorter", "call", "calls", "time",
        ];
        assert!(
            !words.iter().any(|word| of_time.contains(word)),
            "{}",
            text.text
        );
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
        actions: &mut Vec::new(),
        has_focus: false,
    };
    let shown = shown(&harness);
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
    let num_vertices = |harness: &Harness<'_, Screen>| {
        let shown = shown(harness);
        shown.drawing.vertices.len()
    };
    let before = num_vertices(&harness);
    harness.get_by_label("Merge repeated calls").click();
    harness.run();
    assert!(num_vertices(&harness) < before);
    harness.get_by_label("Call stack tree of #0-3: 2 calls merged into 1 vertex");
}

#[test]
fn a_missing_explanation_shows_that_it_is_being_computed() {
    let snapshot = Snapshot {
        explanation: None,
        ..with_focus(&demo_snapshot(), TreeIdx(3))
    };
    let harness = harness(snapshot, [900.0, 500.0]);
    harness.get_by_label("Comparing with usual executions…");
}

#[test]
fn a_tree_is_compared_with_the_usual_one_and_with_a_pinned_one() {
    let mut harness = focused();
    harness.get_by_label("Compare with usual").click();
    harness.run();
    // The usual one is #0-0: its wait is short, and it has one call of ev_tally less.
    harness.get_by_label("Call stack tree of #0-3 compared with #0-0: 1 longer");
    harness.get_by_label_contains("Calls of #0-3 and #0-0 aligned at their entries");
    harness.get_by_label("Pin #0-3 for comparison").click();
    harness.run();
    harness.get_by_label("Compare with #0-3");
    harness.get_by_label("Call stack tree of #0-3 compared with #0-3: no differences");
    harness.get_by_label("Unpin #0-3 for comparison").click();
    harness.run();
    harness.get_by_label("Compare with usual").click();
    harness.run();
    harness.get_by_label_contains("Call stack tree of #0-3: ");
}

#[test]
fn a_vertex_of_the_other_tree_alone_selects_its_call_there() {
    let forest = callgrove_app_tests::demo_run::forest_of("+r +a -a -r +r +a -a +b -b -r");
    let snapshot = with_focus(&demo_snapshot(), TreeIdx(0));
    let analysis = callgrove_session::Analysis {
        forest: forest.clone(),
        ..callgrove_session::Analysis::clone(snapshot.analysis().expect("it is analysed"))
    };
    let snapshot = changed(snapshot, |it| {
        run_of(it).calls = std::sync::Arc::new(Calls::local(forest.trace()));
        forest_in(it).analysis = std::sync::Arc::new(analysis);
    });
    let mut harness = harness(snapshot, [900.0, 500.0]);
    harness.get_by_label("Compare with usual").click();
    harness.run();
    harness.get_by_label_contains("compared with #0-1: 1 missing");
    let shown = shown(&harness);
    let missing = shown.drawing.vertices.len() - 1;
    assert_eq!(shown.call_at(missing, None).exec, ExecIdx(4));
}
