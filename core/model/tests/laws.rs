//! Laws that hold for every trace, complete or damaged.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

use std::sync::Arc;

use callgrove_model::{
    CommKind, DurationNs, ExecIdx, Forest, FuncEventKind, FuncId, FunctionPattern, NameTable,
    ProgramId, RankBuilder, RankId, RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace,
    TreeCode, TreeIdx, WarningKind, Warnings,
};
use proptest::prelude::*;

const THREAD: ThreadId = ThreadId(0);
const FUNCTIONS: [&str; 3] = ["main()", "A::compute(int)", "MPI_Send()"];

/// An event of a generated rank, with the time since the event before.
#[derive(Clone, Copy, Debug)]
enum Event {
    Enter(u32),
    Exit(u32),
    Send(u32),
    Recv(u32),
}

fn event() -> impl Strategy<Value = (Event, i64)> {
    let event = prop_oneof![
        4 => (0..3_u32).prop_map(Event::Enter),
        4 => (0..3_u32).prop_map(Event::Exit),
        1 => (0..3_u32).prop_map(Event::Send),
        1 => (0..3_u32).prop_map(Event::Recv),
    ];
    (event, 0..5_i64)
}

/// Returns the trace of events in steps of `step_length` events each.
fn rank(rank: u32, events: &[(Event, i64)], step_length: usize) -> RankTrace {
    let mut names = NameTable::default();
    // Every rank numbers the names in its own order.
    for offset in 0..FUNCTIONS.len() {
        names.intern(FUNCTIONS[(offset + rank as usize) % FUNCTIONS.len()]);
    }
    let mut builder = RankBuilder::new(ProgramId(0), RankId(rank));
    for batch in steps(rank, events, step_length, &names) {
        builder.push(batch);
    }
    builder.finish(names, NameTable::default())
}

fn steps(
    rank: u32,
    events: &[(Event, i64)],
    step_length: usize,
    names: &NameTable,
) -> Vec<StepBatch> {
    let func = |of: u32| names.get(FUNCTIONS[of as usize]).unwrap();
    let mut time = TimeNs(0);
    let mut batches = Vec::new();
    for (step, events) in events.chunks(step_length).enumerate() {
        let mut batch = StepBatch::empty(ProgramId(0), RankId(rank), StepId(step as u32));
        for &(event, after) in events {
            time = time + DurationNs(after);
            let row = batch.funcs.len() as u32;
            match event {
                Event::Enter(of) => {
                    batch
                        .funcs
                        .push(THREAD, FuncEventKind::Entry, func(of), time, row);
                }
                Event::Exit(of) => {
                    batch
                        .funcs
                        .push(THREAD, FuncEventKind::Exit, func(of), time, row);
                }
                Event::Send(to) => batch
                    .comms
                    .push(THREAD, CommKind::Send, 7, RankId(to), 8, time),
                Event::Recv(from) => {
                    batch
                        .comms
                        .push(THREAD, CommKind::Recv, 7, RankId(from), 8, time);
                }
            }
        }
        batches.push(batch);
    }
    batches
}

/// Returns a description of each execution when it has ended, from a rank that is read step by step.
fn followed(events: &[(Event, i64)], step_length: usize, num_last: usize) -> Vec<String> {
    let mut names = NameTable::default();
    for name in FUNCTIONS {
        names.intern(name);
    }
    let mut builder = RankBuilder::new(ProgramId(0), RankId(0));
    let mut is_described = Vec::new();
    let mut descriptions = Vec::new();
    for batch in steps(0, events, step_length, &names) {
        builder.push(batch);
        for (_, lane) in builder.lanes() {
            let (executions, comms) = (lane.executions(), lane.comms());
            is_described.resize(executions.len(), false);
            for (row, is_described) in is_described.iter_mut().enumerate() {
                let exec = ExecIdx::from_index(row);
                if executions.is_open(exec) || *is_described {
                    continue;
                }
                *is_described = true;
                let entry = |of: ExecIdx| (executions.step[of.index()], executions.row[of.index()]);
                let is_own = |owner: &&Option<_>| owner.map(ExecIdx::from) == Some(exec);
                descriptions.push(format!(
                    "{:?} {:?} in {:?} of {:?}, {} deep, {} messages",
                    entry(exec),
                    executions.exclusive[row],
                    executions.inclusive[row],
                    executions.parent(exec).map(entry),
                    executions.depth[row],
                    comms.exec.iter().filter(is_own).count(),
                ));
            }
        }
        builder.retire(
            num_last,
            |_| None,
            usize::MAX,
            |_, kept| {
                is_described = kept.iter().map(|old| is_described[old.index()]).collect();
            },
        );
    }
    descriptions.sort();
    descriptions
}

