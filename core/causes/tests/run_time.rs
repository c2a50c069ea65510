//! How much shorter a run would be without a delay, where a server answers in any order.

#![allow(dead_code, reason = "each test file uses a part of the helpers")]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use callgrove_model::{DurationNs, Trace};

use support::{find, only};

const NUM_WORKERS: usize = 4;
const NUM_REQUESTS: i64 = 60;
/// The worker that is late, and its request.
const LATE: (usize, i64) = (4, 30);

/// Returns a run whose rank 0 answers the requests of the others in the order in which they come, with the end of the
/// last one in microseconds.
fn served(late_us: i64) -> (Trace, i64) {
    let work_us = |worker: usize, request: i64| {
        let late_us = if (worker, request) == LATE {
            late_us
        } else {
            0
        };
        let number = i64::try_from(worker).expect("few workers");
        1_000 + (request * 37 + number * 53) % 400 + late_us
    };
    let mut scripts = vec!["0".to_owned(); NUM_WORKERS + 1];
    let mut waiting = BTreeSet::new();
    let mut now_us = vec![0; NUM_WORKERS + 1];
    let send = |worker: usize, request: i64, now_us: i64, script: &mut String| {
        let sent_us = now_us + work_us(worker, request);
        let end_us = sent_us + 3;
        write!(
            script,
            " +work {sent_us} -work +MPI_Send s0 {end_us} -MPI_Send +MPI_Recv"
        )
        .ok();
        (sent_us, worker, request)
    };
    for (worker, script) in scripts.iter_mut().enumerate().skip(1) {
        waiting.insert(send(worker, 0, 0, script));
    }
    while let Some((sent_us, worker, request)) = waiting.pop_first() {
        let received_us = now_us[0].max(sent_us) + 5;
        let (begun_us, answered_us) = (received_us + 20, received_us + 23);
        write!(
            scripts[0],
            " +MPI_Recv {received_us} r{worker} -MPI_Recv +serve {begun_us} -serve +MPI_Send s{worker} {answered_us} -MPI_Send"
        )
        .ok();
        now_us[0] = answered_us;
        now_us[worker] = begun_us + 5;
        let script = &mut scripts[worker];
        write!(script, " {} r0 -MPI_Recv", now_us[worker]).ok();
        if request + 1 < NUM_REQUESTS {
            waiting.insert(send(worker, request + 1, now_us[worker], script));
        }
    }
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    let end_us = now_us.into_iter().max().unwrap_or(0);
    (only(&scripts), end_us)
}

#[test]
fn a_server_would_have_answered_a_late_request_earlier() {
    let (trace, end_us) = served(20_000);
    let (_, usual_us) = served(0);
    let causes = find(&trace);
    let lost = causes.lost_run_time().expect("a worker is late");
    let expected = DurationNs::from_us(end_us - usual_us);
    let error = (lost.as_us() - expected.as_us()).abs();
    assert!(
        error < expected.as_us() / 10,
        "{lost} instead of {expected}"
    );
}

/// Number of iterations, and of those from one collective to the next.
const ITERATIONS: (i64, i64) = (60, 10);
/// The iteration in which rank 0 is late.
const LATE_ITERATION: i64 = 33;

/// Returns a run in which rank 0 works in two parts while ranks 1 and 2 exchange messages, and all meet in every tenth
/// iteration. Once the first part of the work takes longer.
fn meeting_now_and_then(late_us: i64) -> Trace {
    let is_meeting = |iteration: i64| iteration % ITERATIONS.1 == ITERATIONS.1 - 1;
    // The others learn of the delay in the next meeting.
    let met = (LATE_ITERATION..ITERATIONS.0).find(|it| is_meeting(*it));
    let met = met.expect("all meet at the end");
    let script = |rank: i64| {
        let mut script = "0".to_owned();
        for iteration in 0..ITERATIONS.0 {
            let is_later = iteration > if rank == 0 { LATE_ITERATION } else { met };
            let begin_us = iteration * 1_200 + if is_later { late_us } else { 0 };
            let is_late = rank == 0 && iteration == LATE_ITERATION;
            let worked_us = begin_us + 600 + if is_late { late_us } else { 0 };
            write!(script, " {begin_us} +work {worked_us} -work").ok();
            if rank == 0 {
                write!(script, " {} +more {} -more", worked_us + 5, worked_us + 300).ok();
            }
            for at_us in (0..5).map(|it| worked_us + 20 + 60 * it) {
                let events = match rank {
                    0 => continue,
                    1 => [
                        (0, "+MPI_Send s2"),
                        (10, "-MPI_Send"),
                        (20, "+MPI_Recv"),
                        (50, "r2 -MPI_Recv"),
                    ],
                    _ => [
                        (0, "+MPI_Recv"),
                        (12, "r1 -MPI_Recv"),
                        (30, "+MPI_Send s1"),
                        (40, "-MPI_Send"),
                    ],
                };
                for (after_us, event) in events {
                    write!(script, " {} {event}", at_us + after_us).ok();
                }
            }
            if is_meeting(iteration) {
                let is_late = iteration == met && rank > 0;
                let left_us = begin_us + 1_020 + if is_late { late_us } else { 0 };
                write!(
                    script,
                    " {} +MPI_Allreduce {left_us} -MPI_Allreduce",
                    begin_us + 1_000
                )
                .ok();
            }
        }
        script
    };
    let scripts: Vec<String> = (0..3).map(script).collect();
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    only(&scripts)
}

#[test]
fn a_delay_costs_the_run_although_other_work_follows_it_while_others_go_on() {
    let late = DurationNs::from_us(2_000);
    let causes = find(&meeting_now_and_then(late.as_us()));
    let lost = causes.lost_run_time().expect("rank 0 is late");
    let error = (lost.as_us() - late.as_us()).abs();
    assert!(error < late.as_us() / 10, "{lost} instead of {late}");
}
