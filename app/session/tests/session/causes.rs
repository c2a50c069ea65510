//! Causes and patterns of a run in the session.

use std::sync::Arc;

use callgrove_forest::{ForestFileLimits, read_forest};
use callgrove_model::{Progress, TreeIdx};
use callgrove_query::{DelayCause, RunCauses};
use callgrove_session::Command;

use crate::cancelling::Stopper;
use callgrove_app_tests::small_session::*;

#[test]
fn causes_and_patterns_come_with_the_trace_and_stay_with_another_root() {
    let mut session = SmallSession::opened(&Disk::default());
    let seen = session.seen();
    let (causes, patterns) = (
        seen.causes().cloned().unwrap(),
        seen.patterns().cloned().unwrap(),
    );
    assert!(Arc::ptr_eq(causes.trace(), seen.trace().unwrap()));
    assert!(!patterns.patterns.is_empty(), "the run repeats its steps");
    let num_trees = seen.analysis().unwrap().forest.len();
    assert!(
        seen.tree_cause(TreeIdx::from_index(num_trees - 1))
            .is_some()
    );
    let seen = session.run(Command::SetRoot {
        function: "MPI_Wait".into(),
    });
    let same = seen.causes().unwrap();
    assert!(Arc::ptr_eq(&causes, same), "nothing is computed again");
    let num_trees = seen.analysis().unwrap().forest.len();
    assert!(
        seen.tree_cause(TreeIdx::from_index(num_trees - 1))
            .is_some()
    );
    assert!(seen.tree_cause(TreeIdx::from_index(num_trees)).is_none());
}

#[test]
fn a_trace_stays_open_when_the_search_for_causes_is_cancelled() {
    for stage in ["Finding trends", "Finding the causes", "Finding patterns"] {
        let stopper = Stopper::default();
        let mut session = stopper.session(&Disk::default());
        stopper.stop_at(stage);
        let seen = session.run(open("run", "compute"));
        assert!(
            seen.detection().is_some() && seen.patterns().is_none(),
            "{stage}"
        );
        assert_eq!(
            seen.causes().is_some(),
            stage.ends_with("patterns"),
            "{stage}"
        );
        let notice = &seen.notices.last().unwrap().text;
        assert!(
            notice.starts_with("The trace is open; the search for trends, causes"),
            "{notice}"
        );
    }
}

#[test]
fn trees_with_durations_only_have_no_incidents() {
    let text = include_bytes!("../../../../assets/lammps-4r-small/pair-eam-compute.jsonl");
    let limits = ForestFileLimits::default();
    let forest = read_forest(&text[..], 0, limits, Progress::none())
        .unwrap()
        .forest;
    let causes = RunCauses::find(forest.trace(), Progress::none()).unwrap();
    assert!(!causes.is_timed() && causes.incidents().is_empty());
    assert_eq!(causes.of_tree(&forest, TreeIdx(0)), DelayCause::ON_TIME);
}
