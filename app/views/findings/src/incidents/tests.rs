//! Tests of the list, driven by label without a display.

use std::cell::RefCell;
use std::rc::Rc;

use callgrove_app_tests::demo_run::{demo_snapshot, with_label};
use callgrove_app_tests::stall_run::{stalled_snapshot, trees_of_stall, with_incident};
use callgrove_app_tests::trend_run::{doubted_trend_snapshot, trend_snapshot};
use callgrove_app_tests::{changed, run_of};
use callgrove_model::TreeIdx;
use callgrove_session::{Command, InspectCommand, Label, Selection, Snapshot, UserCommand, Work};
use callgrove_view_tests::{harness_of, written};
use callgrove_widgets::theme::SMALLEST_TEXT;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::{IncidentsState, incidents_ui};

type View = Harness<'static, IncidentsState>;

const FIRST: &str = "Incident 1: Perhaps rank 2 stalled";

fn view(snapshot: Snapshot) -> (View, Rc<RefCell<Vec<UserCommand>>>) {
    let (mut harness, sent) = harness_of(snapshot, [320.0, 600.0], incidents_ui);
    harness.run();
    (harness, sent)
}

#[test]
fn an_incident_shows_its_cause_cost_and_victims() {
    let (harness, _) = view(stalled_snapshot());
    harness.get_by_label_contains(FIRST);
    let described = harness.query_all_by_label_contains("in MPI_Send; 3 ranks waited");
    assert_eq!(described.count(), 2);
    harness.get_by_label_contains("Incident 2: Perhaps rank 1 stalled");
    let texts: Vec<String> = written(&harness).into_iter().map(|it| it.text).collect();
    let has = |part: &str| texts.iter().any(|text| text.contains(part));
    assert!(has("4 ranks · 4 executions of compute"), "{texts:?}");
    assert!(has("at 120 ms") && has(" ms lost in "), "{texts:?}");
}

#[test]
fn a_click_selects_the_delayed_trees_and_then_the_incident() {
    let snapshot = stalled_snapshot();
    let (mut harness, sent) = view(snapshot.clone());
    harness.get_by_label_contains(FIRST).click();
    harness.run();
    let expected = [
        Command::Select(Selection::Group(trees_of_stall(&snapshot, 0))).into(),
        InspectCommand::Incident(Some(0)).into(),
    ];
    assert_eq!(*sent.borrow(), expected);
}

#[test]
fn it_unfolds_to_its_executions_with_their_roles() {
    let snapshot = stalled_snapshot();
    let (mut harness, sent) = view(snapshot.clone());
    harness.get_by_label("Unfold incident 1").click();
    harness.run();
    let forest = &snapshot.analysis().unwrap().forest;
    let code = |tree: TreeIdx| forest.code(tree).to_string();
    let trees = trees_of_stall(&snapshot, 0);
    harness.get_by_label(&format!("Execution {}, root", code(trees[2])));
    harness.get_by_label("No delayed calls outside compute");
    let victim = format!("Execution {}, victim of rank 2", code(trees[3]));
    harness.get_by_label(&victim).click();
    harness.run();
    let expected = [
        Command::Select(Selection::One(trees[3])).into(),
        InspectCommand::Incident(Some(0)).into(),
    ];
    assert_eq!(*sent.borrow(), expected);
    harness.get_by_label("Fold incident 1").click();
    harness.run();
    assert!(harness.query_by_label(&victim).is_none());
}

#[test]
fn its_buttons_label_all_its_executions_in_one_command_and_remove_the_label() {
    let snapshot = with_incident(&stalled_snapshot(), 0);
    let trees = trees_of_stall(&snapshot, 0);
    let (mut harness, sent) = view(snapshot.clone());
    harness.get_by_label("Abnormal incident 1").click();
    harness.run();
    let set = |label| Command::SetLabel {
        trees: trees.clone(),
        label,
    };
    assert_eq!(*sent.borrow(), [set(Some(Label::Abnormal)).into()]);
    let labelled = (trees.iter()).fold(snapshot, |snapshot, &tree| {
        with_label(&snapshot, tree, Label::Abnormal)
    });
    let (mut harness, sent) = view(labelled);
    harness.get_by_label("Abnormal incident 1").click();
    harness.run();
    assert_eq!(*sent.borrow(), [set(None).into()]);
}

