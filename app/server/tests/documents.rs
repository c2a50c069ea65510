//! The provenance database through the JSON interface, with a real store.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::path::{Path, PathBuf};

use callgrove_provdb::{AccessMode, Collection, Document};
use callgrove_provdb_stores::{OpenOptions, open};
use callgrove_server::api::{Api, Documents, Live, MAX_LIMIT};
use callgrove_server::client::{Client, ClientError, ClientOptions};
use callgrove_server::{RunningServer, recorded_overview};
use callgrove_watch::DocumentsRequest;
use serde_json::{Value, json};
use support::{config, raw, start, start_api};

fn write(folder: &Path, scores: impl IntoIterator<Item = u32>) {
    let documents: Vec<Document> = scores
        .into_iter()
        .map(|score| {
            let json = json!({
                "rid": score % 2, "func": format!("f{score}"), "outlier_score": score, "outlier_severity": 100 - score,
            });
            let key = format!("0:{score}");
            Document::from_json(Collection::Anomalies, score % 2, key, json.to_string())
        })
        .collect();
    open(folder.to_str().unwrap(), &OpenOptions::default())
        .unwrap()
        .put(&documents)
        .unwrap();
}

fn serve(folder: PathBuf) -> RunningServer {
    let documents = Documents::new(2, move || {
        let options = OpenOptions {
            mode: AccessMode::ReadOnly,
            ..OpenOptions::default()
        };
        open(folder.to_str().unwrap(), &options)
    });
    start_api(
        config(),
        Api {
            live: Live::Absent,
            tree_models: None,
            documents: Some(documents),
        },
    )
}

fn client(server: &RunningServer) -> Client {
    Client::new(server.url(), &ClientOptions::default()).unwrap()
}

fn all() -> DocumentsRequest {
    DocumentsRequest {
        collection: Collection::Anomalies,
        filter: None,
        sort: None,
        is_descending: false,
        limit: MAX_LIMIT,
        offset: 0,
    }
}

fn scores(documents: &[Value]) -> Vec<u64> {
    documents
        .iter()
        .map(|document| document["outlier_score"].as_u64().unwrap())
        .collect()
}

#[test]
fn documents_come_filtered_sorted_and_in_pages() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 0..10);
    let server = serve(folder.path().join("."));
    let client = client(&server);
    assert!(client.health().unwrap().documents);
    assert_eq!(client.documents(&all()).unwrap().len(), 10);
    let filter = Some("rid = 1 and func like 'f*'".to_owned());
    let by_score = DocumentsRequest {
        filter: filter.clone(),
        sort: Some("score".to_owned()),
        is_descending: true,
        limit: 2,
        ..all()
    };
    assert_eq!(scores(&client.documents(&by_score).unwrap()), [9, 7]);
    let next = DocumentsRequest {
        offset: 2,
        ..by_score
    };
    assert_eq!(scores(&client.documents(&next).unwrap()), [5, 3]);
    let by_severity = DocumentsRequest {
        sort: Some("severity".to_owned()),
        ..next
    };
    assert_eq!(scores(&client.documents(&by_severity).unwrap()), [5, 7]);
    assert_eq!(
        client
            .count(Collection::Anomalies, filter.as_deref())
            .unwrap(),
        5
    );
    assert_eq!(client.count(Collection::Metadata, None).unwrap(), 0);
}

#[test]
fn documents_written_later_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve(folder.path().join("run"));
    let client = client(&server);
    let refused = client.documents(&all()).expect_err("nothing yet");
    assert!(
        matches!(refused, ClientError::Refused { status: 404, .. }),
        "{refused}"
    );
    write(&folder.path().join("run"), 0..3);
    assert_eq!(client.documents(&all()).unwrap().len(), 3);
    write(&folder.path().join("run"), 0..5);
    assert_eq!(client.documents(&all()).unwrap().len(), 5);
}

