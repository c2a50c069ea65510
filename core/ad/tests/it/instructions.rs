//! What an event costs, in instructions: unlike times, those are the same on a busy machine.

use std::process::Command;

use callgrove_detect::Params;
use callgrove_pserver::{ServerState, StateOptions};

use crate::support::{Script, Shelf, follow_streams, options};

/// Says to the process under Valgrind how many steps it is to follow.
const STEPS: &str = "CALLGROVE_TEST_STEPS";
const FEW_STEPS: usize = 5;
const MANY_STEPS: usize = 15;

/// A ratchet: instructions for each function event of a recorded stream, in code that is compiled for tests, where it is
/// learnt and judged and an anomaly of a thousand calls is recorded. It may be lowered.
const MOST_PER_EVENT: u64 = 715;

#[test]
fn an_event_takes_few_instructions() {
    let mut script = script();
    if let Ok(num_steps) = std::env::var(STEPS) {
        return follow(script, num_steps.parse().unwrap());
    }
    let [few, many] = [FEW_STEPS, MANY_STEPS].map(instructions);
    let mut num_events = script.num_events();
    script.keep_steps(FEW_STEPS);
    num_events -= script.num_events();
    let per_event = (many - few) / u64::try_from(num_events).unwrap();
    assert!(
        (MOST_PER_EVENT / 2..=MOST_PER_EVENT).contains(&per_event),
        "{per_event} instructions, and {MOST_PER_EVENT} are allowed; if that is far more, lower it"
    );
}

/// A thousand calls a step in two levels, with a message and two samples for every tenth.
fn script() -> Script {
    let mut script = Script::new(0);
    for step in 0..u32::try_from(MANY_STEPS).unwrap() {
        script.step(step);
        for call in 0..1_000 {
            let at = 1_000_000 * u64::from(step) + 900 * call;
            let slow = if call == 500 { 300 } else { call % 7 };
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

fn follow(mut script: Script, num_steps: usize) {
    script.keep_steps(num_steps);
    let server = ServerState::new(StateOptions::default()).into();
    let session = Box::new(ServerState::session(&server));
    let (streams, options) = (vec![script.recorded()], options(Params::default()));
    follow_streams(streams, options, session, &Shelf::default()).unwrap();
}

/// Of this very test in a process of its own.
fn instructions(num_steps: usize) -> u64 {
    let mut valgrind = Command::new("valgrind");
    valgrind
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "instructions::an_event_takes_few_instructions"])
        .env(STEPS, num_steps.to_string())
        .env("RAYON_NUM_THREADS", "1");
    let output = valgrind.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{told}");
    let (_, count) = told.split_once("Collected :").unwrap();
    count.split_whitespace().next().unwrap().parse().unwrap()
}
