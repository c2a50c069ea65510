//! Events in any order become properly nested calls, and none is lost.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests: what is missing fails the test"
)]

use std::time::Duration;

use callgrove_model::{
    CommKind, FuncId, LaneIdx, NameTable, RankId, StepBatch, ThreadId, TimeNs, Trace, WarningKind,
};
use callgrove_model::{RankBuilder, Warnings};
use callgrove_source::{
    DecodedRun, EventStream, FileDecoder, LaneIdentity, ListedCalls, Next, OrderingStream,
    Projection, RankEvents, SourceError, call_lines,
};
use proptest::prelude::*;

/// A decoder that has read everything.
struct Read(Option<DecodedRun>);

impl FileDecoder for Read {
    fn read_on(&mut self) -> Result<bool, SourceError> {
        Ok(false)
    }

    fn position(&self) -> f32 {
        1.0
    }

    fn finish(mut self: Box<Self>) -> DecodedRun {
        self.0.take().unwrap()
    }
}

fn steps(rank: RankEvents) -> (Vec<StepBatch>, OrderingStream) {
    let mut run = DecodedRun::default();
    for name in ["a", "b", "c"] {
        run.names.intern(name);
    }
    run.ranks.insert(RankId(3), rank);
    let mut stream = OrderingStream::new(Box::new(Read(Some(run))), &Projection::default());
    let mut steps = Vec::new();
    while let Next::Step(batch) = stream.next_step(Duration::ZERO).unwrap() {
        steps.push(*batch);
    }
    (steps, stream)
}

fn trace(rank: RankEvents) -> Trace {
    let (steps, mut stream) = steps(rank);
    let mut builder = RankBuilder::new(steps[0].program, steps[0].rank);
    for batch in steps {
        builder.push(batch);
    }
    let rank = builder.finish(stream.names().clone(), NameTable::default());
    let mut warnings = Warnings::default();
    warnings.join(stream.take_warnings());
    Trace::assemble(vec![rank], warnings)
}

const THREAD: LaneIdentity = LaneIdentity::Thread(7);

fn of_calls(calls: &[(u32, i64, i64)]) -> RankEvents {
    let mut rank = RankEvents::default();
    let lane = rank.lane(THREAD);
    for &(func, start, end) in calls {
        rank.call(lane, FuncId(func), TimeNs(start), TimeNs(end));
    }
    rank
}

#[test]
fn calls_in_any_order_are_nested() {
    let trace = trace(of_calls(&[
        (1, 10, 20),
        (2, 12, 15),
        (0, 0, 100),
        (1, 20, 20),
    ]));
    assert_eq!(
        call_lines(&trace),
        [
            "3.0 0 a 0-100",
            "3.0 1 b 10-20",
            "3.0 2 c 12-15",
            "3.0 1 b 20-20"
        ]
    );
}

#[test]
fn calls_of_the_same_times_nest_as_their_file_lists_calls() {
    let callers_first = trace(of_calls(&[(0, 0, 9), (1, 0, 5), (2, 0, 5), (2, 9, 9)]));
    let lines = ["3.0 0 a 0-9", "3.0 1 b 0-5", "3.0 2 c 0-5", "3.0 0 c 9-9"];
    assert_eq!(call_lines(&callers_first), lines);
    let callees_first = trace(of_calls(&[(2, 0, 5), (1, 0, 5), (2, 9, 9), (0, 0, 9)]));
    let lines = ["3.0 0 a 0-9", "3.0 1 b 0-5", "3.0 2 c 0-5", "3.0 1 c 9-9"];
    assert_eq!(call_lines(&callees_first), lines);
}

#[test]
fn what_overlaps_by_rounding_is_cut_and_other_overlaps_get_a_lane() {
    let rounded = trace(of_calls(&[
        (0, 0, 10_001),
        (1, 10_000, 20_000),
        (2, 15_000, 20_900),
    ]));
    assert_eq!(
        call_lines(&rounded),
        [
            "3.0 0 a 0-10000",
            "3.0 0 b 10000-20000",
            "3.0 1 c 15000-20000"
        ]
    );
    assert_eq!(rounded.warnings.total(WarningKind::CallCut), 2);
    let overlapping = trace(of_calls(&[
        (0, 0, 10_000),
        (1, 5_000, 20_000),
        (2, 6_000, 8_000),
    ]));
    assert_eq!(
        call_lines(&overlapping),
        ["3.0 0 a 0-10000", "3.0 1 c 6000-8000", "3.1 0 b 5000-20000"]
    );
    assert_eq!(overlapping.warnings.total(WarningKind::CallsOverlap), 1);
}