#[test]
fn invalid_queries_are_refused_with_position_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), 0..1);
    let server = serve(folder.path().join("."));
    let client = client(&server);
    let refusal = |request: DocumentsRequest| match client.documents(&request).expect_err("unfit") {
        ClientError::Refused {
            message,
            status: 400,
            ..
        } => message,
        other => panic!("{other}"),
    };
    let filter = refusal(DocumentsRequest {
        filter: Some("rid = ".to_owned()),
        ..all()
    });
    assert!(
        filter.contains("in the filter") && filter.contains('^'),
        "{filter}"
    );
    let field = refusal(DocumentsRequest {
        filter: Some("severty > 5".to_owned()),
        ..all()
    });
    assert!(
        field.contains("did you mean 'outlier_severity'?"),
        "{field}"
    );
    let sort = refusal(DocumentsRequest {
        sort: Some("a[*]".to_owned()),
        ..all()
    });
    assert!(sort.contains("in the order"), "{sort}");
    let limit = refusal(DocumentsRequest {
        limit: MAX_LIMIT + 1,
        ..all()
    });
    assert!(limit.contains("offset"), "{limit}");
    let ask = |path: &str| {
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        raw(server.local_addr(), &request)
    };
    let unknown = ask("/api/documents/anomaly");
    assert!(
        unknown.starts_with("HTTP/1.1 404") && unknown.contains("normalexecs"),
        "{unknown}"
    );
    let misspelt = ask("/api/documents/anomalies?filters=rid=1");
    assert!(
        misspelt.starts_with("HTTP/1.1 400") && misspelt.contains("offset"),
        "{misspelt}"
    );
    // Text in a filter is data and never becomes part of a statement.
    assert_eq!(
        client
            .count(
                Collection::Anomalies,
                Some("func = 'x\"; drop table anomalies'")
            )
            .unwrap(),
        0
    );
    assert_eq!(client.count(Collection::Anomalies, None).unwrap(), 1);
}

#[test]
fn schemas_are_served_for_every_collection_and_the_packets() {
    let server = start(config(), Live::Absent);
    let names = Collection::ALL.map(Collection::name);
    for name in names.into_iter().chain(["packet"]) {
        let request = format!(
            "GET /api/schema/{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        );
        let answer = raw(server.local_addr(), &request);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{name}: {head}");
        let schema: Value = serde_json::from_str(body).unwrap();
        assert!(
            schema["$schema"].as_str().unwrap().contains("2020-12"),
            "{name}"
        );
    }
}

#[test]
fn a_server_without_a_database_names_one_that_has_it() {
    let server = start(config(), Live::Absent);
    let refused = client(&server)
        .count(Collection::Anomalies, None)
        .expect_err("none")
        .to_string();
    assert!(refused.contains("callgrove provdb"), "{refused}");
}

#[test]
fn a_finished_run_is_one_packet() {
    let folder = tempfile::tempdir().unwrap();
    let anomaly = |key: u32, rank: u32, step: u32, score: f64| {
        let json = json!({
            "pid": 0, "rid": rank, "fid": 7, "func": "f", "io_step": step, "entry": 1000 * key,
            "outlier_score": score, "outlier_severity": 50 + key,
        });
        Document::from_json(
            Collection::Anomalies,
            rank,
            key.to_string(),
            json.to_string(),
        )
    };
    let moments = json!({
        "accumulate": 12.0, "count": 4, "kurtosis": 0.0, "maximum": 9.0, "mean": 3.0, "minimum": 1.0,
        "skewness": 0.0, "stddev": 2.0,
    });
    let profile = json!({
        "app": 0, "fid": 7, "fname": "f", "anomaly_metrics": null,
        "runtime_profile": {"exclusive_runtime": moments, "inclusive_runtime": moments},
    });
    let documents = [
        anomaly(1, 0, 2, 10.0),
        anomaly(2, 0, 2, 20.0),
        anomaly(3, 1, 5, 30.0),
        Document::func_stats(0, 7, &profile).unwrap(),
    ];
    let url = folder.path().to_str().unwrap();
    let mut store = open(url, &OpenOptions::default()).unwrap();
    store.put(&documents).unwrap();
    let packet = recorded_overview::packet(store.as_mut(), 99).unwrap();
    let stats = packet.anomaly_stats.unwrap();
    let ranks: Vec<_> = stats
        .anomaly
        .iter()
        .map(|rank| (rank.key.as_str(), rank.data.len()))
        .collect();
    assert_eq!(ranks, [("0:0", 1), ("0:1", 1)]);
    assert_eq!(stats.anomaly[0].data[0].n_anomalies, 2);
    assert_eq!(
        (stats.func[0].name.as_str(), stats.func[0].exclusive.count),
        ("f", 4)
    );
    let metrics = &packet.anomaly_metrics[0].all_data;
    assert_eq!((metrics.score.maximum, metrics.severity.count), (20.0, 2));
    assert_eq!(
        (metrics.min_timestamp_us, metrics.max_timestamp_us),
        (1000, 2052)
    );
    assert!(packet.counter_stats.is_none());
}
