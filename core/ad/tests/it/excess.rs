//! Anomalies that the default detector finds beyond single calls, and those that it leaves out.

use callgrove_detect::Params;
use callgrove_provdb::Collection::Anomalies;

use crate::instance::{server, session};
use crate::support::{MemoryStore, Script, follow, options};

/// Five times the usual time of a call.
pub(crate) const LONG_US: u64 = 750;

/// Returns the functions of the anomalies that an instance records from a script, with their exclusive times in µs.
fn anomalies(script: &Script) -> Vec<(String, u64)> {
    let store = MemoryStore::default();
    let session = session(&server());
    follow(&[script], options(Params::default()), session, &store).unwrap();
    let of = |record: &serde_json::Value| {
        let function = record["func"].as_str().unwrap_or_default();
        let own_us = record["runtime_exclusive"].as_u64().unwrap_or_default();
        (function.to_owned(), own_us)
    };
    store.of(Anomalies).iter().map(of).collect()
}

/// Returns twenty steps; between two of them the tracer writes inside `advance` for the given time in µs.
fn writes(write_us: impl Fn(u32) -> u64) -> Script {
    let mut script = Script::new(3);
    let mut time_us = 1_000;
    script.step(0).enter(0, "main", 500);
    for step in 1..20 {
        for _ in 0..100 {
            script.enter(0, "advance", time_us);
            script.call(0, "flux", time_us + 5, time_us + 105);
            script.call(0, "flux", time_us + 110, time_us + 210);
            time_us += 216 + u64::from(step % 3);
            script.exit(0, "advance", time_us - 1);
        }
        script.enter(0, "advance", time_us);
        script.call(0, "flux", time_us + 5, time_us + 105);
        time_us += 105 + write_us(step);
        script.step(step).call(0, "flux", time_us, time_us + 100);
        script.exit(0, "advance", time_us + 105);
        time_us += 110;
    }
    script.exit(0, "main", time_us);
    script
}

#[test]
fn writes_of_the_tracer_are_no_anomalies() {
    let script = writes(|step| 4_000 + 500 * u64::from(step % 5));
    assert_eq!(anomalies(&script), []);
}

#[test]
fn a_stall_during_a_write_is_an_anomaly_once_the_usual_write_time_is_known() {
    let script = writes(|step| if step == 15 { 400_000 } else { 4_000 });
    let found = anomalies(&script);
    assert!(
        matches!(found.as_slice(), [(function, 400_000..)] if function == "advance"),
        "{found:?}"
    );
}

/// Returns executions of `advance` with ten calls of `flux` each. Ten calls take five times as long: all in one
/// execution, or each in another execution.
pub(crate) fn long_calls(is_in_row: bool) -> Script {
    let mut script = Script::new(3);
    let mut time_us = 1_000;
    script.step(0).enter(0, "main", 500);
    for advance in 0_u32..3_000 {
        script.enter(0, "advance", time_us);
        for call in 0..10 {
            let number = 10 * advance + call;
            // One call in 300 is longer, by 150 µs on average.
            let rare = f64::from(number / 300 + 1) / 101.0;
            let longer = if number % 300 == 50 {
                150 + (-150.0 * rare.ln()) as u64
            } else {
                0
            };
            let is_long = if is_in_row {
                advance == 1_502
            } else {
                advance % 300 == 2 && call == 4
            };
            let usual_us = 150 + u64::from(number * 7 % 13) + longer;
            let duration_us = if is_long { LONG_US } else { usual_us };
            script.call(0, "flux", time_us + 1, time_us + 1 + duration_us);
            time_us += 2 + duration_us;
        }
        script.exit(0, "advance", time_us + 1);
        time_us += 5;
    }
    script.step(1).exit(0, "main", time_us);
    script
}

#[test]
fn consecutive_calls_that_are_slightly_longer_are_found_together() {
    let num_long = |is_in_row| {
        let found = anomalies(&long_calls(is_in_row));
        found.iter().filter(|it| it.1 == LONG_US).count()
    };
    assert_eq!((num_long(true), num_long(false)), (10, 0));
}
