//! The open run compared with an earlier one.

use std::sync::Arc;

use callgrove_model::Progress;
use callgrove_query::{ComparedRun, RunComparison};
use callgrove_session::{Command, Presence, ViewerId};

use crate::cancelling::Stopper;
use callgrove_app_tests::small_session::*;

fn compare(source: &str) -> Command {
    Command::CompareWith {
        source: source.to_owned(),
    }
}

#[test]
fn the_rows_of_a_comparison_are_those_of_the_command() {
    let mut session = SmallSession::opened(&Disk::default());
    let seen = session.run(compare("changed run"));
    assert_eq!(errors(&seen), [""; 0]);
    let comparison = seen.comparison().unwrap();
    let after = seen.trace().unwrap();
    let [one, other] = [comparison.before().trace(), after]
        .map(|trace| ComparedRun::new(trace, Progress::none()).unwrap());
    let expected = RunComparison::of_runs(&one, &other, Progress::none()).unwrap();
    assert!(!expected.rows().is_empty(), "the runs differ");
    assert_eq!(comparison.rows(), expected.rows());
    assert_eq!(comparison.possible_rows(), expected.possible_rows());
    assert_eq!(comparison.limits(), expected.limits());
    assert_eq!(comparison.num_iterations(), expected.num_iterations());
    assert_eq!(comparison.source(), "changed run");
    assert!(seen.work.is_none());
}

#[test]
fn a_comparison_ends_by_command_and_with_its_run() {
    let mut session = SmallSession::opened(&Disk::default());
    session.run(compare("changed run"));
    assert!(session.run(Command::EndComparison).comparison().is_none());
    session.run(compare("changed run"));
    let seen = session.run(open("other run", "compute"));
    assert!(seen.comparison().is_none());
}

#[test]
fn a_run_that_cannot_be_compared_is_refused_with_its_name_and_keeps_the_former_comparison() {
    let mut session = SmallSession::opened(&Disk::default());
    let former = session.run(compare("changed run")).comparison().cloned();
    let seen = session.run(compare("nowhere"));
    assert_eq!(errors(&seen), ["No trace in nowhere."]);
    let seen_empty = session.run(compare("empty"));
    let text = last_notice(&seen_empty);
    assert!(text.starts_with("Empty has no calls to compare"), "{text}");
    for seen in [seen, seen_empty] {
        assert!(Arc::ptr_eq(
            seen.comparison().unwrap(),
            former.as_ref().unwrap()
        ));
    }
    let seen = session.run(compare("changed run"));
    assert_eq!(errors(&seen), [""; 0], "success removes the errors");
}

#[test]
fn without_a_trace_there_is_nothing_to_compare() {
    let mut session = SmallSession::on(&Disk::default());
    let seen = session.run(compare("run"));
    assert_eq!(errors(&seen), ["Open a trace first."]);
}

#[test]
fn a_cancelled_comparison_changes_nothing() {
    let (disk, stopper) = (Disk::default(), Stopper::default());
    let mut session = stopper.session(&disk);
    session.run(open("run", "compute"));
    for stage in ["Reading the earlier run", "Comparing the runs"] {
        stopper.stop_at(stage);
        let seen = session.run(compare("changed run"));
        assert!(seen.comparison().is_none(), "{stage}");
        assert_eq!(last_notice(&seen), "Cancelled; nothing was changed.");
    }
}

#[test]
fn viewers_of_a_server_are_refused_with_the_remedy() {
    let mut session = SmallSession::opened(&Disk::default());
    let viewer = ViewerId(0);
    session.run(Command::Viewer {
        viewer,
        presence: Presence::Connected {
            name: String::new(),
        },
    });
    let seen = session.run(Command::ForViewer {
        viewer,
        number: 1,
        command: Box::new(compare("run")),
    });
    assert!(seen.comparison().is_none());
    let text = last_notice(&seen);
    assert!(text.contains("`callgrove compare BEFORE AFTER`"), "{text}");
}
