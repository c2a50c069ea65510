//! Opening the execution of a record: its call in the trace, and the tree that contains it.

use std::sync::mpsc::sync_channel;

use callgrove_model::{ExecIdx, ExecRef, ProgramId};
use callgrove_session::{Command, Session, SessionHandle, UserCommand};

use callgrove_app_tests::small_session::*;

#[test]
fn a_record_leads_to_the_tree_of_its_most_promising_caller() {
    let mut session = SmallSession::on(&Disk::default());
    let seen = session.run(open("run", "MPI_Send"));
    let trace = seen.trace().unwrap();
    let (lane, found) = trace.lanes().nth(2).unwrap();
    let wait = (0..found.executions.len()).map(ExecIdx::from_index);
    let mut waits = wait.map(|exec| ExecRef { lane, exec });
    let wait = waits.find(|&call| trace.function_name(call) == "MPI_Wait()");
    let label = trace.label(wait.unwrap());

    let (sender, commands) = sync_channel(8);
    let handle = SessionHandle::new(sender, session.cell.clone());
    let mut window = Session::new(handle, None);
    let program = ProgramId(0);
    window.send(UserCommand::OpenExecution { program, label });
    assert_eq!(window.snapshot().inspected.call, wait);
    let function = "Pair::compute(int, int)".to_owned();
    let asked = commands.try_recv();
    assert_eq!(
        asked,
        Ok(Command::SetRoot {
            function: function.clone()
        })
    );

    session.run(Command::SetRoot { function });
    window.update();
    let snapshot = window.snapshot();
    let holder = snapshot
        .focus()
        .expect("the tree that contains it is selected");
    let forest = &snapshot.analysis().unwrap().forest;
    let tree = forest.tree(holder).rows();
    assert!(tree.contains(&wait.unwrap().exec.index()));
    assert_eq!(snapshot.inspected.call, wait);
}
