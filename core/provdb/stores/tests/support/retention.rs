//! Tests of retention rules, shared by all stores.

use std::time::Duration;

use callgrove_provdb::{AccessMode, Collection, Document, Query, Store, TreeRecord};
use callgrove_provdb_stores::upkeep::{RetentionMode, RetentionRules, RetentionSummary, retain};
use callgrove_provdb_stores::{OpenOptions, open};

use super::{execution, one_of_each, tree};

/// Returns an execution of function 0 with its severity; it starts as many seconds after the start as its step number.
fn of_step(collection: Collection, rank: u32, step: u32, severity_us: u64) -> Document {
    let mut record = execution(rank, step.into(), 10 * severity_us);
    record.entry = u64::from(step) * 1_000_000;
    record.outlier_severity = severity_us;
    Document::execution(collection, &record).expect("a record")
}

/// Returns a tree that is recorded because a model judges it abnormal.
fn abnormal_tree() -> Document {
    let sampled: TreeRecord = serde_json::from_str(&tree(0).json).expect("a record");
    let record = TreeRecord {
        event_id: "0:1:99".to_owned(),
        is_sample: false,
        outlier_severity: 20,
        ..sampled
    };
    Document::tree(&record).expect("a record")
}

/// Returns the labels of all documents of a collection, in order.
fn labels(store: &mut dyn Store, collection: Collection) -> Vec<String> {
    let found = store.find(&Query::all(collection)).expect("found");
    let label = |json: &String| {
        let document: serde_json::Value = serde_json::from_str(json).expect("JSON");
        document["event_id"].as_str().expect("a label").to_owned()
    };
    let mut labels: Vec<String> = found.iter().map(label).collect();
    labels.sort_unstable();
    labels
}

fn numbers(retained: &RetentionSummary) -> Vec<(u64, u64)> {
    retained.collections.iter().map(|it| (it.1, it.2)).collect()
}

/// Checks that rules delete exactly the matching documents, and only in the mode that deletes.
pub(crate) fn rules_delete_matching_documents(place: &str) {
    let options = OpenOptions {
        num_shards: Some(2),
        ..OpenOptions::default()
    };
    let others: Vec<Document> = one_of_each()
        .into_iter()
        .filter(|it| !Collection::OF_STEPS.contains(&it.collection))
        .collect();
    let mut store = open(place, &options).expect("made");
    store.put(&others).expect("stored");
    store
        .put(&[
            of_step(Collection::Anomalies, 0, 1, 30),
            of_step(Collection::Anomalies, 0, 2, 90),
            of_step(Collection::Anomalies, 1, 9, 40),
            of_step(Collection::NormalExecs, 0, 1, 1),
            // The execution that the anomaly of step 2 is compared with.
            of_step(Collection::NormalExecs, 0, 3, 2),
            of_step(Collection::NormalExecs, 0, 4, 3),
            of_step(Collection::NormalExecs, 1, 9, 4),
            tree(0),
            abnormal_tree(),
        ])
        .expect("stored");
    drop(store);
    let run = |rules: &RetentionRules, mode| {
        let retained = retain(place, &OpenOptions::default(), rules, mode);
        numbers(&retained.expect("retained"))
    };
    let severity = RetentionRules {
        below_severity_us: Some(50),
        ..RetentionRules::default()
    };
    let of_other_program = RetentionRules {
        program: Some(7),
        ..severity.clone()
    };
    let old = RetentionRules {
        older_than: Some(Duration::from_millis(7_500)),
        ..RetentionRules::default()
    };
    let all = (3, 4, 2);
    let counted =
        |anomalies, normal, trees| vec![(anomalies, all.0), (normal, all.1), (trees, all.2)];
    let count = RetentionMode::Count;
    assert_eq!(run(&RetentionRules::default(), count), counted(0, 0, 0));
    assert_eq!(run(&of_other_program, count), counted(0, 0, 0));
    // The newest started at 9 s, so these started before 1.5 s.
    assert_eq!(run(&old, count), counted(1, 1, 1));
    let steps = RetentionRules {
        before_step: Some(9),
        ..RetentionRules::default()
    };
    assert_eq!(run(&steps, count), counted(2, 3, 1));
    assert_eq!(run(&severity, count), counted(2, 3, 1));
    assert_eq!(run(&severity, RetentionMode::Delete), counted(2, 3, 1));

    let reading = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    let mut store = open(place, &reading).expect("opened");
    assert_eq!(labels(store.as_mut(), Collection::Anomalies), ["0:2:900"]);
    assert_eq!(labels(store.as_mut(), Collection::NormalExecs), ["0:3:20"]);
    assert_eq!(labels(store.as_mut(), Collection::Trees), ["0:1:2"]);
    for collection in Collection::ALL
        .into_iter()
        .filter(|it| !Collection::OF_STEPS.contains(it))
    {
        let expected = others.iter().filter(|it| it.collection == collection);
        let found = store.count(&Query::all(collection)).expect("counted");
        assert_eq!(usize::try_from(found), Ok(expected.count()), "{collection}");
    }
}
