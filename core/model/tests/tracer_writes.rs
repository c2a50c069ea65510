//! Writes of the tracer, found between the steps of generated ranks.

use callgrove_model::{
    DurationNs, ExecIdx, FuncEventKind, LaneIdx, NameTable, ProgramId, RankBuilder, RankId,
    StepBatch, StepId, ThreadId, TimeNs, Trace, TracerWrite, Warnings,
};
use proptest::prelude::*;

/// Usual time between two events.
const USUAL: i64 = 2;

/// Returns the trace of one rank: `+f` enters, `-f` leaves, a number is additional time before the next event, and `|`
/// ends a step. Each thread has its own events, step by step.
fn trace(threads: &[&str]) -> Trace {
    let mut names = NameTable::default();
    let mut builder = RankBuilder::new(ProgramId(0), RankId(0));
    let steps = |events: &str| events.split('|').map(str::to_owned).collect::<Vec<_>>();
    let threads: Vec<Vec<String>> = threads.iter().map(|events| steps(events)).collect();
    let mut now = vec![TimeNs(0); threads.len()];
    for step in 0..threads[0].len() {
        let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(step as u32));
        batch.ends_with_write = true;
        for (thread, (steps, now)) in threads.iter().zip(&mut now).enumerate() {
            for event in steps[step].split_whitespace() {
                if let Ok(passed) = event.parse() {
                    *now = *now + DurationNs(passed);
                    continue;
                }
                let kind = if event.starts_with('+') {
                    FuncEventKind::Entry
                } else {
                    FuncEventKind::Exit
                };
                *now = *now + DurationNs(USUAL);
                let (func, row) = (names.intern(&event[1..]), batch.funcs.len() as u32);
                let thread = ThreadId(thread as u32);
                batch.funcs.push(thread, kind, func, *now, row);
            }
        }
        builder.push(batch);
    }
    let rank = builder.finish(names, NameTable::default());
    Trace::assemble(vec![rank], Warnings::default())
}

/// Returns lane, start and length of the writes.
fn writes(threads: &[&str]) -> Vec<(u32, i64, i64)> {
    let trace = trace(threads);
    let plain = |write: &TracerWrite| (write.lane.0, write.start.0, write.duration().0);
    trace.writes.iter().map(plain).collect()
}

/// Calls with the usual time between them.
const CALLS: &str = "+a -a +a -a +a -a +a -a +a -a";

#[test]
fn a_write_is_a_gap_between_steps_less_the_usual_time() {
    let found = writes(&[&format!("+m {CALLS} | 700 {CALLS} | 0 {CALLS} -m")]);
    assert_eq!(found, [(0, 22, 700)]);
}

#[test]
fn a_usual_gap_is_not_a_write() {
    // The caller works between two calls, sometimes for long.
    let calls = "+a -a 100 +a -a 300 +a -a 900 +a -a 200 +a -a";
    assert_eq!(writes(&[&format!("+m {calls} | 500 {calls} -m")]), []);
    let found = writes(&[&format!("+m {calls} | 9000 {calls} -m")]);
    assert_eq!(found, [(0, 1522, 8_800)], "less the median of the caller");
}

#[test]
fn gaps_between_unique_events_are_not_judged() {
    let first = "+m +a -a | 700 +b -b";
    assert_eq!(writes(&[&format!("{first} {CALLS} -m")]), []);
    // The exit of the caller only follows a call once.
    assert_eq!(writes(&[&format!("+m {CALLS} | 700 -m")]), []);
    let other = "+n +a -a +a -a +a -a +a -a +a -a -n";
    let found = writes(&[&format!("{other} +m +a -a | 700 +a -a -m")]);
    assert_eq!(found, [], "another caller");
}

#[test]
fn writes_are_found_per_thread_and_not_after_a_skipped_step() {
    let long = format!("+m {CALLS} | 700 {CALLS} | {CALLS} -m");
    let slept = format!("+m {CALLS} |  | 700 {CALLS} -m");
    assert_eq!(writes(&[&long, &slept]), [(0, 22, 700)]);
    let late = format!("+m {CALLS} | {CALLS} | 700 {CALLS} -m");
    assert_eq!(writes(&[&long, &late]), [(0, 22, 700), (1, 42, 700)]);
    let on_last: Vec<i64> = trace(&[&long, &late])
        .writes_on(LaneIdx(1))
        .iter()
        .map(|write| write.end.0)
        .collect();
    assert_eq!(on_last, [742]);
}

#[test]
fn a_step_that_is_a_number_of_events_ends_with_no_write() {
    let mut builder = RankBuilder::new(ProgramId(0), RankId(0));
    let mut names = NameTable::default();
    let main = names.intern("main");
    for step in 0..20 {
        let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(step));
        let start = i64::from(step) * if step < 19 { 10 } else { 500 };
        for (kind, time) in [
            (FuncEventKind::Entry, start),
            (FuncEventKind::Exit, start + 5),
        ] {
            batch.funcs.push(ThreadId(0), kind, main, TimeNs(time), 0);
        }
        batch.writes = vec![
            (ThreadId(0), TimeNs(start + 6), TimeNs(start + 8)),
            (ThreadId(0), TimeNs(start + 7), TimeNs(start + 9)),
            (ThreadId(3), TimeNs(start), TimeNs(start + 9)),
        ];
        builder.push(batch);
    }
    let rank = builder.finish(names, NameTable::default());
    let trace = Trace::assemble(vec![rank], Warnings::default());
    assert_eq!(
        trace.writes.len(),
        20,
        "one of those that overlap, of a known thread"
    );
    let is_stated = |write: &TracerWrite| write.duration() == DurationNs(2);
    assert!(trace.writes.iter().all(is_stated), "{:?}", trace.writes);
}

/// Calls with the time after each, and whether a step ends there.
fn calls() -> impl Strategy<Value = Vec<(u8, i64, bool)>> {
    let after = prop_oneof![6 => 0..4_i64, 1 => 50..400_i64];
    proptest::collection::vec((0..4_u8, after, proptest::bool::weighted(0.2)), 1..200)
}

proptest! {
    #[test]
    fn writes_overlap_no_event_and_no_other_write(calls in calls()) {
        let mut depth = 0;
        let mut text = String::from("+m");
        for &(what, after, ends) in &calls {
            match what {
                0 => {
                    depth += 1;
                    text.push_str(" +a");
                }
                1 if depth > 0 => {
                    depth -= 1;
                    text.push_str(" -a");
                }
                // An exit without an entry.
                2 => text.push_str(" -x"),
                _ => text.push_str(" +b -b"),
            }
            text.push_str(if ends { " |" } else { "" });
            text.push_str(&format!(" {after}"));
        }
        let trace = trace(&[&text]);
        let Some(lane) = trace.lanes.first() else { return Ok(()) };
        let executions = &lane.executions;
        let rows = (0..executions.len()).map(ExecIdx::from_index);
        let times: Vec<TimeNs> = rows
            .flat_map(|row| [executions.entry[row.index()], executions.exit(row)])
            .collect();
        for write in &trace.writes {
            prop_assert!(write.start < write.end);
            prop_assert!(times.contains(&write.start), "it begins at an event");
            let is_inside = |time: &&TimeNs| write.start < **time && **time < write.end;
            prop_assert_eq!(times.iter().find(is_inside), None);
        }
        for pair in trace.writes.windows(2) {
            prop_assert!(pair[0].end <= pair[1].start);
        }
    }
}