#[test]
fn beginnings_and_ends_are_paired_by_time() {
    let mut rank = RankEvents::default();
    let lane = rank.lane(THREAD);
    rank.end(lane, TimeNs(90));
    rank.begin(lane, FuncId(0), TimeNs(0));
    rank.begin(lane, FuncId(1), TimeNs(10));
    rank.end(lane, TimeNs(30));
    rank.call(lane, FuncId(2), TimeNs(12), TimeNs(14));
    rank.end(lane, TimeNs(95));
    rank.begin(lane, FuncId(2), TimeNs(97));
    let trace = trace(rank);
    assert_eq!(
        call_lines(&trace),
        [
            "3.0 0 a 0-90",
            "3.0 1 b 10-30",
            "3.0 2 c 12-14",
            "3.0 0 c 97-97"
        ]
    );
    assert_eq!(trace.warnings.total(WarningKind::ExitWithoutEntry), 1);
    assert_eq!(trace.warnings.total(WarningKind::Unclosed), 1);
}

#[test]
fn beginnings_and_ends_at_the_same_time_nest_in_their_order() {
    let mut rank = RankEvents::default();
    let lane = rank.lane(THREAD);
    rank.begin(lane, FuncId(0), TimeNs(10));
    // A call of no duration before another one, and one at the end of its caller.
    for (func, time) in [(1, 20), (2, 20), (1, 30)] {
        rank.begin(lane, FuncId(func), TimeNs(time));
        rank.end(lane, TimeNs(if func == 2 { 30 } else { time }));
    }
    rank.end(lane, TimeNs(30));
    let expected = [
        "3.0 0 a 10-30",
        "3.0 1 b 20-20",
        "3.0 1 c 20-30",
        "3.0 1 b 30-30",
    ];
    assert_eq!(call_lines(&trace(rank)), expected);
}

#[test]
fn ends_that_name_a_function_end_its_call() {
    let calls = |has_complete: bool, ends: &[(Option<u32>, i64)]| {
        let mut rank = RankEvents::default();
        let lane = rank.lane(THREAD);
        let mut calls = ListedCalls::default();
        calls.begin(FuncId(0), TimeNs(0));
        calls.begin(FuncId(1), TimeNs(3));
        if has_complete {
            calls.call(FuncId(2), TimeNs(30), TimeNs(31));
        }
        for &(func, time) in ends {
            match func {
                Some(func) => calls.end_of(FuncId(func), TimeNs(time)),
                None => calls.end(TimeNs(time)),
            }
        }
        rank.add_calls(lane, calls);
        let trace = trace(rank);
        let warnings = trace.warnings.iter();
        let warnings = warnings.map(|it| (it.kind, it.count)).collect::<Vec<_>>();
        let mut lines = call_lines(&trace);
        lines.truncate(2);
        (lines, warnings)
    };
    for has_complete in [false, true] {
        // The ends of calls before the recording end no other call.
        let (lines, warnings) = calls(
            has_complete,
            &[(Some(2), 5), (Some(2), 7), (Some(1), 21), (Some(0), 22)],
        );
        assert_eq!(lines, ["3.0 0 a 0-22", "3.0 1 b 3-21"]);
        assert_eq!(warnings, [(WarningKind::ExitWithoutEntry, 2)]);
        // Calls in the call that ends, end with it.
        let (lines, warnings) = calls(has_complete, &[(Some(0), 5), (Some(1), 7)]);
        assert_eq!(lines, ["3.0 0 a 0-5", "3.0 1 b 3-5"]);
        let expected = [
            (WarningKind::ExitWithoutEntry, 1),
            (WarningKind::MissingExit, 1),
        ];
        assert_eq!(warnings, expected);
        // Some ends have no name.
        let (lines, warnings) = calls(has_complete, &[(Some(1), 5), (None, 7)]);
        assert_eq!(lines, ["3.0 0 a 0-7", "3.0 1 b 3-5"]);
        assert_eq!(warnings, []);
        // The names are not those of functions.
        let (lines, warnings) = calls(has_complete, &[(Some(2), 5), (Some(2), 7)]);
        assert_eq!(lines, ["3.0 0 a 0-7", "3.0 1 b 3-5"]);
        assert_eq!(warnings, []);
    }
}

