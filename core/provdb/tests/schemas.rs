//! The JSON Schemas: every record conforms to its own schema, and changed records do not.

#![expect(dead_code, reason = "the shared code for stores is not used here")]

#[path = "support/samples.rs"]
mod samples;

use callgrove_provdb::{Collection, ExecutionRecord, PACKET_SCHEMA};
use jsonschema::Validator;
use serde_json::{Map, Value, json};

use samples::{one_of_each, run_stats};

fn validator(schema: &str) -> Validator {
    let schema: Value = serde_json::from_str(schema).expect("a schema is JSON");
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    jsonschema::meta::validate(&schema).expect("a schema of the draft");
    jsonschema::validator_for(&schema).expect("a schema")
}

/// Returns a valid value with one change at every object: an extra field, or a missing one.
fn changes(value: &Value) -> Vec<(String, Value)> {
    let mut changes = Vec::new();
    collect(value, value, "", &mut changes);
    changes
}

fn collect(root: &Value, value: &Value, pointer: &str, changes: &mut Vec<(String, Value)>) {
    let changed = |change: &dyn Fn(&mut Map<String, Value>)| {
        let mut copy = root.clone();
        let place = copy.pointer_mut(pointer).and_then(Value::as_object_mut);
        change(place.expect("an object is there"));
        copy
    };
    match value {
        Value::Object(fields) => {
            let more = changed(&|it| drop(it.insert("more".to_owned(), json!(1))));
            changes.push((format!("{pointer} with more"), more));
            for (name, field) in fields {
                changes.push((
                    format!("{pointer} without {name}"),
                    changed(&|it| drop(it.remove(name))),
                ));
                collect(root, field, &format!("{pointer}/{name}"), changes);
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                collect(root, element, &format!("{pointer}/{index}"), changes);
            }
        }
        _ => {}
    }
}

fn holds_exactly(validator: &Validator, valid: &Value, optional: &[&str]) {
    validator
        .validate(valid)
        .unwrap_or_else(|error| panic!("{error}: {valid:#}"));
    for (change, changed) in changes(valid) {
        let is_optional = optional.iter().any(|it| change == format!(" without {it}"));
        assert_eq!(validator.is_valid(&changed), is_optional, "{change}");
    }
}

#[test]
fn every_record_conforms_to_its_schema_and_no_other_field_is_allowed() {
    for document in one_of_each() {
        let mut value: Value = serde_json::from_str(&document.json).expect("JSON");
        value["__id"] = json!(0);
        holds_exactly(&validator(document.collection.schema()), &value, &[]);
    }
}

#[test]
fn values_of_another_type_are_refused() {
    let validator = validator(Collection::Anomalies.schema());
    let mut valid: Value = serde_json::from_str(&one_of_each()[0].json).expect("JSON");
    valid["__id"] = json!(0);
    for (field, value) in [
        ("version", json!(1)),
        ("event_id", json!("0:1")),
        ("entry", json!(-1)),
        ("entry", json!(1.5)),
        ("func", json!(null)),
        ("call_stack", json!([])),
        ("algo_params", json!(null)),
        ("gpu_location", json!("nowhere")),
        ("gpu_parent", json!(1)),
        ("node_state", json!([])),
        ("outlier_score", json!("1")),
    ] {
        let mut changed = valid.clone();
        changed[field] = value;
        assert!(!validator.is_valid(&changed), "{field}");
    }
}

#[test]
fn a_record_is_not_read_in_part() {
    let whole: Value = serde_json::from_str(&one_of_each()[0].json).expect("JSON");
    let is_read = |json: &Value| serde_json::from_str::<ExecutionRecord>(&json.to_string()).is_ok();
    assert!(is_read(&whole));
    for name in whole.as_object().expect("an object").keys() {
        let is_one_of = |names: &[&str]| names.contains(&name.as_str());
        let mut changed = whole.clone();
        changed[name] = json!(-1);
        let may_be_negative = is_one_of(&["algo_params", "outlier_score"]);
        assert_eq!(is_read(&changed), may_be_negative, "{name} is -1");
        changed.as_object_mut().expect("an object").remove(name);
        let is_optional = is_one_of(&["gpu_location", "gpu_parent", "node_state"]);
        assert_eq!(is_read(&changed), is_optional, "without {name}");
    }
}

#[test]
fn the_packet_of_the_parameter_server_has_a_schema() {
    let stats = run_stats();
    let metrics = json!({
        "first_io_step": 1, "last_io_step": 2, "max_timestamp": 9, "min_timestamp": 3, "severity": stats, "score": stats,
        "count": stats
    });
    let packet = json!({
        "version": 2,
        "created_at": 1_700_000_000_000_u64,
        "anomaly_stats": {
            "created_at": 1_700_000_000_000_u64,
            "anomaly": [{
                "data": [{
                    "app": 0, "max_timestamp": 9, "min_timestamp": 3, "n_anomalies": 2, "rank": 12, "step": 4,
                    "outlier_scores": stats
                }],
                "key": "0:12",
                "stats": stats
            }],
            "func": [{"app": 0, "fid": 1, "name": "f", "exclusive": stats, "inclusive": stats, "stats": stats}]
        },
        "anomaly_metrics": [{
            "app": 0, "rank": 12, "fid": 1, "fname": "f", "_id": 7, "new_data": metrics, "all_data": metrics
        }],
        "counter_stats": [{"app": 0, "counter": "PAPI_L1_TCM", "stats": stats}]
    });
    holds_exactly(
        &validator(PACKET_SCHEMA),
        &packet,
        &["anomaly_stats", "counter_stats"],
    );
}