/// Returns the whole trace as text.
fn picture(trace: &Trace) -> String {
    let mut text = String::new();
    for lane in &trace.lanes {
        let executions = &lane.executions;
        for row in 0..executions.len() {
            text += &format!(
                "{} {} {:?} {:?} {:?} {} {}\n",
                lane.rank,
                trace.names.name(executions.func[row]),
                executions.entry[row],
                executions.inclusive[row],
                executions.parent(ExecIdx::from_index(row)),
                executions.subtree_end[row],
                executions.closed[row],
            );
        }
        text += &format!("{:?} {:?}\n", lane.comms.exec, lane.comms.mate);
    }
    text + &format!("{:?}", trace.messages)
}

proptest! {
    #[test]
    fn dropping_ended_executions_does_not_change_later_results(
        events in proptest::collection::vec(event(), 0..80),
        step_length in 1..20_usize,
        num_last in 0..6_usize,
    ) {
        let expected = followed(&events, step_length, usize::MAX);
        prop_assert_eq!(followed(&events, step_length, num_last), expected);
    }

    #[test]
    fn times_and_ranges_of_executions_nest(events in proptest::collection::vec(event(), 0..80)) {
        let trace = Trace::assemble(vec![rank(0, &events, 10)], Warnings::default());
        let Some(lane) = trace.lanes.first() else { return Ok(()) };
        let executions = &lane.executions;
        for row in 0..executions.len() {
            let exec = ExecIdx::from_index(row);
            let range = executions.subtree(exec);
            let exclusive: DurationNs = executions.exclusive[range.clone()].iter().copied().sum();
            prop_assert_eq!(exclusive, executions.inclusive[row], "exclusive times add up");
            prop_assert!(executions.exclusive[row] >= DurationNs::ZERO, "no time is spent twice");
            if let Some(parent) = executions.parent(exec) {
                let outer = executions.subtree(parent);
                prop_assert!(outer.start < range.start && range.end <= outer.end, "ranges nest");
                prop_assert!(executions.exit(exec) <= executions.exit(parent), "times nest");
                prop_assert_eq!(executions.depth[row], executions.depth[parent.index()] + 1);
            }
        }
    }

    #[test]
    fn the_division_into_steps_does_not_matter(
        events in proptest::collection::vec(event(), 1..80),
        step_length in 1..20_usize,
    ) {
        // Two events at one time are only ordered within a step, so times differ here.
        let events: Vec<_> = events.iter().map(|&(event, after)| (event, after + 1)).collect();
        let whole = Trace::assemble(vec![rank(0, &events, events.len())], Warnings::default());
        let cut = Trace::assemble(vec![rank(0, &events, step_length)], Warnings::default());
        prop_assert_eq!(picture(&whole), picture(&cut));
    }

    #[test]
    fn the_order_in_which_ranks_arrive_does_not_matter(
        a in proptest::collection::vec(event(), 0..40),
        b in proptest::collection::vec(event(), 0..40),
    ) {
        let forward = Trace::assemble(vec![rank(0, &a, 9), rank(1, &b, 9)], Warnings::default());
        let backward = Trace::assemble(vec![rank(1, &b, 9), rank(0, &a, 9)], Warnings::default());
        prop_assert_eq!(picture(&forward), picture(&backward));
        prop_assert_eq!(forward.warnings, backward.warnings);
    }

    #[test]
    fn every_message_is_matched_in_order_or_counted(
        a in proptest::collection::vec(event(), 0..40),
        b in proptest::collection::vec(event(), 0..40),
    ) {
        let trace = Trace::assemble(vec![rank(0, &a, 9), rank(1, &b, 9)], Warnings::default());
        let num_events: usize = trace.lanes.iter().map(|lane| lane.comms.len()).sum();
        let num_mates: usize = trace.lanes.iter().map(|lane| lane.comms.mate.iter().flatten().count()).sum();
        let unmatched = [WarningKind::UnmatchedSend, WarningKind::UnmatchedRecv, WarningKind::PartnerMissing, WarningKind::OneSideOnly];
        let num_unmatched: u64 = unmatched.iter().map(|&kind| trace.warnings.total(kind)).sum();
        prop_assert_eq!(num_mates, 2 * trace.messages.len());
        prop_assert_eq!(num_mates as u64 + num_unmatched, num_events as u64);
        for pair in trace.messages.windows(2) {
            let lanes = |at: usize| (pair[at].send.lane, pair[at].recv.lane);
            if lanes(0) == lanes(1) {
                prop_assert!(pair[0].recv.row < pair[1].recv.row, "messages of one channel do not overtake");
            }
        }
    }

    #[test]
    fn trees_match_their_lanes(events in proptest::collection::vec(event(), 0..80)) {
        let trace = Arc::new(Trace::assemble(vec![rank(0, &events, 10)], Warnings::default()));
        let functions = Forest::functions_named(&trace, &FunctionPattern::new("A::compute"));
        let forest = Forest::grow(Arc::clone(&trace), &functions);
        for (at, tree_ref) in forest.trees().iter().enumerate() {
            prop_assert_eq!(tree_ref.code, TreeCode { rank: RankId(0), index: at as u32 });
            let tree = forest.tree(TreeIdx::from_index(at));
            prop_assert_eq!(tree.parent(0), None);
            for vertex in 0..tree.len() {
                for child in tree.children(vertex) {
                    prop_assert_eq!(tree.parent(child), Some(vertex));
                    prop_assert_eq!(tree.depth(child), tree.depth(vertex) + 1);
                }
                let num_inside: usize = tree.children(vertex).map(|child| tree.subtree_end(child) - child).sum();
                prop_assert_eq!(vertex + 1 + num_inside, tree.subtree_end(vertex));
            }
        }
    }
}

