//! Tests of the timeline, driven by label without a display.

use std::cell::RefCell;
use std::rc::Rc;

use callgrove_app_tests::changed;
use callgrove_app_tests::demo_run::{demo_snapshot, snapshot, with_focus, with_trace_write};
use callgrove_canvas::time::Window;
use callgrove_model::{LaneIdx, TimeNs, TreeIdx};
use callgrove_session::{Command, InspectCommand, RowKind, Selection, Snapshot, UserCommand};
use callgrove_view_tests::harness_of;
use egui::{Key, Pos2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::super::state::ShownRun;
use super::*;

type View = Harness<'static, TimelineState>;

/// The view with the commands that it sent.
fn harness(snapshot: Snapshot) -> (View, Rc<RefCell<Vec<UserCommand>>>) {
    harness_of(snapshot, [1000.0, 460.0], timeline_ui)
}

fn focused() -> (View, Rc<RefCell<Vec<UserCommand>>>) {
    let (mut harness, sent) = harness(with_focus(&demo_snapshot(), TreeIdx(3)));
    harness.run();
    (harness, sent)
}

fn shown(harness: &mut View) -> &mut ShownRun {
    harness.state_mut().shown().expect("a run is shown")
}

fn window(harness: &mut View) -> Window {
    shown(harness).canvas.view.window()
}

fn kinds(harness: &mut View) -> Vec<(u32, RowKind)> {
    let rows = shown(harness).canvas.rows();
    rows.iter().map(|row| (row.lane.lane.0, row.kind)).collect()
}

/// Without a selected tree, two thirds of the window used to be empty.
#[test]
fn without_a_tree_the_whole_run_is_shown() {
    let (mut harness, _) = harness(demo_snapshot());
    harness.run();
    harness.get_by_label("Timeline of the run");
    harness.get_by_label("rank 0");
    harness.get_by_label("rank 1");
    let view = shown(&mut harness).canvas.view.clone();
    assert_eq!(view.window(), view.bounds());
}

/// Only ranks that exchange messages with the tree used to be rows.
#[test]
fn all_ranks_are_rows_and_partners_of_the_tree_come_first() {
    let tree = TreeIdx::from_index(5 * 10 + 2);
    let (mut harness, _) = harness(with_focus(&snapshot(16, 10), tree));
    harness.run();
    let rows = kinds(&mut harness);
    assert_eq!(rows.len(), 16);
    let lanes: Vec<u32> = rows.iter().map(|row| row.0).collect();
    assert_eq!(lanes[..5], [5, 4, 6, 0, 1]);
    assert!(matches!(rows[0].1, RowKind::Tree(_)));
    assert!(rows[1..].iter().all(|row| row.1 == RowKind::Strip));
}

#[test]
fn the_tree_fills_the_window_at_first() {
    let (mut harness, _) = focused();
    harness.get_by_label("Timeline of #0-3");
    let window = window(&mut harness);
    let focus = with_focus(&demo_snapshot(), TreeIdx(3));
    let forest = &focus.analysis().expect("it is analysed").forest;
    let share = forest.tree(TreeIdx(3)).duration().0 as f64 / window.length_ns() as f64;
    assert!((0.8..0.9).contains(&share), "{share}");
}

#[test]
fn keys_zoom_and_move_while_the_pointer_is_on_the_rows() {
    let (mut harness, _) = focused();
    let start = window(&mut harness);
    harness.key_press(Key::W);
    harness.run();
    assert_eq!(window(&mut harness), start, "the pointer is elsewhere");
    harness.get_by_label("Timeline of #0-3").hover();
    harness.run();
    harness.key_press(Key::W);
    harness.run();
    let zoomed = window(&mut harness);
    assert!(zoomed.length_ns() < start.length_ns() && zoomed.from > start.from);
    harness.key_press(Key::D);
    harness.run();
    assert!(window(&mut harness).from > zoomed.from);
    harness.key_press(Key::F);
    harness.run();
    assert_eq!(window(&mut harness), start);
}

#[test]
fn keys_work_with_focus_and_a_previous_view_can_be_restored() {
    let (mut harness, _) = focused();
    harness.get_by_label("Timeline of #0-3").focus();
    harness.run();
    let start = window(&mut harness);
    harness.key_press(Key::W);
    harness.run();
    let zoomed = window(&mut harness);
    assert!(zoomed.length_ns() < start.length_ns());
    harness.key_press(Key::End);
    harness.run();
    let end = window(&mut harness);
    assert!(end.from > zoomed.to && end.length_ns() == zoomed.length_ns());
    harness.key_press(Key::OpenBracket);
    harness.run();
    assert_eq!(window(&mut harness), zoomed);
    harness.get_by_label("Next view").click();
    harness.run();
    assert_eq!(window(&mut harness), end);
}

#[test]
fn a_rank_opens_into_a_stack_and_is_pinned_by_key() {
    let (mut harness, _) = harness(snapshot(4, 10));
    harness.run();
    harness.get_by_label("rank 2").click();
    harness.run();
    assert_eq!(kinds(&mut harness)[2], (2, RowKind::Stack));
    harness.get_by_label("rank 2").focus();
    harness.key_press(Key::P);
    harness.run();
    harness.run();
    assert_eq!(kinds(&mut harness)[0], (2, RowKind::Stack));
}

#[test]
fn ranks_are_chosen_by_text() {
    let (mut harness, _) = harness(snapshot(6, 10));
    harness.run();
    let field = harness.get_by_label("Ranks to show");
    field.focus();
    field.type_text("1-2, 5");
    harness.run();
    harness.run();
    let lanes: Vec<u32> = kinds(&mut harness).iter().map(|row| row.0).collect();
    assert_eq!(lanes, [1, 2, 5]);
    let field = harness.get_by_label("Ranks to show");
    field.focus();
    field.type_text("-3");
    harness.run();
    harness.get_by_label_contains("ends before it begins");
}

#[test]
fn clicking_the_mark_of_an_abnormal_execution_selects_it() {
    let (mut harness, sent) = focused();
    let all = shown(&mut harness).canvas.view.bounds();
    // The whole run, in which the marks are narrow.
    shown(&mut harness).canvas.view.jump(all);
    harness.run();
    let rect = harness.get_by_label("Timeline of #0-3").rect();
    let flag = *shown(&mut harness)
        .flagged
        .touching(LaneIdx(0), all.from, all.to)
        .next()
        .expect("rank 0 has slow executions");
    let x = rect.left() + all.share_of(flag.from) as f32 * rect.width() + 1.0;
    let at = Pos2::new(x, rect.top() + 5.0);
    harness.hover_at(at);
    harness.drag_at(at);
    harness.drop_at(at);
    harness.run();
    let tree = flag.tree.expect("it is a tree");
    assert_eq!(
        *sent.borrow(),
        [Command::Select(Selection::One(tree)).into()]
    );
}

#[test]
fn a_point_of_the_overview_selects_its_tree_and_a_drag_zooms() {
    let (mut harness, sent) = harness(demo_snapshot());
    harness.run();
    let rect = harness.get_by_label("Overview of the run").rect();
    let all = window(&mut harness);
    let longest = *shown(&mut harness)
        .flagged
        .all()
        .iter()
        .max_by_key(|span| span.duration())
        .expect("some are abnormal");
    let left = rect.left() + callgrove_canvas::time::GUTTER;
    let x = left + all.share_of(longest.from) as f32 * (rect.right() - left);
    let at = Pos2::new(x, rect.top() + 6.0);
    harness.hover_at(at);
    harness.drag_at(at);
    harness.drop_at(at);
    harness.run();
    assert!(matches!(
        sent.borrow()[0],
        UserCommand::Engine(Command::Select(Selection::One(_)))
    ));
    let middle = Pos2::new(rect.center().x, rect.center().y);
    harness.drag_at(middle);
    harness.run();
    harness.hover_at(middle + egui::vec2(60.0, 0.0));
    harness.run();
    harness.drop_at(middle + egui::vec2(60.0, 0.0));
    harness.run();
    let brushed = window(&mut harness);
    assert!(brushed.length_ns() * 5 < all.length_ns(), "{brushed:?}");
}

#[test]
fn opened_ranks_stay_open_when_another_tree_is_selected() {
    let first = with_focus(&demo_snapshot(), TreeIdx(3));
    let second = with_focus(&first, TreeIdx(5));
    let mut state = TimelineState::default();
    let run = state.show(&first).expect("a run is shown");
    run.canvas.set_stack(LaneIdx(1), true);
    let window = run.canvas.view.window();
    let run = state.show(&second).expect("a run is shown");
    assert_ne!(run.canvas.view.window(), window);
    assert!(run.canvas.view.can_go().0);
}

/// Drags from one position of the rows to another, as fractions of their width, with Shift held.
fn choose_range(harness: &mut View, from: f32, to: f32) {
    let rect = harness.get_by_label_contains("Timeline of").rect();
    let at = |share: f32| Pos2::new(rect.left() + rect.width() * share, rect.bottom() - 4.0);
    harness.event_modifiers(egui::Event::PointerMoved(at(from)), egui::Modifiers::SHIFT);
    harness.run();
    for (share, pressed) in [(from, Some(true)), (to, None), (to, Some(false))] {
        let event = match pressed {
            Some(pressed) => egui::Event::PointerButton {
                pos: at(share),
                button: egui::PointerButton::Primary,
                pressed,
                modifiers: egui::Modifiers::SHIFT,
            },
            None => egui::Event::PointerMoved(at(share)),
        };
        harness.event_modifiers(event, egui::Modifiers::SHIFT);
        harness.run();
    }
    harness.run();
}

#[test]
fn a_range_is_measured_and_its_functions_are_added_up() {
    let (mut harness, sent) = harness(demo_snapshot());
    harness.run();
    choose_range(&mut harness, 0.2, 0.6);
    harness.get_by_label_contains("ms selected");
    harness.get_by_label("Exclusive");
    harness.get_by_label("ev_tally").click();
    harness.run();
    harness.run();
    harness.get_by_label("Durations of ev_tally").click();
    harness.run();
    let spans = shown(&mut harness)
        .statistics
        .as_ref()
        .and_then(StatisticsState::spans);
    assert!(spans.is_some_and(|spans| !spans.all().is_empty()));
    harness.get_by_label("Close").click();
    harness.run();
    harness.run();
    assert_eq!(
        sent.borrow().last(),
        Some(&InspectCommand::Range(None).into())
    );
}

#[test]
fn calls_are_searched_by_key_and_stepped_through() {
    let (mut harness, _) = harness(demo_snapshot());
    harness.run();
    harness.get_by_label("Timeline of the run").focus();
    harness.run();
    harness.key_press(Key::Slash);
    harness.run();
    harness.run();
    harness
        .get_by_label("Find calls of a function")
        .type_text("wait");
    harness.run();
    harness.run();
    harness.get_by_label("40 calls");
    harness.key_press(Key::Enter);
    harness.run();
    harness.run();
    harness.get_by_label("1 of 40 calls");
    harness.get_by_label("Previous match").click();
    harness.run();
    harness.run();
    harness.get_by_label("40 of 40 calls");
}

#[test]
fn arrow_keys_walk_from_call_to_call() {
    let (mut harness, sent) = focused();
    harness.get_by_label("Timeline of #0-3").focus();
    harness.run();
    let mut press = |key| {
        harness.key_press(key);
        harness.run();
        let Some(UserCommand::Inspect(InspectCommand::Call(Some(call)))) =
            sent.borrow().last().cloned()
        else {
            panic!("a call is selected");
        };
        shown(&mut harness)
            .canvas
            .trace()
            .function_name(call)
            .to_owned()
    };
    assert_eq!(press(Key::ArrowDown), "compute", "the longest in view");
    assert_eq!(press(Key::ArrowDown), "forward_comm");
    assert_eq!(press(Key::ArrowDown), "MPI_Wait");
    assert_eq!(press(Key::ArrowLeft), "MPI_Send");
    assert_eq!(press(Key::ArrowUp), "forward_comm");
    assert_eq!(press(Key::ArrowRight), "ev_tally");
}

#[test]
fn a_mark_is_added_by_key_with_a_text_and_deleted_in_the_menu() {
    let mark = callgrove_session::Mark {
        id: 7,
        range: callgrove_session::TimeRange::between(
            callgrove_model::TimeNs(1_500_000),
            callgrove_model::TimeNs(1_500_000),
        ),
        text: "first stop".to_owned(),
    };
    let marked = changed(demo_snapshot(), |it| it.edits.marks = [mark].into());
    let (mut harness, sent) = harness(marked);
    harness.run();
    harness.get_by_label("Timeline of the run").focus();
    harness.run();
    harness.key_press(Key::M);
    harness.run();
    harness.run();
    harness
        .get_by_label("Text of the mark")
        .type_text("slow here");
    harness.key_press(Key::Enter);
    harness.run();
    harness.get_by_label("Marks (1)").click();
    harness.run();
    harness.get_by_label("1.500 ms: first stop");
    harness.get_by_label("Delete").click();
    harness.run();
    let sent = sent.borrow();
    let UserCommand::Engine(Command::SetMark { id: None, text, .. }) = &sent[0] else {
        panic!("a mark is set: {sent:?}");
    };
    assert_eq!(text, "slow here");
    assert_eq!(sent[1], Command::DeleteMark { id: 7 }.into());
}

#[test]
fn trace_writes_are_hatched_and_have_a_tooltip() {
    let (snapshot, tree) = with_trace_write(&demo_snapshot());
    let (mut harness, _) = harness(with_focus(&snapshot, tree));
    harness.run();
    harness.get_by_label("trace write");
    let write = snapshot.trace().expect("it is open").writes[0];
    let view = shown(&mut harness).canvas.view.clone();
    let middle = TimeNs(write.start.0.midpoint(write.end.0));
    assert!(view.window().share_of(middle) < 1.0, "it is in view");
    let rows = harness.get_by_label_contains("Timeline of #").rect();
    let share = view.window().share_of(middle) as f32;
    let row = shown(&mut harness).canvas.rows()[0];
    let over = |y: f32| Pos2::new(rows.left() + share * rows.width(), rows.top() + y);
    harness.hover_at(over(row.bars_top + 1.0));
    harness.run();
    harness.get_by_label("The tracer wrote its own data here: 31 ms");
    harness.get_by_label("compute");
    // There is no tooltip below the bars of the row.
    harness.hover_at(over(row.bottom - 1.0));
    harness.run();
    let shown = harness.query_by_label("The tracer wrote its own data here: 31 ms");
    assert!(shown.is_none());
}

#[test]
fn a_trace_without_writes_has_no_legend_of_them() {
    let (mut harness, _) = harness(demo_snapshot());
    harness.run();
    assert!(harness.query_by_label("trace write").is_none());
}