#[test]
fn work_of_a_stream_that_overlaps_calls_nothing() {
    let read = |key: LaneIdentity| {
        let mut rank = RankEvents::default();
        let lane = rank.lane(key);
        rank.call(lane, FuncId(0), TimeNs(0), TimeNs(10_000));
        rank.call(lane, FuncId(1), TimeNs(8_500), TimeNs(9_500));
        rank.call(lane, FuncId(2), TimeNs(9_800), TimeNs(12_000));
        rank.call(lane, FuncId(2), TimeNs(10_500), TimeNs(14_000));
        rank.launch(lane, TimeNs(8_500), lane, TimeNs(0));
        call_lines(&trace(rank))
    };
    let stream = LaneIdentity::Stream {
        device: 0,
        stream: 7,
    };
    let expected = [
        "3.0 0 a 0-9800",
        "3.0 0 c 9800-12000",
        "3.1 0 b 8500-9500",
        "3.1 0 c 10500-14000",
    ];
    assert_eq!(read(stream), expected);
    assert_eq!(read(THREAD)[1], "3.0 1 b 8500-9500");
}

#[test]
fn work_of_a_stream_that_is_stated_by_its_ends_calls_nothing() {
    let mut rank = RankEvents::default();
    let lane = rank.lane(LaneIdentity::Stream {
        device: 0,
        stream: 7,
    });
    rank.begin(lane, FuncId(0), TimeNs(0));
    rank.begin(lane, FuncId(1), TimeNs(2_000));
    rank.end(lane, TimeNs(4_000));
    rank.end(lane, TimeNs(6_000));
    let lines = call_lines(&trace(rank));
    assert_eq!(lines, ["3.0 0 a 0-6000", "3.1 0 b 2000-4000"]);
}

#[test]
fn relations_of_calls_that_begin_together_follow_them() {
    let mut rank = RankEvents::default();
    let lane = rank.lane(LaneIdentity::Stream {
        device: 0,
        stream: 7,
    });
    for (func, end) in [(0, 9_000), (1, 5_000)] {
        rank.call(lane, FuncId(func), TimeNs(0), TimeNs(end));
        rank.launch(lane, TimeNs(0), lane, TimeNs(0));
    }
    let trace = trace(rank);
    let launches = trace.launches.iter().map(|it| it.lane.0);
    assert_eq!(launches.collect::<Vec<_>>(), [0, 1]);
}

#[test]
fn lanes_are_numbered_from_the_main_thread_and_relations_follow_them() {
    let mut rank = RankEvents::default();
    let stream = rank.lane(LaneIdentity::Stream {
        device: 0,
        stream: 7,
    });
    let helper = rank.lane(LaneIdentity::Thread(1));
    let main = rank.lane(LaneIdentity::Thread(2));
    rank.set_main(main);
    for lane in [main, helper, stream] {
        rank.call(lane, FuncId(0), TimeNs(5), TimeNs(9));
    }
    rank.message(main, TimeNs(6), CommKind::Send, RankId(4), 1, 8);
    rank.collective(stream, TimeNs(5), 77, 3);
    rank.launch(stream, TimeNs(5), main, TimeNs(4));
    rank.size(stream, TimeNs(5), 64);
    rank.device_wait(main, TimeNs(5), Some(stream));
    rank.device_wait(helper, TimeNs(5), None);
    let trace = trace(rank);
    assert_eq!(trace.lanes.len(), 3);
    assert_eq!(trace.lanes[0].comms.time, [TimeNs(6)]);
    let gpu = trace.metadata.iter().find(|it| it.key == "CUDA Stream");
    assert_eq!(
        gpu.map(|it| (it.thread, it.value.as_str())),
        Some((ThreadId(2), "7"))
    );
    let launch = trace.launches[0];
    assert_eq!(
        (launch.lane.0, launch.by.0, launch.launched),
        (2, 0, TimeNs(4))
    );
    assert_eq!(trace.collectives[0].lane.0, 2);
    let sizes = trace.sizes.iter().map(|it| (it.lane.0, it.bytes));
    assert_eq!(sizes.collect::<Vec<_>>(), [(2, 64)]);
    let waits = trace.device_waits.iter();
    let waits = waits.map(|it| (it.lane.0, it.stream.map(|it| it.0)));
    assert_eq!(waits.collect::<Vec<_>>(), [(0, Some(2)), (1, None)]);
    assert_eq!(trace.sizes_on(LaneIdx(1)), []);
    assert_eq!(trace.device_waits_on(LaneIdx(1)).len(), 1);
}

