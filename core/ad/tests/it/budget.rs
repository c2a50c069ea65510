//! A budget for documents: what is recorded and what is only counted.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use callgrove_ad::{AdOptions, DocumentBudget, LEFT_OUT, Pacing, Status};
use callgrove_detect::Params;
use callgrove_model::FunctionPattern;
use callgrove_provdb::Collection::{Anomalies, Metadata, NormalExecs, Trees};
use callgrove_pserver::GlobalDocuments;
use serde_json::Value;

use crate::excess::{LONG_US, long_calls};
use crate::instance::{server, session};
use crate::support::{MemoryStore, Script, follow, follow_streams, options};

/// The key of a document: its collection and event.
type Key = (&'static str, String);

/// What an instance records and counts.
struct Recorded {
    documents: BTreeMap<Key, Value>,
    left_out: BTreeMap<String, u64>,
    counted: GlobalDocuments,
    status: Status,
}

fn with_budget(documents_per_second: u32, pacing: Pacing) -> AdOptions {
    let mut options = options(Params::default());
    options.budget = NonZeroU32::new(documents_per_second).map(DocumentBudget);
    options.pacing = pacing;
    options
}

fn recorded(store: &MemoryStore, counted: GlobalDocuments, status: Status) -> Recorded {
    let of_executions = [Anomalies, NormalExecs].into_iter().flat_map(|collection| {
        let documents = store.of(collection).into_iter();
        documents.map(move |it| {
            let event_id = it["event_id"].as_str().unwrap().to_owned();
            ((collection.name(), event_id), it)
        })
    });
    let metadata = store.of(Metadata);
    let left_out = metadata.iter().find(|it| it["descr"] == LEFT_OUT);
    let left_out = left_out.and_then(|it| it["value"].as_str());
    Recorded {
        documents: of_executions.collect(),
        left_out: left_out.map_or_else(BTreeMap::new, |it| serde_json::from_str(it).unwrap()),
        counted,
        status,
    }
}

/// Reads a recorded rank; 0 documents per second mean no budget.
fn follow_recorded(script: &Script, documents_per_second: u32) -> Recorded {
    let (store, server) = (MemoryStore::default(), server());
    let options = with_budget(documents_per_second, Pacing::Lockstep);
    let streams = vec![script.recorded()];
    let status = follow_streams(streams, options, session(&server), &store).unwrap();
    recorded(&store, server.documents(), status)
}

/// Steps of a second each, in which `f` and `g` have three slow calls, mostly slower in later steps.
fn slow_calls(rank: u32, num_steps: u32) -> Script {
    let mut script = Script::new(rank);
    for step in 0..num_steps {
        let start_us = 1_000_000 * u64::from(step + 1);
        script
            .step(step)
            .usual_calls("f", start_us, 300)
            .usual_calls("g", start_us + 100_000, 300);
        for call in 0..3 {
            let entry_us = start_us + 200_000 + 200_000 * call;
            let slow_us = 20_000 + 1_000 * ((7 * u64::from(step) + 3 * call) % 50);
            script.call(0, "f", entry_us, entry_us + slow_us);
            let entry_us = entry_us + 100_000;
            script.call(0, "g", entry_us, entry_us + slow_us / 2 + 10_000);
        }
    }
    script
}

fn severities(recorded: &Recorded, function: &str) -> Vec<u64> {
    let anomalies = recorded.documents.iter();
    let anomalies = anomalies.filter(|(key, it)| key.0 == "anomalies" && it["func"] == function);
    anomalies
        .map(|(_, it)| it["outlier_severity"].as_u64().unwrap())
        .collect()
}

#[test]
fn a_budget_leaves_out_documents_and_changes_no_count() {
    let script = slow_calls(0, 40);
    let all = follow_recorded(&script, 0);
    let some = follow_recorded(&script, 1);
    assert!(all.left_out.is_empty() && all.status.num_left_out == 0);
    assert_eq!(
        severities(&all, "f").len() + severities(&all, "g").len(),
        240
    );
    assert_eq!(some.counted, all.counted);
    assert_eq!(some.status.num_anomalies, all.status.num_anomalies);
    // Forty seconds, a burst before and an overdraft after them, and what is required.
    assert!(
        (40..80).contains(&some.documents.len()),
        "{}",
        some.documents.len()
    );
    for function in ["f", "g"] {
        let [all, some] = [&all, &some].map(|it| severities(it, function));
        assert_eq!(
            all.iter().max(),
            some.iter().max(),
            "the worst of {function}"
        );
        assert!(some.len() < all.len());
    }
    let missing = all.documents.iter();
    let missing = missing.filter(|(key, _)| !some.documents.contains_key(key));
    let mut by_function: BTreeMap<String, u64> = BTreeMap::new();
    for (_, document) in missing {
        *by_function
            .entry(document["func"].as_str().unwrap().to_owned())
            .or_default() += 1;
    }
    assert_eq!(some.left_out, by_function);
    assert_eq!(some.status.num_left_out, by_function.values().sum::<u64>());
    let most_first = some.status.left_out.iter().cloned();
    assert_eq!(most_first.collect::<BTreeMap<_, _>>(), by_function);
    for (key, document) in &some.documents {
        assert_eq!(document, &all.documents[key], "unchanged");
    }
}

#[test]
fn the_most_severe_anomaly_of_each_step_comes_first() {
    let script = slow_calls(0, 40);
    let recorded = follow_recorded(&script, 1);
    let anomalies = recorded.documents.iter();
    let anomalies = anomalies.filter(|(key, _)| key.0 == "anomalies");
    let steps: BTreeSet<u64> = anomalies
        .map(|(_, it)| it["io_step"].as_u64().unwrap())
        .collect();
    assert_eq!(steps.len(), 40);
}

#[test]
fn what_a_rank_records_does_not_depend_on_the_other_ranks_of_its_instance() {
    let script = slow_calls(2, 40);
    let alone = follow_recorded(&script, 6);
    let (store, server) = (MemoryStore::default(), server());
    let other = slow_calls(0, 40);
    let streams = vec![script.recorded(), other.recorded()];
    let options = with_budget(6, Pacing::Lockstep);
    follow_streams(streams, options, session(&server), &store).unwrap();
    let of_rank = |it: &Value| it["rid"] == 2;
    let both = store.of(Anomalies).into_iter().filter(of_rank);
    let both: BTreeSet<String> = both.map(|it| it["event_id"].to_string()).collect();
    let alone = alone.documents.into_iter();
    let alone = alone.filter(|(key, _)| key.0 == "anomalies");
    let alone: BTreeSet<String> = alone.map(|(_, it)| it["event_id"].to_string()).collect();
    assert!(alone.len() < 240);
    assert_eq!(both, alone);
}

#[test]
fn the_sample_of_trees_is_recorded_whatever_the_budget() {
    let script = slow_calls(0, 40);
    let sampled = |documents_per_second| {
        let (store, mut options) = (
            MemoryStore::default(),
            with_budget(documents_per_second, Pacing::Lockstep),
        );
        options.trees.sampled = vec![FunctionPattern::new("f")];
        let streams = vec![script.recorded()];
        let status = follow_streams(streams, options, session(&server()), &store).unwrap();
        (store.of(Trees), status.num_left_out)
    };
    let (all, some) = (sampled(0), sampled(1));
    assert!(all.0.len() > 100 && some.1 > 0);
    assert_eq!(some.0, all.0);
}

#[test]
fn calls_in_a_row_stay_anomalies_though_some_of_them_were_left_out() {
    let script = long_calls(true);
    let follow_live = |documents_per_second| {
        let (store, server) = (MemoryStore::default(), server());
        let options = with_budget(documents_per_second, Pacing::Live);
        let status = follow(&[&script], options, session(&server), &store).unwrap();
        recorded(&store, server.documents(), status)
    };
    let (all, some) = (follow_live(0), follow_live(1));
    let num_long = |recorded: &Recorded| {
        let severities = severities(recorded, "flux").into_iter();
        severities.filter(|it| *it == LONG_US).count()
    };
    assert_eq!(num_long(&all), 10);
    assert!((1..10).contains(&num_long(&some)), "{}", num_long(&some));
    let num_counted = |of: &Recorded| of.status.num_anomalies;
    assert_eq!(
        num_counted(&some),
        num_counted(&all),
        "as counted during the run"
    );
}
