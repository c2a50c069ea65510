//! Tests of matrix and list, driven by label without a display.

use callgrove_app_tests::changed;
use callgrove_app_tests::demo_run::demo_snapshot;
use callgrove_app_tests::stall_run::stalled_snapshot;
use callgrove_model::TimeNs;
use callgrove_session::{InspectCommand, Snapshot, TimeRange, Work};
use callgrove_view_tests::{harness_of, themed};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use super::*;

type View = Harness<'static, WaitsState>;

fn view(snapshot: Snapshot, width: f32) -> View {
    let (mut harness, _) = harness_of(snapshot, [width, 400.0], themed(waits_ui));
    harness.run();
    harness
}

#[test]
fn matrix_and_roots_are_side_by_side() {
    let harness = view(stalled_snapshot(), 900.0);
    harness.get_by_label("of the whole run");
    let matrix = harness.get_by_label("Matrix of waits between ranks");
    let summary = matrix.accesskit_node().value().unwrap_or_default();
    assert!(summary.starts_with("4 ranks; longest: rank "), "{summary}");
    assert!(summary.contains(" for rank 2, "), "{summary}");
    harness.get_by_label("Sort by Caused");
    harness.get_by_label_contains("2, MPI_Send, ");
}

#[test]
fn a_click_on_a_root_selects_its_incident_and_its_call() {
    let snapshot = stalled_snapshot();
    let (mut harness, sent) = harness_of(snapshot.clone(), [900.0, 400.0], themed(waits_ui));
    harness.run();
    let rows = harness.get_all_by_label_contains("2, MPI_Send, ");
    rows.last().expect("it is listed").click();
    harness.run();
    let call = snapshot.causes().unwrap().roots()[0].call;
    let sent = sent.borrow();
    assert!(
        sent.contains(&InspectCommand::Incident(Some(0)).into()),
        "{sent:?}"
    );
    assert_eq!(sent.last(), Some(&InspectCommand::Call(Some(call)).into()));
}

#[test]
fn a_narrow_view_shows_one_of_the_two() {
    let mut harness = view(stalled_snapshot(), 400.0);
    assert!(harness.query_by_label("Sort by Caused").is_none());
    harness.get_by_label("Roots").click();
    harness.run();
    assert!(
        harness
            .query_by_label("Matrix of waits between ranks")
            .is_none()
    );
    harness.get_by_label("Matrix").click();
    harness.run();
    assert!(harness.query_by_label("Sort by Caused").is_none());
}

#[test]
fn only_the_selected_time_range_is_counted_until_it_is_cleared() {
    let chosen = changed(stalled_snapshot(), |it| {
        it.inspected.range = Some(TimeRange {
            from: TimeNs(-2_000),
            to: TimeNs(-1_000),
        });
    });
    let (mut harness, sent) = harness_of(chosen, [900.0, 400.0], themed(waits_ui));
    harness.run();
    harness.get_by_label("No waits between ranks in the selected time range.");
    harness.get_by_label("of 1 µs selected");
    harness.get_by_label("Whole run").click();
    harness.run();
    assert_eq!(*sent.borrow(), [InspectCommand::Range(None).into()]);
    harness.get_by_label("of the whole run");
}

#[test]
fn an_empty_view_shows_the_reason() {
    let harness = view(demo_snapshot(), 700.0);
    harness.get_by_label("Wait states have not been computed. Reopen the trace to compute them.");
    let work = Some(Work {
        stage: "Following delays to their causes".to_owned(),
        fraction: 0.5,
    });
    let harness = view(
        Snapshot {
            work,
            ..demo_snapshot()
        },
        700.0,
    );
    harness.get_by_label("Computing wait states…");
}