#[test]
fn relations_follow_a_call_to_a_lane_of_its_own() {
    let mut rank = of_calls(&[(0, 0, 10_000), (1, 5_000, 20_000)]);
    let lane = rank.lane(THREAD);
    rank.launch(lane, TimeNs(0), lane, TimeNs(0));
    rank.launch(lane, TimeNs(5_000), lane, TimeNs(1));
    rank.collective(lane, TimeNs(5_000), 7, 0);
    rank.size(lane, TimeNs(5_000), 8);
    rank.device_wait(lane, TimeNs(5_000), None);
    // No call begins here.
    rank.collective(lane, TimeNs(6_000), 7, 1);
    let trace = trace(rank);
    let launches = trace.launches.iter().map(|it| (it.lane.0, it.time.0));
    assert_eq!(launches.collect::<Vec<_>>(), [(0, 0), (1, 5_000)]);
    let collectives = trace.collectives.iter().map(|it| (it.lane.0, it.sequence));
    assert_eq!(collectives.collect::<Vec<_>>(), [(0, 1), (1, 0)]);
    assert_eq!(trace.sizes[0].lane.0, 1);
    assert_eq!(trace.device_waits[0].lane.0, 1);
}

#[test]
fn processes_of_a_rank_are_joined_lane_by_lane() {
    let stream = |stream| LaneIdentity::Stream { device: 0, stream };
    let process = |thread: u64, start: i64| {
        let mut rank = RankEvents::default();
        let own = rank.lane(LaneIdentity::Thread(thread));
        let gpu = rank.lane(stream(7));
        rank.set_main(own);
        rank.call(own, FuncId(0), TimeNs(start), TimeNs(start + 2));
        rank.call(gpu, FuncId(1), TimeNs(start + 3), TimeNs(start + 4));
        rank.launch(gpu, TimeNs(start + 3), own, TimeNs(start));
        rank.message(own, TimeNs(start), CommKind::Send, RankId(4), 1, 8);
        rank.collective(gpu, TimeNs(start + 3), 0, 0);
        rank.size(gpu, TimeNs(start + 3), 8);
        rank.device_wait(own, TimeNs(start), Some(gpu));
        rank
    };
    let mut joined = RankEvents::default();
    joined.join(process(9, 10));
    joined.join(process(5, 20));
    let trace = trace(joined);
    assert_eq!(
        call_lines(&trace),
        [
            "3.0 0 a 10-12",
            "3.1 0 a 20-22",
            "3.2 0 b 13-14",
            "3.2 0 b 23-24"
        ]
    );
    let launches = trace.launches.iter().map(|it| (it.lane.0, it.by.0));
    assert_eq!(launches.collect::<Vec<_>>(), [(2, 0), (2, 1)]);
    assert_eq!(trace.collectives.len(), 2);
    assert_eq!(trace.sizes.len(), 2);
    let waits = trace.device_waits.iter();
    let waits = waits.map(|it| (it.lane.0, it.stream.map(|it| it.0)));
    assert_eq!(waits.collect::<Vec<_>>(), [(0, Some(2)), (1, Some(2))]);
    assert_eq!(trace.lanes[1].comms.time, [TimeNs(20)]);
}

