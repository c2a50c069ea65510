//! Tests of the details, driven by label without a display.

use std::cell::RefCell;
use std::rc::Rc;

use callgrove_app_tests::changed;
use callgrove_app_tests::demo_run::{demo_snapshot, with_focus, with_label, with_trace_write};
use callgrove_app_tests::stall_run::{stalled_snapshot, trees_of_stall};
use callgrove_model::{ExecIdx, LaneIdx, TreeIdx};
use callgrove_session::{Command, Label, Selection, UserCommand};
use callgrove_view_tests::harness_of;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;

use super::*;

/// The view of a call of rank 0, with the commands that it sent.
fn details_of(
    exec: u32,
) -> (
    Harness<'static, DetailsState>,
    Rc<RefCell<Vec<UserCommand>>>,
) {
    let snapshot = changed(demo_snapshot(), |it| {
        it.inspected.call = Some(ExecRef {
            lane: LaneIdx(0),
            exec: ExecIdx(exec),
        });
    });
    let (mut harness, sent) = harness_of(snapshot, [420.0, 700.0], details_ui);
    harness.run();
    (harness, sent)
}

/// The first execution of rank 0: compute { forward_comm { MPI_Send MPI_Wait } ev_tally … }.
#[test]
fn a_wait_shows_the_rank_that_it_waited_for() {
    let (harness, _) = details_of(3);
    harness.get_by_label("MPI_Wait");
    harness.get_by_label_contains("Waited for rank 1");
    harness.get_by_label("rank 0");
    harness.get_by_label("0:0:4");
    harness.get_by_label("forward_comm");
    harness.get_by_label_contains("4,096 bytes, tag 7");
    harness.get_by_label("Copy Event id");
}

#[test]
fn a_link_leads_to_the_caller() {
    let (mut harness, sent) = details_of(3);
    harness.get_by_label("forward_comm").click();
    harness.run();
    let caller = ExecRef {
        lane: LaneIdx(0),
        exec: ExecIdx(1),
    };
    assert_eq!(*sent.borrow(), [InspectCommand::Call(Some(caller)).into()]);
}

#[test]
fn everything_can_be_copied_as_text() {
    let (mut harness, _) = details_of(0);
    harness.get_by_label("Copy all").click();
    let copied = (0..4).find_map(|_| {
        harness.step();
        let commands = &harness.output().platform_output.commands;
        commands.iter().find_map(|command| match command {
            egui::OutputCommand::CopyText(text) => Some(text.clone()),
            _ => None,
        })
    });
    let text = copied.expect("text was copied");
    assert!(
        text.starts_with("compute\n") && text.contains("Event id: 0:0:0"),
        "{text}"
    );
}

#[test]
fn without_a_call_it_shows_a_hint() {
    let (mut harness, _) = harness_of(demo_snapshot(), [420.0, 300.0], details_ui);
    harness.run();
    harness.get_by_label("Click a call on the timeline or in the tree");
}

#[test]
fn a_trace_write_is_shown_for_its_call_and_for_the_tree_it_explains() {
    let (snapshot, tree) = with_trace_write(&demo_snapshot());
    let snapshot = with_focus(&snapshot, tree);
    let forest = &snapshot.analysis().expect("it is analysed").forest;
    let (code, call) = (forest.code(tree), forest.trees()[tree.index()].root);
    let cause = format!("{code}, trace write: 40 ms above usual, 31 ms of it");
    for call in [None, Some(call)] {
        let snapshot = changed(snapshot.clone(), |it| it.inspected.call = call);
        let (mut harness, _) = harness_of(snapshot, [420.0, 700.0], details_ui);
        harness.run();
        harness.get_by_label_contains(&cause);
        let text = "the tracer wrote its own data during the call: ";
        assert_eq!(
            harness.query_by_label_contains(text).is_some(),
            call.is_some()
        );
    }
}

#[test]
fn a_held_label_is_shown() {
    let snapshot = demo_snapshot();
    let tree = TreeIdx(3);
    let snapshot = with_label(&with_focus(&snapshot, tree), tree, Label::Abnormal);
    let snapshot = changed(snapshot, |it| it.edits.held = std::sync::Arc::new([tree]));
    let (mut harness, _) = harness_of(snapshot, [420.0, 700.0], details_ui);
    harness.run();
    harness.get_by_label_contains("#0-3, held abnormal: ");
}

#[test]
fn the_cause_of_a_delay_is_described_with_links() {
    let snapshot = stalled_snapshot();
    let causes = snapshot.causes().cloned().unwrap();
    let victim = trees_of_stall(&snapshot, 0)[3];
    let (mut harness, sent) = harness_of(with_focus(&snapshot, victim), [420.0, 700.0], details_ui);
    harness.run();
    harness.get_by_label("Victim: delayed");
    harness.get_by_label_contains("waited 49.9");
    harness.get_by_label("which stalled in MPI_Send").click();
    harness.run();
    harness.get_by_label_contains("incident 1: ").click();
    harness.run();
    let expected = [
        InspectCommand::Call(Some(causes.incidents()[0].root.call)).into(),
        Command::Select(Selection::Group(trees_of_stall(&snapshot, 0))).into(),
        InspectCommand::Incident(Some(0)).into(),
    ];
    assert_eq!(*sent.borrow(), expected);
}

#[test]
fn the_call_of_the_root_is_marked_as_root() {
    let snapshot = stalled_snapshot();
    let root = snapshot.causes().unwrap().incidents()[0].root;
    let snapshot = changed(snapshot, |it| it.inspected.call = Some(root.call));
    let (mut harness, _) = harness_of(snapshot, [420.0, 700.0], details_ui);
    harness.run();
    harness.get_by_label("Root: delayed itself");
    harness.get_by_label_contains("MPI_Send on rank 2");
    harness.get_by_label_contains("stalled 49.95");
}