#[test]
fn an_empty_list_shows_the_reason() {
    let (harness, _) = view(demo_snapshot());
    harness.get_by_label("Causes have not been computed.");
    let (harness, _) = view(Snapshot {
        work: Some(Work {
            stage: "Following delays to their causes".to_owned(),
            fraction: 0.5,
        }),
        ..demo_snapshot()
    });
    harness.get_by_label("Tracing delays to their causes…");
    harness.get_by_label("Following delays to their causes, 50 %");
}

#[test]
fn texts_are_legible_and_stay_inside_their_card() {
    for width in [220.0, 320.0, 560.0] {
        let snapshot = with_incident(&stalled_snapshot(), 0);
        let (mut harness, _) = harness_of::<IncidentsState>(snapshot, [width, 600.0], incidents_ui);
        harness.run();
        let card = harness.get_by_label_contains(FIRST).rect();
        for text in written(&harness) {
            assert!(text.size >= SMALLEST_TEXT, "{}", text.text);
            let is_of_card = card.contains(text.rect.center());
            let is_inside = card.expand(1.0).contains_rect(text.rect);
            assert!(!is_of_card || is_inside, "{} at {width}", text.text);
        }
    }
}

/// The text of the trend of the slow rank.
const SLOW: &str = "rank 4 1.30 times its peers in kernel throughout";

#[test]
fn trends_are_listed_above_the_incidents_with_text_figures_and_cost() {
    let (harness, _) = view(trend_snapshot());
    harness.get_by_label_contains(SLOW);
    harness.get_by_label_contains("rank 1 grows from");
    let texts: Vec<String> = written(&harness).into_iter().map(|it| it.text).collect();
    let has = |part: &str| texts.iter().any(|text| text.contains(part));
    assert!(has("2 trends") && has(" ms lost"), "{texts:?}");
    assert!(has("throughout") && has("growing"), "{texts:?}");
    let snapshot = changed(stalled_snapshot(), |it| {
        run_of(it).trends = trend_snapshot().trends().cloned();
    });
    let (harness, _) = view(snapshot);
    let trend = harness.get_by_label_contains(SLOW).rect();
    let incident = harness.get_by_label_contains(FIRST).rect();
    assert!(trend.bottom() <= incident.top());
}

#[test]
fn a_click_on_a_trend_selects_it_and_its_button_compares_its_function() {
    let snapshot = trend_snapshot();
    let (mut harness, sent) = view(snapshot.clone());
    harness.get_by_label_contains(SLOW).click();
    harness.run();
    let number = slow_trend(&snapshot);
    let expected = [
        InspectCommand::Range(None).into(),
        InspectCommand::Trend(Some(number)).into(),
    ];
    assert_eq!(*sent.borrow(), expected);
    let (mut harness, sent) = view(changed(snapshot, |it| it.inspected.trend = Some(number)));
    harness.get_by_label("Compare executions of kernel").click();
    harness.run();
    let function = "kernel".to_owned();
    assert_eq!(*sent.borrow(), [Command::SetRoot { function }.into()]);
}

#[test]
fn the_text_of_a_trend_stays_inside_its_card() {
    for width in [220.0, 320.0, 560.0] {
        let snapshot = doubted_trend_snapshot();
        let snapshot = changed(snapshot, |it| it.inspected.trend = Some(slow_trend(it)));
        let (mut harness, _) = harness_of::<IncidentsState>(snapshot, [width, 600.0], incidents_ui);
        harness.run();
        let card = harness.get_by_label_contains(SLOW).rect();
        for text in written(&harness) {
            assert!(text.size >= SMALLEST_TEXT, "{}", text.text);
            let is_of_card = card.contains(text.rect.center());
            let is_inside = card.expand(1.0).contains_rect(text.rect);
            assert!(!is_of_card || is_inside, "{} at {width}", text.text);
        }
    }
}

/// Returns the number of the trend of the slow rank.
fn slow_trend(snapshot: &Snapshot) -> usize {
    let trends = snapshot.trends().unwrap();
    let is_slow = |sentence: String| sentence.starts_with(SLOW);
    trends.sentences().position(is_slow).unwrap()
}
