//! The cost of an event in instructions, which does not depend on the load of the machine as times do.

use std::process::Command;

use callgrove_detect::Params;
use callgrove_pserver::{ServerState, StateOptions};

use crate::support::{MemoryStore, Script, follow_streams, options};

/// Passes the number of steps to the process under Valgrind.
const STEPS: &str = "CALLGROVE_TEST_STEPS";

/// A ratchet: instructions per function event of a recorded stream, in a test build that learns, judges, and records
/// one anomaly per thousand calls. It may only be lowered. An event takes 567; processors with other copy instructions
/// differ by less than 1 %.
const MAX_PER_EVENT: u64 = 580;
/// The same for small steps, which have a higher cost per event: 809.
const MAX_PER_EVENT_OF_SMALL_STEPS: u64 = 825;

#[test]
fn an_event_takes_few_instructions() {
    let name = "instructions::an_event_takes_few_instructions";
    check(name, 1_000, [5, 15], MAX_PER_EVENT);
}

#[test]
fn an_event_of_a_small_step_takes_few_instructions() {
    let name = "instructions::an_event_of_a_small_step_takes_few_instructions";
    check(name, 50, [32, 96], MAX_PER_EVENT_OF_SMALL_STEPS);
}

/// Checks the instructions that more steps of `calls_per_step` calls add.
fn check(test: &str, calls_per_step: u64, [few_steps, many_steps]: [usize; 2], most: u64) {
    let script = script(calls_per_step, many_steps);
    if let Ok(num_steps) = std::env::var(STEPS) {
        return follow(&script, num_steps.parse().unwrap());
    }
    let [few, many] = [few_steps, many_steps].map(|num_steps| instructions(test, num_steps));
    let num_events = script.num_events(few_steps..many_steps);
    let per_event = (many - few) / u64::try_from(num_events).unwrap();
    assert!(
        (most / 2..=most).contains(&per_event),
        "{per_event} instructions, but {most} are allowed; lower the limit if it is much too high"
    );
}

/// Calls in two levels, with a message and two samples for every tenth; one in a thousand is slow.
fn script(calls_per_step: u64, num_steps: usize) -> Script {
    let mut script = Script::new(0);
    for step in 0..u32::try_from(num_steps).unwrap() {
        let first = u64::from(step) * calls_per_step;
        script.step(step);
        for call in first..first + calls_per_step {
            let at = 1_000 * call;
            let slow = if call % 1_000 == 500 { 300 } else { call % 7 };
            script
                .enter(0, "solve", at)
                .call(0, "exchange", at + 10, at + 30 + slow);
            if call % 10 == 0 {
                script.send(0, 1, 7, at + 12);
                script
                    .counter(0, "bytes", 64, at + 12)
                    .counter(0, "bytes", 8, at + 13);
            }
            script.exit(0, "solve", at + 60 + slow);
        }
    }
    script
}

fn follow(script: &Script, num_steps: usize) {
    let server = ServerState::new(StateOptions::default()).into();
    let session = Box::new(ServerState::session(&server));
    let (streams, options) = (
        vec![script.recorded_steps(num_steps)],
        options(Params::default()),
    );
    follow_streams(streams, options, session, &MemoryStore::default()).unwrap();
}

/// Returns the instructions of a test in its own process.
fn instructions(test: &str, num_steps: usize) -> u64 {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(STEPS, num_steps.to_string())
        .env("RAYON_NUM_THREADS", "1");
    let output = valgrind.output().unwrap();
    let report = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{report}");
    let (_, count) = report.split_once("Collected :").unwrap();
    count.split_whitespace().next().unwrap().parse().unwrap()
}
