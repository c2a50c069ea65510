//! Packed traces: unpacking returns the same trace, and invalid bytes do no harm.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

use callgrove_model::{
    CollectiveEvent, CommKind, CounterId, CsTree, DeviceWaitEvent, DurationNs, ExecIdx, ExecRef,
    Forest, FuncEventKind, FuncId, LaneIdx, LaunchEvent, NameTable, PackedError, PackedLanes,
    PackedTree, ProgramId, RankBuilder, RankId, RankTrace, SizeEvent, StepBatch, StepId, ThreadId,
    TimeNs, Trace, TraceHead, TreeIdx, TreeRef, Warnings, WeightUnit,
};
use proptest::prelude::*;

const START: TimeNs = TimeNs(1_795_231_715_000_000_000);

/// Returns a rank whose events are encoded as numbers, each with the nanoseconds since the one before.
fn rank(rank: u32, events: &[(u8, u32)], unit: i64) -> RankTrace {
    let (mut names, mut counters) = (NameTable::default(), NameTable::<CounterId>::default());
    for name in ["main", "MPI_Send()", "work [{a.c} {1,2}]"] {
        names.intern(name);
    }
    counters.intern("bytes");
    let mut builder = RankBuilder::new(ProgramId(0), RankId(rank));
    let mut time = START;
    for (step, events) in events.chunks(7).enumerate() {
        let mut batch = StepBatch::empty(ProgramId(0), RankId(rank), StepId(step as u32 * 2));
        for &(event, after) in events {
            time = time + DurationNs(i64::from(after) * unit);
            let (thread, func) = (ThreadId(u32::from(event) & 1), FuncId(u32::from(event) % 3));
            let row = batch.funcs.len() as u32;
            let partner = RankId(u32::from(event) / 2 % 3);
            match event {
                0..90 => batch
                    .funcs
                    .push(thread, FuncEventKind::Entry, func, time, row),
                90..180 => batch
                    .funcs
                    .push(thread, FuncEventKind::Exit, func, time, row),
                // A call may take part in a collective, may have been launched by any thread, and may wait.
                180..190 => {
                    batch.collectives.push(CollectiveEvent {
                        thread,
                        time,
                        communicator: u64::MAX - u64::from(after),
                        sequence: u64::from(after),
                    });
                    batch.launches.push(LaunchEvent {
                        thread,
                        time,
                        by: ThreadId((u32::from(event) / 2) & 1),
                        launched: time,
                    });
                    batch.sizes.push(SizeEvent {
                        thread,
                        time,
                        bytes: u64::MAX - u64::from(after),
                    });
                    batch.device_waits.push(DeviceWaitEvent {
                        thread,
                        time,
                        stream: (event < 185).then_some(ThreadId(u32::from(event) & 1)),
                    });
                }
                190..210 => batch
                    .comms
                    .push(thread, CommKind::Send, 7, partner, 8, time),
                210..240 => batch
                    .comms
                    .push(thread, CommKind::Recv, 7, partner, 99, time),
                _ => batch
                    .counters
                    .push(thread, CounterId(0), u64::MAX - u64::from(after), time),
            }
        }
        builder.push(batch);
    }
    builder.finish(names, counters)
}

fn packed(trace: &Trace) -> (TraceHead, Vec<Vec<u8>>) {
    let head = serde_json::to_string(&TraceHead::of(trace)).unwrap();
    let lanes = trace.lanes().map(|(lane, _)| trace.pack_lane(lane));
    (serde_json::from_str(&head).unwrap(), lanes.collect())
}

fn unpacked(head: TraceHead, lanes: &[Vec<u8>]) -> Result<Trace, PackedError> {
    let mut arriving = PackedLanes::new(head)?;
    for lane in lanes {
        arriving.push(lane)?;
    }
    arriving.finish()
}

/// Returns the whole trace as text.
fn picture(trace: &Trace) -> String {
    let names: Vec<&str> = trace.names.iter().map(|(_, name)| name).collect();
    let counters: Vec<&str> = trace.counter_names.iter().map(|(_, name)| name).collect();
    format!(
        "{names:?} {counters:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {} {:?} {} {:?} {:?}",
        trace.lanes,
        trace.messages,
        trace.writes,
        trace.collectives,
        trace.launches,
        trace.sizes,
        trace.device_waits,
        trace.metadata,
        trace.warnings,
        trace.num_steps,
        trace.identity,
        trace.is_selection,
        trace.unsampled,
        trace.unit,
    )
}

fn events() -> impl Strategy<Value = Vec<(u8, u32)>> {
    prop::collection::vec((any::<u8>(), 0..2_000_u32), 0..120)
}

