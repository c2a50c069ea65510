//! Servers with clients that request too much, disconnect, or query unknown fields.

use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

use callgrove_provdb::{Collection, Document};
use callgrove_provdb_stores::{OpenOptions, open};

use crate::support::{command, example, start, stdout};

/// Runs for minutes, without memory.
const SLOW_QUERY: &str =
    "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c";
/// Maximum time of a prompt answer, far below the time limit of a statement.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(15);

fn refusal(args: &[&str]) -> String {
    let Output { status, stderr, .. } = command(args).output().unwrap();
    assert_eq!(status.code(), Some(1), "{args:?}");
    String::from_utf8(stderr).unwrap()
}

#[test]
fn remote_plain_sql_is_off_unless_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let server = start(&["provdb", &provdb, "--listen", "127.0.0.1:0"]);
    let url = server.url().unwrap();
    let error_output = refusal(&["query", &url, "--sql", "select 1 as one"]);
    assert!(error_output.contains("--allow-sql"), "{error_output}");
    assert_eq!(stdout(&["query", &url, "--count"]).trim(), "0");
    server.terminate().unwrap();
    // A local folder needs no permission.
    let sql = [
        "query",
        &provdb,
        "--sql",
        "select 1 as one",
        "--format",
        "csv",
    ];
    assert_eq!(stdout(&sql), "one\n1\n");
}

#[test]
fn slow_statements_delay_neither_others_nor_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    let server = start(&["provdb", &provdb, "--listen", "127.0.0.1:0", "--allow-sql"]);
    let url = server.url().unwrap();
    let sql = ["query", &url, "--sql"];
    let mut killed = start(&[&sql[..], &[SLOW_QUERY]].concat());
    thread::sleep(Duration::from_millis(500));
    killed.kill().unwrap();
    let started = Instant::now();
    stdout(&[&sql[..], &["select 1"]].concat());
    assert!(
        started.elapsed() < PROMPT_TIMEOUT,
        "the statement of a killed client went on"
    );

    let slow: Vec<_> = (0..3)
        .map(|_| start(&[&sql[..], &[SLOW_QUERY]].concat()))
        .collect();
    thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    let (trace, found) = (example(), ["--provdb", &url]);
    let ad = [&["ad", &trace][..], &found].concat();
    stdout(&ad);
    let num_anomalies = stdout(&["query", &url, "--count"]);
    assert_ne!(num_anomalies.trim(), "0");
    println!("an instance and a query took {:?}", started.elapsed());
    server.terminate().unwrap();
    assert!(
        started.elapsed() < 2 * PROMPT_TIMEOUT,
        "it took {:?}",
        started.elapsed()
    );
    for client in slow {
        client.line_with("cancelled").unwrap();
    }
}

#[test]
fn an_unknown_field_is_an_error_with_the_nearest_name() {
    let folder = tempfile::tempdir().unwrap();
    let provdb = folder.path().join("found").to_string_lossy().into_owned();
    stdout(&["run", &example(), "--provdb", &provdb]);
    // A document of another program, with fields in addition to the schema's.
    let own = r#"{"pid":0,"rid":0,"tid":0,"descr":"weather","value":"wet","humidity":7}"#;
    let own = Document::from_json(Collection::Metadata, 0, "own", own);
    let mut store = open(&provdb, &OpenOptions::default()).unwrap();
    store.put(&[own]).unwrap();
    drop(store);
    let server = start(&["provdb", &provdb, "--listen", "127.0.0.1:0"]);
    let url = server.url().unwrap();
    for place in [&provdb, &url] {
        for (args, error_output) in [
            (
                ["anomalies", "--where", "severty > 5"],
                "no field 'severty' in anomalies; did you mean 'outlier_severity'?",
            ),
            (
                ["anomalies", "--sort", "outlier_scor"],
                "no field 'outlier_scor' in anomalies; did you mean 'outlier_score'?",
            ),
            (
                ["anomalies", "--columns", "rid,event_window.com_window"],
                "no field 'event_window.com_window' in anomalies; did you mean 'event_window.comm_window'?",
            ),
            (
                ["metadata", "--where", "descr like '*' and wetness is null"],
                "no field 'wetness' in metadata; use one of __id, descr, pid, rid, tid, value",
            ),
        ] {
            let refused = refusal(&[&["query", place], &args[..]].concat());
            assert_eq!(refused.trim(), format!("callgrove: {error_output}"));
        }
        let beside_schema = [
            "query",
            place,
            "metadata",
            "--where",
            "humidity > 5",
            "--columns",
            "humidity",
            "--sort",
            "humidity",
            "--format",
            "csv",
        ];
        assert_eq!(stdout(&beside_schema), "humidity\n7\n");
        let aliases = ["query", place, "--sort", "severity", "-n", "1"];
        assert!(stdout(&aliases).starts_with("event_id"));
    }
    server.terminate().unwrap();
}
