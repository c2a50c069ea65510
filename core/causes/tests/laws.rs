//! Laws that hold for every run, complete or damaged.

use callgrove_causes::{CauseKind, Causes, DelayRole};
use callgrove_model::{
    CommKind, DurationNs, ExecIdx, ExecRef, FuncEventKind, FuncId, NameTable, ProgramId, Progress,
    RankBuilder, RankId, RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace, Warnings,
};
use callgrove_segments::{OwnWork, OwnWorkSearch, segments_on_common_clock};
use proptest::prelude::*;

const FUNCTIONS: [&str; 6] = [
    "main",
    "work",
    "MPI_Send()",
    "MPI_Wait()",
    "MPI_Allreduce()",
    "MPI Collective Sync",
];

/// Number of events before those of a test.
const NUM_USUAL: u32 = 20_001;

/// An event of a generated rank: its kind, its function or rank, and the time since the previous event.
type Event = (u8, u32, i64);

fn events() -> impl Strategy<Value = Vec<Event>> {
    let passed = prop_oneof![8 => 0..5_i64, 1 => 200..5_000_i64];
    proptest::collection::vec((0..6_u8, 0..6_u32, passed), 0..120)
}

/// Returns a rank with these events in order, including unmatched exits, calls that stay open, and messages to
/// missing ranks.
fn rank(number: u32, events: &[Event]) -> RankTrace {
    let mut names = NameTable::default();
    for name in FUNCTIONS {
        names.intern(name);
    }
    let mut builder = RankBuilder::new(ProgramId(0), RankId(number));
    if number == 0 {
        builder.push(usual_calls());
    }
    let (mut time, mut step) = (TimeNs(0), 1);
    for part in events.chunks(40) {
        let mut batch = StepBatch::empty(ProgramId(0), RankId(number), StepId(step));
        step += 1;
        for &(what, which, passed) in part {
            time = time + DurationNs(passed * 1_000);
            let thread = ThreadId(0);
            let row = batch.funcs.len() as u32;
            let comms = &mut batch.comms;
            let funcs = &mut batch.funcs;
            match what {
                0 | 1 => funcs.push(thread, FuncEventKind::Entry, FuncId(which), time, row),
                2 | 3 => funcs.push(thread, FuncEventKind::Exit, FuncId(which), time, row),
                4 => comms.push(thread, CommKind::Send, 0, RankId(which % 4), 8, time),
                _ => comms.push(thread, CommKind::Recv, 0, RankId(which % 4), 8, time),
            }
        }
        builder.push(batch);
    }
    builder.finish(names, NameTable::default())
}

/// Returns short calls that come first, so that the run has usual gaps and long ones are unusual.
fn usual_calls() -> StepBatch {
    let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(0));
    for call in 0..NUM_USUAL {
        let time = TimeNs((i64::from(call) - i64::from(NUM_USUAL)) * 1_000);
        // The first one, of `main`, stays open.
        let (kind, func) = match call {
            0 => (FuncEventKind::Entry, FuncId(0)),
            _ if call % 2 == 1 => (FuncEventKind::Entry, FuncId(1)),
            _ => (FuncEventKind::Exit, FuncId(1)),
        };
        batch.funcs.push(ThreadId(0), kind, func, time, call);
    }
    batch
}

fn run(ranks: &[Vec<Event>], is_reversed: bool) -> Trace {
    let mut ranks: Vec<_> = (0..)
        .zip(ranks)
        .map(|(number, it)| rank(number, it))
        .collect();
    if is_reversed {
        ranks.reverse();
    }
    Trace::assemble(ranks, Warnings::default())
}

fn executions(trace: &Trace) -> impl Iterator<Item = ExecRef> + '_ {
    trace.lanes().flat_map(|(lane, held)| {
        let rows = (0..held.executions.len()).map(ExecIdx::from_index);
        rows.map(move |exec| ExecRef { lane, exec })
    })
}

fn find(trace: &Trace) -> Causes {
    Causes::find(trace, Progress::none()).expect("no cancellation")
}

