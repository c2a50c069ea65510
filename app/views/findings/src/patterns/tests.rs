//! Tests of the patterns, driven by label without a display.

use std::cell::RefCell;
use std::rc::Rc;

use callgrove_app_tests::demo_run::{demo_snapshot, snapshot, with_patterns};
use callgrove_model::DurationNs;
use callgrove_session::{InspectCommand, PatternId, PatternReference, Snapshot, UserCommand, Work};
use callgrove_view_tests::{harness_of, themed, written};
use callgrove_widgets::theme::SMALLEST_TEXT;
use egui::{Key, Modifiers, Pos2, Rect, Vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use super::scale::CurveScale;
use super::*;

type View = Harness<'static, PatternsState>;

const Q: &str = "q, the share that is usual";
const S: &str = "s, how many times d is anomalous";

/// Returns a run with 4 ranks and 60 executions of `compute` each, every seventh of which takes long.
fn run() -> Snapshot {
    with_patterns(&snapshot(4, 60))
}

fn view(snapshot: Snapshot, size: [f32; 2]) -> (View, Rc<RefCell<Vec<UserCommand>>>) {
    let (mut harness, sent) = harness_of(snapshot, size, themed(patterns_ui));
    harness.run();
    (harness, sent)
}

fn wide() -> (View, Rc<RefCell<Vec<UserCommand>>>) {
    view(run(), [900.0, 620.0])
}

fn references(sent: &Rc<RefCell<Vec<UserCommand>>>) -> Vec<PatternReference> {
    let sent = sent.borrow();
    let asked = sent.iter().filter_map(|command| match command {
        UserCommand::Inspect(InspectCommand::Reference(reference)) => Some(*reference),
        _ => None,
    });
    asked.collect()
}

/// Returns the pattern that was selected first.
fn first_selected(sent: &Rc<RefCell<Vec<UserCommand>>>) -> PatternId {
    match sent.borrow().first() {
        Some(UserCommand::Inspect(InspectCommand::Pattern(Some(id)))) => *id,
        other => panic!("a pattern is selected: {other:?}"),
    }
}

fn description(harness: &View) -> String {
    let curve = harness.get_by_label_contains("Durations of");
    curve.accesskit_node().value().unwrap_or_default()
}

fn drag(harness: &mut View, from: Pos2, to: Pos2) {
    harness.drag_at(from);
    harness.run();
    for part in 1..=4 {
        harness.hover_at(from + (to - from) * (part as f32 / 4.0));
        harness.run();
    }
    harness.drop_at(to);
    harness.run();
}

#[test]
fn the_pattern_with_the_costliest_slow_occurrences_is_selected_initially() {
    let (harness, sent) = wide();
    let id = first_selected(&sent);
    let calls = run().calls().cloned().unwrap();
    let patterns = calls.patterns().unwrap();
    let excess = |id| (patterns.curve(id).unwrap()).excess(PatternReference::default());
    let most = patterns.listed().iter().map(|it| excess(it.id)).max();
    assert_eq!(Some(excess(id)), most);
    assert!(most > Some(DurationNs::ZERO));
    assert!(
        description(&harness).contains("longer than 3 × d"),
        "{}",
        description(&harness)
    );
}

#[test]
fn a_click_on_a_row_selects_a_pattern_and_a_second_one_clears_it() {
    let (mut harness, sent) = wide();
    let other = "MPI_Wait";
    let row = format!("{other}, ");
    let rows: Vec<_> = harness.query_all_by_label_contains(&row).collect();
    if let Some(row) = rows.first() {
        row.click();
    }
    drop(rows);
    harness.run();
    let num = sent.borrow().len();
    assert!(num >= 1);
    harness.get_by_label("Sort by Anomalous").click();
    harness.run();
    harness.get_by_label("Sort by Pattern").click();
    harness.run();
    let listed: Vec<PatternId> = (0..)
        .map_while(|row| harness.state().listed()?.at(row))
        .collect();
    let list = run().patterns().cloned().unwrap();
    let name = |id: &PatternId| list.patterns[list.place_of(*id).unwrap()].name.as_str();
    let names: Vec<&str> = listed.iter().map(name).collect();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn q_and_s_are_dragged_and_reset() {
    let (mut harness, sent) = wide();
    let curve = harness.get_by_label_contains("Durations of").rect();
    let q = harness.get_by_label(Q).rect();
    drag(
        &mut harness,
        Pos2::new(q.center().x, curve.bottom() - 4.0),
        Pos2::new(curve.left() + 30.0, curve.bottom() - 4.0),
    );
    let last = *references(&sent).last().expect("q was dragged");
    assert!(last.share < 0.5, "{last:?}");
    assert!((last.factor - 3.0).abs() < 1e-9);
    let s = harness.get_by_label(S).rect();
    drag(
        &mut harness,
        Pos2::new(curve.left() + 200.0, s.center().y),
        Pos2::new(curve.left() + 200.0, curve.top() + 1.0),
    );
    let last = *references(&sent).last().expect("s was dragged");
    assert!(last.factor > 3.5, "{last:?}");
    for handle in [Q, S] {
        harness.get_by_label(handle).focus();
        harness.run();
        harness.key_press(Key::Delete);
        harness.run();
    }
    assert_eq!(references(&sent).last(), Some(&PatternReference::default()));
}

#[test]
fn the_arrows_move_a_focused_handle_in_small_steps_with_shift() {
    let (mut harness, sent) = wide();
    harness.get_by_label(Q).focus();
    harness.run();
    harness.key_press(Key::ArrowRight);
    harness.run();
    let share = |sent: &Rc<RefCell<Vec<UserCommand>>>| references(sent).last().unwrap().share;
    assert!((share(&sent) - 0.76).abs() < 1e-9, "{}", share(&sent));
    harness.key_press_modifiers(Modifiers::SHIFT, Key::ArrowDown);
    harness.run();
    assert!((share(&sent) - 0.759).abs() < 1e-9, "{}", share(&sent));
    harness.get_by_label(S).focus();
    harness.run();
    harness.key_press(Key::ArrowDown);
    harness.run();
    let factor = references(&sent).last().unwrap().factor;
    assert!((factor - 2.9).abs() < 1e-9, "{factor}");
}

#[test]
fn anomalous_occurrences_are_listed_and_a_click_selects_the_call() {
    let (mut harness, sent) = wide();
    let calls = run().calls().cloned().unwrap();
    let patterns = calls.patterns().unwrap();
    let id = first_selected(&sent);
    let curve = patterns.curve(id).unwrap();
    let places = curve.anomalous(PatternReference::default());
    assert!(!places.is_empty());
    let longest = &patterns.get(id).unwrap().occurrences[places[places.len() - 1] as usize];
    harness.get_by_label("Sort by × d");
    let rank = patterns.trace().lane(longest.lane).rank;
    let of_rank = format!("{rank}, ");
    let duration = longest.duration.to_string();
    let rows: Vec<_> = harness
        .query_all_by_label_contains(&duration)
        .filter(|row| {
            row.accesskit_node()
                .label()
                .is_some_and(|label| label.starts_with(&of_rank))
        })
        .collect();
    rows.first().expect("it is listed").click();
    drop(rows);
    harness.run();
    let last = sent.borrow().last().cloned();
    let Some(UserCommand::Inspect(InspectCommand::Call(Some(call)))) = last else {
        panic!("its call is selected: {last:?}");
    };
    assert_eq!(call.lane, longest.lane);
}

#[test]
fn a_definition_unfolds_line_by_line_and_level_by_level() {
    let (mut harness, sent) = wide();
    harness.get_by_label("Definition").click();
    harness.run();
    let id = first_selected(&sent);
    let num = |harness: &View| harness.state().outline(id).len();
    let first = num(&harness);
    assert!(first > 0);
    harness.get_by_label("Fold (←)").click();
    harness.run();
    let folded = num(&harness);
    assert!(folded <= first);
    harness.get_by_label("0 levels unfolded");
    harness.get_by_label("Unfold (→)").click();
    harness.run();
    assert_eq!(num(&harness), first);
}

#[test]
fn a_narrow_view_shows_one_part_at_a_time() {
    let (mut harness, _) = view(run(), [420.0, 260.0]);
    harness.get_by_label("Sort by Total");
    assert!(harness.query_by_label(Q).is_none());
    harness.get_by_label("Curve").click();
    harness.run();
    harness.get_by_label(Q);
    harness.get_by_label("Anomalous").click();
    harness.run();
    harness.get_by_label("Sort by Iteration");
    for text in written(&harness) {
        assert!(text.size >= SMALLEST_TEXT, "{}", text.text);
    }
}

#[test]
fn an_empty_view_shows_the_reason() {
    let (harness, _) = view(demo_snapshot(), [600.0, 400.0]);
    harness.get_by_label("Patterns have not been computed. Reopen the trace to compute them.");
    let work = Some(Work {
        stage: "Looking for what recurs".to_owned(),
        fraction: 0.25,
    });
    let busy = Snapshot {
        work,
        ..demo_snapshot()
    };
    let (harness, _) = view(busy, [600.0, 400.0]);
    harness.get_by_label("Finding patterns…");
    harness.get_by_label("Looking for what recurs, 25 %");
}

#[test]
fn positions_on_the_curve_map_back_to_their_values() {
    let calls = run().calls().cloned().unwrap();
    let patterns = calls.patterns().unwrap();
    let pattern = &patterns.list().patterns[0];
    let curve = patterns.curve(pattern.id).unwrap();
    let area = Rect::from_min_size(Pos2::new(50.0, 20.0), Vec2::new(400.0, 200.0));
    let reference = PatternReference::default();
    let (usual, limit) = (curve.usual(reference), curve.limit(reference));
    let scale = CurveScale::new(area, pattern, limit);
    for share in [0.0, 0.25, 0.5, 0.75, 0.9] {
        assert!(
            (scale.share_at(scale.x(share)) - share).abs() < 1e-3,
            "{share}"
        );
    }
    assert!((scale.x(1.0) - area.right()).abs() < 1e-2);
    assert_eq!(scale.rank_at(area.right()), curve.sorted().len() - 1);
    assert_eq!(scale.rank_at(area.left()), 0);
    assert_eq!(scale.column_at(area.left(), 400), 0);
    assert_eq!(scale.column_at(area.left() + 200.5, 400), 200);
    assert_eq!(scale.column_at(area.right() + 9.0, 400), 399);
    let moved = scale.with_factor_at(scale.y(limit), usual, reference);
    assert!((moved.factor - 3.0).abs() < 0.05, "{moved:?}");
    let bottom = scale.with_factor_at(area.bottom(), usual, reference);
    assert!((bottom.factor - 1.0).abs() < 1e-9, "never below 1");
}
