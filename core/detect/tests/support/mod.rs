//! Fixtures and generated executions for tests.
#![allow(dead_code, reason = "every test binary uses its own part")]

pub(crate) mod calls;
pub(crate) mod peer;

use serde_json::Value;

/// Reads a file of reference results of this crate or, as `../../../ml/tests/fixtures/…`, of another.
pub(crate) fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).expect("the fixture exists");
    serde_json::from_str(&text).expect("the fixture is JSON")
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    let numbers = value.as_array().expect("an array");
    numbers.iter().map(number).collect()
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}