#[test]
fn generated_runs_have_roots_victims_and_incidents() {
    let late = vec![(0, 1, 0), (2, 1, 4_000), (0, 2, 1), (4, 1, 1), (2, 2, 1)];
    let waits = vec![(0, 3, 5), (5, 0, 4_001), (2, 3, 1)];
    let trace = run(&[late, waits], false);
    let causes = find(&trace);
    assert_eq!(causes.incidents().all().len(), 1);
    let roles: Vec<_> = executions(&trace)
        .map(|it| causes.of(&trace, it).role)
        .collect();
    assert!(roles.contains(&DelayRole::Root) && roles.contains(&DelayRole::Victim));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_order_of_ranks_does_not_matter(
        ranks in proptest::collection::vec(events(), 1..5)
    ) {
        let (one, other) = (run(&ranks, false), run(&ranks, true));
        let (first, second) = (find(&one), find(&other));
        prop_assert_eq!(first.waits().all(), second.waits().all());
        prop_assert_eq!(first.roots(), second.roots());
        prop_assert_eq!(first.incidents().all(), second.incidents().all());
        for exec in executions(&one) {
            prop_assert_eq!(first.of(&one, exec), second.of(&other, exec));
        }
    }

    #[test]
    fn no_wait_is_longer_than_its_execution(ranks in proptest::collection::vec(events(), 1..5)) {
        let trace = run(&ranks, false);
        let causes = find(&trace);
        for wait in causes.waits().all() {
            let executions = &trace.lane(wait.call.lane).executions;
            prop_assert!(wait.start >= executions.entry[wait.call.exec.index()]);
            prop_assert!(wait.start <= wait.end && wait.end <= executions.exit(wait.call.exec));
        }
        for exec in executions(&trace) {
            let cause = causes.of(&trace, exec);
            let inclusive = trace.lane(exec.lane).executions.inclusive[exec.exec.index()];
            prop_assert!(cause.waited >= DurationNs::ZERO && cause.waited <= inclusive);
            prop_assert_eq!(cause.role == DelayRole::OnTime, cause.waited == DurationNs::ZERO);
            for hop in &cause.hops {
                prop_assert!(hop.handed_on <= hop.end.since(hop.start));
                prop_assert!(hop.short_term >= DurationNs::ZERO);
                prop_assert!(hop.long_term >= DurationNs::ZERO);
                prop_assert_eq!(hop.short_term + hop.long_term, hop.handed_on);
            }
            for pair in cause.hops.windows(2) {
                prop_assert_eq!(pair[0].peer, pair[1].call.lane, "each hop begins where the last one ended");
            }
        }
    }

    #[test]
    fn own_work_at_a_time_is_the_gap_around_it(ranks in proptest::collection::vec(events(), 1..5)) {
        let trace = run(&ranks, false);
        let (segments, clocks) = segments_on_common_clock(&trace, true);
        for (lane, _) in trace.lanes() {
            let mut search = OwnWorkSearch::new(&trace, &clocks, &segments);
            let gaps = segments.lane(lane).gaps.iter();
            let gaps = gaps.clone().rev().take(100).chain(gaps.step_by(3));
            for gap in gaps.filter(|it| it.start < it.end) {
                let middle = gap.start + DurationNs(gap.duration().0 / 2);
                let found = search.at(lane, middle);
                let path = segments.places.path_of(gap.place);
                let expected = OwnWork { call: gap.call, path, start: gap.start, end: gap.end };
                prop_assert_eq!(found, Some(expected));
            }
        }
    }

    #[test]
    fn every_incident_names_its_root_among_its_members(
        ranks in proptest::collection::vec(events(), 1..5)
    ) {
        let trace = run(&ranks, false);
        let causes = find(&trace);
        let incidents = causes.incidents();
        let mut last = None;
        for (index, incident) in incidents.all().iter().enumerate() {
            prop_assert!(incident.members.contains(&incident.root.call));
            prop_assert!(incident.ranks.contains(&incident.root.rank));
            let is_root = causes.roots().contains(&incident.root);
            prop_assert!(is_root || incident.kind.is_by_design());
            prop_assert!(incident.start <= incident.end);
            let certainty = match incident.kind {
                CauseKind::NotEntered => 2,
                CauseKind::Unknown => 0,
                _ => 1,
            };
            let place = (!incident.kind.is_by_design(), certainty, incident.delay);
            prop_assert!(last.is_none_or(|last| last >= place), "by design last, then unknown; largest first");
            last = Some(place);
            let like = incidents.similar_to(incident).expect("every incident has a group");
            prop_assert!(like.incidents.contains(&index));
        }
    }
}
