//! Matrix and list driven by label, without a display.

use std::sync::Arc;

use callgrove_model::{DurationNs, Progress, TimeNs};
use callgrove_session::{Command, RunCauses, Snapshot, TimeRange, Work};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::*;
use crate::test_support::{demo_snapshot, harness_of, snapshot};

type View = Harness<'static, WaitsState>;

/// The same session once the delays of its run were followed.
fn followed(snapshot: Snapshot) -> Snapshot {
    let trace = snapshot.trace.as_ref().expect("it is read");
    let causes = RunCauses::find(trace, Progress::none()).expect("nobody cancels");
    Snapshot {
        causes: Some(Arc::new(causes)),
        ..snapshot
    }
}

fn run() -> Snapshot {
    followed(snapshot(4, 60))
}

fn view(snapshot: Snapshot, width: f32) -> View {
    let (mut harness, _) = harness_of(snapshot, [width, 400.0], waits_ui);
    harness.run();
    harness
}

/// Whether the run has waits that a matrix can show.
fn has_waits(snapshot: &Snapshot) -> bool {
    let causes = snapshot.causes.as_ref().expect("they are known");
    let cells = causes.waits().matrix(TimeNs(i64::MIN)..TimeNs(i64::MAX));
    cells.iter().any(|cell| cell.total > DurationNs::ZERO)
}

#[test]
fn matrix_and_roots_stand_side_by_side() {
    let snapshot = run();
    let has_waits = has_waits(&snapshot);
    let has_roots = !snapshot.causes.as_ref().unwrap().roots().is_empty();
    let harness = view(snapshot, 900.0);
    harness.get_by_label("of the whole run");
    if has_waits {
        harness.get_by_label("Who waits for whom");
    } else {
        harness.get_by_label("No rank waited for another, as far as the trace tells.");
    }
    if has_roots {
        harness.get_by_label("Sort by Caused");
    } else {
        harness.get_by_label("No delay was unusual for this run, so none has a root.");
    }
}

#[test]
fn a_narrow_view_shows_one_of_the_two() {
    let mut harness = view(run(), 400.0);
    assert!(harness.query_by_label("Sort by Caused").is_none());
    harness.get_by_label("Roots").click();
    harness.run();
    assert!(harness.query_by_label("Who waits for whom").is_none());
    harness.get_by_label("Matrix").click();
    harness.run();
    assert!(harness.query_by_label("Sort by Caused").is_none());
}

#[test]
fn only_the_chosen_stretch_of_time_is_counted_until_it_is_let_go() {
    let chosen = Snapshot {
        range: Some(TimeRange {
            from: TimeNs(-2_000),
            to: TimeNs(-1_000),
        }),
        ..run()
    };
    let (mut harness, sent) = harness_of(chosen, [900.0, 400.0], waits_ui);
    harness.run();
    harness.get_by_label("No rank waited for another in the chosen stretch of time.");
    harness.get_by_label("of 1 µs chosen");
    harness.get_by_label("Whole run").click();
    harness.run();
    assert_eq!(*sent.borrow(), [Command::SelectRange(None)]);
    harness.get_by_label("of the whole run");
}

#[test]
fn without_causes_it_says_why() {
    let harness = view(demo_snapshot(), 700.0);
    harness.get_by_label("Nobody has looked who waited for whom. Open the trace again to look.");
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
    harness.get_by_label("Looking who waited for whom…");
}