proptest! {
    #[test]
    fn unpacking_returns_the_same_trace(
        a in events(),
        b in events(),
        unit in prop_oneof![Just(1), Just(1_000)],
        unsampled in prop::collection::btree_set((0..3_u32, 0..9_u32), 0..5),
    ) {
        let mut trace = Trace::assemble(vec![rank(0, &a, unit), rank(1, &b, unit)], Warnings::default());
        trace.is_selection = !unsampled.is_empty();
        if trace.is_selection {
            trace.unit = WeightUnit::Other("votes".to_owned());
        }
        let calls = unsampled.into_iter().map(|(lane, exec)| ExecRef { lane: LaneIdx(lane), exec: ExecIdx(exec) });
        trace.unsampled = calls.collect();
        let (head, lanes) = packed(&trace);
        prop_assert_eq!(picture(&unpacked(head, &lanes).unwrap()), picture(&trace));
    }

    #[test]
    fn packed_roots_are_those_of_the_forest(
        a in events(),
        b in events(),
        funcs in prop::collection::vec(0..3_u32, 0..3),
    ) {
        let trace = Trace::assemble(vec![rank(0, &a, 1), rank(1, &b, 1)], Warnings::default());
        let funcs: Vec<FuncId> = funcs.into_iter().map(FuncId).collect();
        let forest = Forest::grow(trace.into(), &funcs);
        let (head, num_unclosed) = (TraceHead::of(forest.trace()), forest.num_unclosed());
        let trees = forest.trees().to_vec();
        let roots = forest.pack_roots().unpack(head, funcs, trees, num_unclosed).unwrap();
        let described = |forest: &Forest| -> Vec<String> {
            let describe = |(index, tree): (usize, &TreeRef)| {
                let it = forest.tree(TreeIdx::from_index(index));
                let (func, entry, duration) = (it.funcs()[0], it.entry()[0], it.duration());
                let label = forest.label(TreeIdx::from_index(index));
                format!("{tree:?} {func:?} {entry:?} {duration:?} {label}")
            };
            forest.trees().iter().enumerate().map(describe).collect()
        };
        prop_assert_eq!(described(&roots), described(&forest));
        prop_assert_eq!(roots.trace().num_executions(), forest.len());
        for (index, tree) in roots.trees().iter().enumerate() {
            let within = |other: &&TreeRef| {
                let (all, other) = (forest.trace().lane(other.root.lane), other.root);
                let own = forest.trees()[index].root;
                other.lane == own.lane && all.executions.subtree(own.exec).contains(&other.exec.index())
            };
            let nested = forest.trees().iter().filter(within).count();
            prop_assert_eq!(roots.tree(TreeIdx::from_index(index)).len(), nested, "{:?}", tree);
        }
    }

    #[test]
    fn a_packed_tree_equals_that_of_the_forest(a in events(), func in 0..3_u32) {
        let trace = Trace::assemble(vec![rank(0, &a, 1)], Warnings::default());
        let forest = Forest::grow(trace.into(), &[FuncId(func)]);
        let bare = TraceHead::of(forest.trace()).without_calls().unwrap();
        for (index, tree) in forest.trees().iter().enumerate() {
            let packed = PackedTree::of(forest.trace(), tree.root);
            let calls = packed.unpack(&bare).unwrap();
            let (alone, whole) = (calls.tree(), forest.tree(TreeIdx::from_index(index)));
            let columns = |it: CsTree<'_>| -> Vec<String> {
                let vertex = |at| format!("{:?} {:?}", it.parent(at), it.subtree_end(at));
                let vertices = (0..it.len()).map(vertex).collect::<Vec<_>>();
                vec![format!("{:?} {:?} {:?} {:?} {vertices:?}", it.funcs(), it.entry(), it.inclusive(), it.exclusive())]
            };
            prop_assert_eq!(columns(alone), columns(whole));
            for vertex in 0..whole.len() {
                let call = ExecRef { exec: whole.exec(vertex), ..tree.root };
                prop_assert_eq!((calls.exec(vertex), calls.vertex(call)), (call, Some(vertex)));
            }
            let after = ExecRef { exec: ExecIdx::from_index(whole.rows().end), ..tree.root };
            prop_assert_eq!(calls.vertex(after), None);
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_make_a_consistent_trace(
        a in events(),
        b in events(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let trace = Trace::assemble(vec![rank(0, &a, 1), rank(1, &b, 1)], Warnings::default());
        let (head, mut lanes) = packed(&trace);
        let Some(first) = lanes.first_mut() else { return Ok(()) };
        for (index, byte) in damage {
            let position = index.index(first.len());
            first[position] = byte;
        }
        if let Some(cut) = cut {
            let len = cut.index(first.len());
            first.truncate(len);
        }
        if let Ok(trace) = unpacked(head, &lanes) {
            for (lane, columns) in trace.lanes() {
                for row in 0..columns.executions.len() {
                    let exec = callgrove_model::ExecRef { lane, exec: callgrove_model::ExecIdx(row as u32) };
                    let name = trace.function_name(exec);
                    prop_assert!(!name.is_empty());
                    prop_assert!(columns.executions.subtree(exec.exec).end <= columns.executions.len());
                }
            }
            let has_calls = trace.num_executions() > 0;
            prop_assert!(trace.time_span().is_none() || has_calls);
        }
    }
}

#[test]
fn a_stack_deeper_than_its_column_is_written_in_full() {
    let num_calls = usize::from(u16::MAX) + 10;
    let events: Vec<(u8, u32)> = std::iter::repeat_n((0, 1), num_calls).collect();
    let trace = Trace::assemble(vec![rank(0, &events, 1)], Warnings::default());
    let (head, lanes) = packed(&trace);
    assert_eq!(picture(&unpacked(head, &lanes).unwrap()), picture(&trace));
}

#[test]
fn a_wrong_number_of_lanes_is_refused() {
    let trace = Trace::assemble(vec![rank(0, &[(0, 1), (90, 1)], 1)], Warnings::default());
    let (head, lanes) = packed(&trace);
    assert_eq!(unpacked(head.clone(), &[]).err(), Some(PackedError::Lanes));
    let twice = [lanes[0].clone(), lanes[0].clone()];
    assert_eq!(unpacked(head, &twice).err(), Some(PackedError::Lanes));
    assert_eq!(trace.pack_lane(LaneIdx(0)), lanes[0]);
}
