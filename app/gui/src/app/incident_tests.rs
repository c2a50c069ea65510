//! Tests of incidents in the whole window: the initial view and the keys.

use callgrove_app_tests::stall_run::{
    stalled_snapshot, trees_of_stall, with_causes, with_incident,
};
use callgrove_app_tests::trend_run::trend_snapshot;
use callgrove_app_tests::{changed, forest_in, run_of};
use callgrove_session::{Command, Label, Selection, Snapshot};
use callgrove_watch::{Collection, WatchUpdate};
use egui::{Key, Modifiers};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use super::tests::Window;
use super::watch_tests::{WAIT, Window as WatchWindow, packet};

fn select_stall(snapshot: &Snapshot, number: usize) -> Command {
    Command::Select(Selection::Group(trees_of_stall(snapshot, number)))
}

/// The window on a run whose delays are analysed after it was opened.
fn window() -> (Window, Snapshot) {
    let snapshot = stalled_snapshot();
    let mut window = Window::new(changed(snapshot.clone(), |it| {
        run_of(it).causes = None;
        forest_in(it).tree_causes = None;
    }));
    assert_eq!(window.sent(), []);
    window.publish(snapshot.clone());
    (window, snapshot)
}

fn timeline_value(window: &Window) -> String {
    let timeline = window.harness.get_by_label_contains("Timeline of");
    timeline.accesskit_node().value().unwrap_or_default()
}

#[test]
fn the_costliest_incident_is_shown_first() {
    let (window, snapshot) = window();
    assert_eq!(window.sent(), [select_stall(&snapshot, 0)]);
    let shown = window.harness.state().session.snapshot();
    assert_eq!(shown.inspected.incident, Some(0));
    window
        .harness
        .get_by_label_contains("Incident 1: Perhaps rank 2 stalled");
    let value = timeline_value(&window);
    assert!(value.contains("a delay from rank 2 to 3 ranks"), "{value}");
}

#[test]
fn an_earlier_selection_of_the_user_is_kept() {
    let snapshot = stalled_snapshot();
    let tree = trees_of_stall(&snapshot, 1)[0];
    let own = Selection::One(tree);
    let window = Window::new(Snapshot {
        selection: own.clone(),
        ..snapshot
    });
    assert_eq!(window.sent(), []);
    assert_eq!(window.harness.state().session.snapshot().selection, own);
}

#[test]
fn keys_step_through_incidents_and_label_all_executions_of_each() {
    let (mut window, snapshot) = window();
    window.sent();
    window.press(Key::ArrowDown);
    window.press(Key::X);
    let set = |number, label| Command::SetLabel {
        trees: trees_of_stall(&snapshot, number),
        label,
    };
    let expected = [select_stall(&snapshot, 1), set(1, Some(Label::Abnormal))];
    assert_eq!(window.sent(), expected);
    window.press(Key::ArrowDown);
    assert_eq!(window.sent(), [], "that was the last");
    window.press(Key::ArrowUp);
    window.press(Key::N);
    let expected = [
        select_stall(&snapshot, 0),
        set(0, Some(Label::Normal)),
        select_stall(&snapshot, 1),
    ];
    assert_eq!(window.sent(), expected, "a label moves on to the next");
    window.harness.key_press_modifiers(Modifiers::SHIFT, Key::N);
    window.harness.run();
    assert_eq!(window.sent(), [], "none has a label yet");
}

#[test]
fn i_focuses_the_list_arrows_unfold_and_digits_leave_it() {
    let (mut window, snapshot) = window();
    window.press(Key::Num1);
    window.sent();
    window.press(Key::Period);
    let next = window.sent();
    assert!(
        matches!(next[..], [Command::Select(Selection::One(_))]),
        "candidates have the keys: {next:?}"
    );
    window.publish(with_incident(&snapshot, 0));
    window.press(Key::I);
    window.press(Key::Period);
    window.press(Key::Comma);
    window.press(Key::ArrowRight);
    window.harness.get_by_label("Fold incident 1");
    window.press(Key::ArrowLeft);
    window.harness.get_by_label("Unfold incident 1");
}

#[test]
fn c_toggles_the_delay_arrows() {
    let (mut window, _) = window();
    let is_drawn = |window: &Window| timeline_value(window).contains("a delay from rank 2");
    assert!(is_drawn(&window));
    window.press(Key::C);
    assert!(!is_drawn(&window));
    window.press(Key::C);
    assert!(is_drawn(&window));
}

#[test]
fn keys_select_a_trend_and_the_timeline_shows_its_ranks_and_calls() {
    let mut window = Window::new(trend_snapshot());
    window.press(Key::I);
    window.press(Key::Period);
    let shown = |window: &Window| window.harness.state().session.snapshot().inspected.trend;
    assert_eq!(shown(&window), Some(0));
    window.harness.get_by_label("Timeline of trend 1");
    let calls = window.harness.get_by_label("Find calls of a function");
    assert_eq!(calls.accesskit_node().value().as_deref(), Some("kernel"));
    window.harness.get_by_label_contains("600 calls");
    let top = |window: &Window, rank: &str| window.harness.get_by_label(rank).rect().top();
    assert!(top(&window, "rank 4") < top(&window, "rank 0"));
    window.press(Key::Period);
    assert_eq!(shown(&window), Some(1));
    window.harness.get_by_label("Timeline of trend 2");
    assert!(top(&window, "rank 1") < top(&window, "rank 0"));
    window.press(Key::Comma);
    assert_eq!(shown(&window), Some(0));
}

#[test]
fn a_trend_is_shown_first_if_no_incident_delayed_an_execution() {
    let snapshot = trend_snapshot();
    let mut window = Window::new(changed(snapshot.clone(), |it| run_of(it).trends = None));
    window.publish(with_causes(&snapshot));
    let shown = window.harness.state().session.snapshot();
    assert_eq!(
        (shown.inspected.incident, shown.inspected.trend),
        (None, Some(0))
    );
}

#[test]
fn live_trends_are_listed_above_incidents_and_lead_to_executions() {
    let mut window = WatchWindow::new(Some("localhost:5559"));
    window.say(WatchUpdate::Connected(Box::default()));
    let request = window.asked();
    window.say(WatchUpdate::Packet(Box::new(packet(0))));
    window.say(WatchUpdate::Found {
        id: request.id,
        documents: Vec::new(),
        total: None,
    });
    let request = window.asked();
    assert_eq!(request.documents.collection, Collection::Trends);
    let text = "rank 3 1.30 times its peers in MPI_Wait throughout";
    let trend = serde_json::json!({
        "version": 1, "trend_id": "slow:0:3", "pid": 0, "kind": "slow", "holds": true, "io_step": 90, "num_ranks": 1,
        "ranks": [3], "host": null, "fid": 0, "func": WAIT, "other_funcs": [], "own": 1_300.0, "usual": 1_000.0,
        "factor": 1.3, "start": null, "peers": [0, 1], "cost": 60_000, "evidence": 9.5,
        "doubt": "there are few lanes to compare with", "words": text,
    });
    window.say(WatchUpdate::Found {
        id: request.id,
        documents: vec![trend],
        total: None,
    });
    window.click("Incidents");
    let row = format!("{text} (there are few lanes to compare with)");
    window.harness.get_by_label_contains(&row).click();
    window.harness.run();
    let filter = window.asked().documents.filter.unwrap();
    assert_eq!(filter, "pid = 0 and rid = 3 and fid = 0");
}