#[test]
fn executions_without_end_are_counted_and_left_out_of_the_forest() {
    let events = [
        (Event::Enter(1), 1),
        (Event::Exit(1), 1),
        (Event::Enter(1), 1),
    ];
    let trace = Arc::new(Trace::assemble(
        vec![rank(0, &events, 9)],
        Warnings::default(),
    ));
    let functions = Forest::functions_named(&trace, &FunctionPattern::new("compute"));
    let forest = Forest::grow(trace, &functions);
    assert_eq!((forest.len(), forest.num_unclosed()), (1, 1));
}

#[test]
fn messages_with_a_missing_rank_are_counted() {
    let trace = Trace::assemble(
        vec![rank(0, &[(Event::Send(5), 1), (Event::Recv(0), 1)], 9)],
        Warnings::default(),
    );
    assert_eq!(trace.warnings.total(WarningKind::PartnerMissing), 1);
    assert_eq!(trace.warnings.total(WarningKind::UnmatchedRecv), 1);
}

#[test]
fn ranks_are_joined_by_name() {
    let events = [(Event::Enter(2), 1), (Event::Exit(2), 1)];
    let trace = Trace::assemble(
        vec![rank(0, &events, 9), rank(1, &events, 9)],
        Warnings::default(),
    );
    let send = trace.names.get("MPI_Send()").unwrap();
    assert_eq!(trace.lanes[0].executions.func, [send]);
    assert_eq!(trace.lanes[1].executions.func, [send]);
    assert_ne!(trace.names.get("main()"), Some(FuncId(2)));
}