/// Returns the depth of a call of `b` at 50 in a list of callees first, where a call of `next` begins: 2 if it is in
/// that call, 1 if it precedes it.
fn depth_of_doubt(certain: &[(u32, i64, i64)], next: u32) -> Option<u32> {
    let doubtful = [(1, 50, 50), (next, 50, 52), (0, 0, 90)];
    let lines = call_lines(&trace(of_calls(&[certain, &doubtful[..]].concat())));
    (1..=2).find(|depth| lines.contains(&format!("3.0 {depth} b 50-50")))
}

#[test]
fn a_function_does_not_call_itself_at_its_begin_unless_it_does_elsewhere() {
    assert_eq!(depth_of_doubt(&[], 1), Some(1));
    assert_eq!(depth_of_doubt(&[(1, 11, 12), (1, 10, 15)], 1), Some(2));
}

#[test]
fn a_call_of_no_duration_is_where_its_function_mostly_is() {
    let precedes = [(1, 9, 10), (2, 10, 15), (1, 18, 19), (2, 20, 25)];
    let is_in_it = [(1, 31, 32), (2, 30, 35)];
    assert_eq!(depth_of_doubt(&[], 2), Some(2));
    assert_eq!(depth_of_doubt(&precedes, 2), Some(1));
    assert_eq!(depth_of_doubt(&is_in_it, 2), Some(2));
    assert_eq!(
        depth_of_doubt(&[&precedes[..], &is_in_it].concat(), 2),
        Some(1)
    );
}

#[test]
fn a_call_of_no_duration_at_the_end_of_another_is_where_its_function_mostly_is() {
    // Callers first: `c` ends with its call of `a`, and a call of `b` of no duration begins then.
    let depth = |certain: &[(u32, i64, i64)]| {
        let doubtful = [(2, 50, 60), (0, 55, 60), (1, 60, 60), (2, 70, 70)];
        let mut calls = [&[(0, 0, 90)], certain, &doubtful[..]].concat();
        calls.sort_by_key(|it| (it.1, -it.2));
        let lines = call_lines(&trace(of_calls(&calls)));
        (1..=3).find(|depth| lines.contains(&format!("3.0 {depth} b 60-60")))
    };
    let is_last_in_c = [(2, 10, 15), (0, 11, 12), (1, 13, 14)];
    let is_last_in_a = [(2, 20, 28), (0, 21, 27), (1, 24, 25)];
    let follows_c = [(2, 30, 35), (1, 36, 37)];
    assert_eq!(depth(&[]), Some(1));
    assert_eq!(depth(&is_last_in_c), Some(2));
    assert_eq!(depth(&is_last_in_a), Some(3));
    assert_eq!(depth(&follows_c), Some(1));
    assert_eq!(
        depth(
            &[
                is_last_in_a,
                is_last_in_a.map(|it| (it.0, it.1 + 20, it.2 + 20)),
                is_last_in_c
            ]
            .concat()
        ),
        Some(3)
    );
}

#[test]
fn calls_of_no_duration_next_to_others_do_not_show_the_order_of_a_list() {
    // Callers first; most neighbours that begin together are a call of no duration and the call after it.
    let before = (0..9).flat_map(|it| [(2, 20 + it, 20 + it), (2, 20 + it, 21 + it)]);
    let mut calls = vec![(0, 0, 90), (1, 0, 5), (2, 0, 5)];
    calls.extend(before);
    let lines = call_lines(&trace(of_calls(&calls)));
    assert_eq!(lines[..3], ["3.0 0 a 0-90", "3.0 1 b 0-5", "3.0 2 c 0-5"]);
    // Callees first; most neighbours are a call and a call of no duration at its end.
    let after = (0..9).flat_map(|it| [(2, 20 + it, 21 + it), (2, 21 + it, 21 + it)]);
    let mut calls = vec![(2, 1, 5), (1, 1, 5)];
    calls.extend(after);
    calls.push((0, 0, 90));
    let lines = call_lines(&trace(of_calls(&calls)));
    assert_eq!(lines[..3], ["3.0 0 a 0-90", "3.0 1 b 1-5", "3.0 2 c 1-5"]);
}

