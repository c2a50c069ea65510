//! Tests of two compared runs in the whole window: the list of changes, both timelines and both usual executions.

use std::sync::Arc;

use callgrove_actions::View;
use callgrove_app_tests::demo_run::demo_snapshot;
use callgrove_app_tests::stall_run::stalled_snapshot;
use callgrove_app_tests::{changed, run_of};
use callgrove_model::Progress;
use callgrove_session::{Command, ComparedWith, Snapshot};
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use super::tests::Window;

/// Returns a session in which the open run is compared with the run of another session.
fn compared(after: &Snapshot, before: &Snapshot) -> Snapshot {
    let [earlier, open] = [before, after].map(|it| it.trace().expect("it is loaded"));
    let none = Progress::none;
    let comparison = ComparedWith::new("earlier", [earlier, open], None, none());
    let comparison = comparison.expect("it is not cancelled");
    let comparison = comparison.with_root("compute", open, none());
    let comparison = comparison.expect("it is not cancelled");
    changed(after.clone(), |it| {
        it.revision = after.revision + 1;
        run_of(it).comparison = Some(Arc::new(comparison));
    })
}

fn different() -> (Window, Snapshot) {
    let after = stalled_snapshot();
    let snapshot = compared(&after, &demo_snapshot());
    let mut window = Window::new(after);
    window.publish(snapshot.clone());
    (window, snapshot)
}

#[test]
fn the_key_asks_for_the_earlier_run_and_sends_it() {
    let mut window = Window::new(demo_snapshot());
    window
        .harness
        .key_press_modifiers(Modifiers::COMMAND, Key::D);
    window.harness.run();
    window.harness.get_by_label("Compare with an earlier run");
    window
        .harness
        .get_by_label("Path")
        .type_text("runs/earlier");
    window.harness.run();
    window.click("Compare");
    let source = "runs/earlier".to_owned();
    assert_eq!(window.sent(), [Command::CompareWith { source }]);
}

#[test]
fn a_new_comparison_comes_to_the_front_and_keys_show_its_changes_in_the_other_views() {
    let (mut window, snapshot) = different();
    let comparison = snapshot.comparison().expect("it is compared");
    let state = window.harness.state();
    assert_eq!(state.focus, Some(View::Changes));
    assert!(!comparison.rows().is_empty(), "the runs differ");
    let trace = snapshot.trace().expect("it is loaded");
    let at = comparison
        .rows()
        .iter()
        .position(|row| ComparedWith::function(row, trace).is_some())
        .expect("a change is about a function of the open run");
    for _ in 0..=at {
        window.press(Key::ArrowDown);
    }
    let search = window.harness.get_by_label("Find calls of a function");
    let found = search.accesskit_node().value();
    assert_eq!(found.as_deref(), Some(&comparison.rows()[at].function[..]));
    window.click("End");
    assert!(window.sent().contains(&Command::EndComparison));
}

#[test]
fn equal_runs_are_reported_with_how_much_was_compared() {
    let after = demo_snapshot();
    let mut window = Window::new(after.clone());
    window.publish(compared(&after, &after));
    let text = window.harness.get_by_label_contains("Nothing changed:");
    let text = text.accesskit_node().value().unwrap_or_default();
    assert!(text.contains("ways"), "{text}");
}

#[test]
fn without_a_comparison_the_view_offers_one() {
    let mut window = Window::new(demo_snapshot());
    window.press(Key::B);
    window.click("Compare with an earlier run…");
    window.harness.get_by_label("Path");
}

#[test]
fn both_timelines_have_one_zoom() {
    let (mut window, _) = different();
    let in_view = |window: &Window| {
        let text = window.harness.get_by_label_contains(" in view");
        text.accesskit_node().value().unwrap_or_default()
    };
    let before = in_view(&window);
    window.harness.get_by_label("Timeline of BEFORE").hover();
    window.harness.run();
    window.press(Key::W);
    window.harness.run();
    assert_ne!(in_view(&window), before, "AFTER follows");
    window.click("Hide");
    assert!(
        window
            .harness
            .query_by_label("Timeline of BEFORE")
            .is_none()
    );
    window.click("Show BEFORE");
    window.harness.get_by_label("Timeline of BEFORE");
}

#[test]
fn the_usual_executions_of_both_runs_are_one_tree() {
    let (mut window, snapshot) = different();
    window.press(Key::Num3);
    window.click("BEFORE and AFTER");
    window.sent();
    let comparison = snapshot.comparison().expect("it is compared");
    let pair = comparison.usual().expect("a function is chosen");
    pair.expect("both runs call it");
    window
        .harness
        .get_by_label_contains("AFTER compared with BEFORE");
    window.click("Selected execution");
    assert!(
        window
            .harness
            .query_by_label_contains("AFTER compared with BEFORE")
            .is_none()
    );
}