proptest! {
    #[test]
    fn no_call_is_lost_and_steps_are_in_order_of_time(
        calls in prop::collection::vec((0..3_u32, 0..200_000_i64, 0..9_000_i64), 1..9_000),
    ) {
        let calls: Vec<_> = calls.into_iter().map(|(func, start, len)| (func, start, start + len)).collect();
        let (steps, mut stream) = steps(of_calls(&calls));
        let num: usize = steps.iter().map(|it| it.funcs.len()).sum();
        let num_left_out = stream.take_warnings().total(WarningKind::OverlapsLeftOut);
        prop_assert_eq!(num as u64, 2 * (calls.len() as u64 - num_left_out));
        let mut last = TimeNs(i64::MIN);
        for batch in &steps {
            let times = || batch.funcs.iter().map(|it| it.time);
            prop_assert!(times().min() >= Some(last));
            last = times().max().unwrap_or(last);
            for (_, events) in batch.funcs.segments() {
                prop_assert!(events.is_sorted_by_key(|it| it.time));
            }
        }
    }

    /// Call stacks of a coarse clock, listed in either order. A call of no duration that the list can place in two ways
    /// is avoided: callers first, where a call ends; callees first, where a longer call begins.
    #[test]
    fn call_stacks_of_a_coarse_clock_are_found_again(
        actions in prop::collection::vec((0..4_u8, 0..3_u32), 1..200),
        is_caller_first: bool,
    ) {
        let mut now = 3;
        let mut calls = vec![(0, 0, 3, 0), (1, 0, 2, 1)];
        let mut open = Vec::new();
        let mut ends = vec![1, 0];
        let mut was_empty = false;
        let leaves = std::iter::repeat_n((1, 0), actions.len());
        for (action, func) in actions.iter().copied().chain(leaves) {
            match action {
                0 => {
                    now += i64::from(was_empty);
                    open.push(calls.len());
                    calls.push((func, now, now, open.len() - 1));
                }
                1 => if let Some(it) = open.pop() {
                    now += i64::from(was_empty || calls[it].1 == now);
                    calls[it].2 = now;
                    ends.push(it);
                }
                2 => {
                    let begins = calls.last().is_some_and(|it| it.1 == now);
                    let ends_now = ends.iter().any(|&it| calls[it].1 < now && calls[it].2 == now);
                    now += i64::from(is_caller_first && ends_now);
                    now += i64::from(!is_caller_first && begins && !was_empty);
                    ends.push(calls.len());
                    calls.push((func, now, now, open.len()));
                }
                _ => now += 1,
            }
            was_empty = action == 2 || (was_empty && action == 1 && open.is_empty());
        }
        let listed: Vec<_> = if is_caller_first {
            calls.iter().map(|it| (it.0, it.1, it.2)).collect()
        } else {
            ends.iter().map(|&it| (calls[it].0, calls[it].1, calls[it].2)).collect()
        };
        let name = |func| ["a", "b", "c"][func as usize];
        let lines = calls.iter().map(|it| format!("3.0 {} {} {}-{}", it.3, name(it.0), it.1, it.2));
        prop_assert_eq!(call_lines(&trace(of_calls(&listed))), lines.collect::<Vec<_>>());
    }

    /// Whatever the events, the call stacks that follow from them need no repair.
    #[test]
    fn any_events_give_nested_calls(
        events in prop::collection::vec((0..3_u8, 0..3_u32, 0..5_000_i64, 0..3_000_i64), 1..200),
    ) {
        let mut rank = RankEvents::default();
        let lane = rank.lane(THREAD);
        for &(kind, func, time, len) in &events {
            match kind {
                0 => rank.begin(lane, FuncId(func), TimeNs(time)),
                1 => rank.end(lane, TimeNs(time)),
                _ => rank.call(lane, FuncId(func), TimeNs(time), TimeNs(time + len)),
            }
        }
        let trace = trace(rank);
        let num_begun = events.iter().filter(|it| it.0 != 1).count();
        prop_assert_eq!(trace.num_executions(), num_begun);
        prop_assert_eq!(trace.warnings.total(WarningKind::TimeWentBack), 0);
    }
}
