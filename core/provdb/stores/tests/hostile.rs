//! A served database with clients that request too much, disconnect, or do not take their replies.

mod support;

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use callgrove_provdb::{AccessMode, Collection, Document, ProvDbError, Query, Store};
use callgrove_provdb_net::{ProvDbService, ReadPolicy, RemoteOptions, RemoteStore, ServedStore};
use callgrove_provdb_stores::{OpenOptions, open};
use tokio::runtime::Runtime;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;

use support::conforms::eventually;
use support::execution;

/// Set for a child process: the URL of the server.
const CHILD_URL: &str = "PROVDB_HOSTILE_TEST_URL";
/// Runs for minutes, without memory.
const SLOW_QUERY: &str =
    "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c";
/// Locked by each test, since the memory limit of a statement counts the growth of the whole process.
static PROCESS: Mutex<()> = Mutex::new(());
/// Maximum time of a prompt answer, far below the time limit of a statement.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(10);

struct Served {
    runtime: Runtime,
    url: String,
    store: ServedStore,
}

fn serve(folder: &Path, policy: ReadPolicy) -> Served {
    let place = folder.to_str().expect("UTF-8").to_owned();
    let writer = open(&place, &OpenOptions::default()).expect("made");
    let options = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    let open_reader = move || open(&place, &options);
    let (service, store) = ProvDbService::serve(writer, open_reader, policy).expect("a thread");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    runtime.spawn(async move {
        let incoming = TcpIncoming::bind(address).expect("the port is free");
        let server = Server::builder().add_service(service);
        server.serve_with_incoming(incoming).await
    });
    Served {
        runtime,
        url: format!("http://{address}"),
        store,
    }
}

impl Served {
    fn client(&self) -> RemoteStore {
        eventually(|| {
            RemoteStore::open(&self.url, AccessMode::ReadWrite, &RemoteOptions::default()).ok()
        })
    }
}

fn anomaly(index: u64) -> Document {
    Document::execution(Collection::Anomalies, &execution(0, 1, index)).expect("a record")
}

#[test]
fn remote_plain_sql_is_refused_unless_the_operator_allows_it() {
    let _alone = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve(folder.path(), ReadPolicy::QueriesOnly);
    let mut client = server.client();
    let error = client.find_plain_sql("select 1").expect_err("refused");
    assert!(matches!(error, ProvDbError::SqlNotAllowed(_)), "{error:?}");
    let message = error.to_string();
    assert!(
        message.contains("--allow-sql") && message.contains(&server.url),
        "{message}"
    );
    assert_eq!(
        client.count(&Query::all(Collection::Anomalies)).ok(),
        Some(0)
    );
    // Local files are read without the server.
    let place = folder.path().to_str().expect("UTF-8");
    let mut own = open(place, &OpenOptions::default()).expect("opened");
    assert_eq!(own.find_plain_sql("select 1").expect("read").rows.len(), 1);
}

#[test]
fn a_slow_statement_delays_neither_writes_nor_queries() {
    let _alone = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve(folder.path(), ReadPolicy::PlainSql);
    let (mut writer, mut reader) = (server.client(), server.client());
    let hostile = thread::scope(|scope| {
        let statements: Vec<_> = (0..4)
            .map(|_| {
                let mut client = server.client();
                scope.spawn(move || client.find_plain_sql(SLOW_QUERY))
            })
            .collect();
        thread::sleep(Duration::from_millis(300));
        let start = Instant::now();
        let mut longest = Duration::ZERO;
        for index in 0..50 {
            let write = Instant::now();
            writer.put(&[anomaly(index)]).expect("stored");
            longest = longest.max(write.elapsed());
        }
        assert_eq!(
            reader.count(&Query::all(Collection::Anomalies)).ok(),
            Some(50)
        );
        assert!(reader.state("none").expect("read").is_none());
        println!("the longest write took {longest:?} alongside four slow statements");
        assert!(start.elapsed() < PROMPT_TIMEOUT, "{:?}", start.elapsed());
        assert!(statements.iter().all(|it| !it.is_finished()));
        // Closing the server ends the statements.
        server.store.stop_reading();
        let ended = statements
            .into_iter()
            .map(|it| it.join().expect("no panic"));
        ended.collect::<Vec<_>>()
    });
    for result in hostile {
        let error = result.expect_err("ended");
        assert!(matches!(error, ProvDbError::Interrupted), "{error:?}");
    }
    drop((writer, reader));
    let start = Instant::now();
    server.runtime.shutdown_timeout(PROMPT_TIMEOUT);
    server.store.close();
    assert!(start.elapsed() < PROMPT_TIMEOUT, "{:?}", start.elapsed());
}

#[test]
fn a_statement_ends_when_its_client_goes() {
    if let Some(url) = std::env::var_os(CHILD_URL) {
        let url = url.to_str().expect("UTF-8");
        let mut client = RemoteStore::open(url, AccessMode::ReadWrite, &RemoteOptions::default())
            .expect("opened");
        println!("\nasking");
        client.find_plain_sql(SLOW_QUERY).expect_err("it is killed");
        return;
    }
    let _alone = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve(folder.path(), ReadPolicy::PlainSql);
    let mut client = server.client();
    let mut child = Command::new(std::env::current_exe().expect("the test is a program"))
        .args([
            "--exact",
            "a_statement_ends_when_its_client_goes",
            "--nocapture",
        ])
        .env(CHILD_URL, &server.url)
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "asking"));
    thread::sleep(Duration::from_millis(300));
    child.kill().expect("killed");
    child.wait().expect("ended");
    // Only one statement runs at a time, so this waits for the end of the child's.
    let start = Instant::now();
    assert_eq!(
        client.find_plain_sql("select 1").expect("read").rows.len(),
        1
    );
    assert!(start.elapsed() < PROMPT_TIMEOUT, "{:?}", start.elapsed());
}

#[test]
fn an_oversized_answer_is_cut_off() {
    let _alone = PROCESS.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().expect("a folder");
    let server = serve(folder.path(), ReadPolicy::PlainSql);
    let mut client = server.client();
    let rows = "with recursive c(x) as (select 1 union all select x + 1 from c) select x from c";
    let error = client.find_plain_sql(rows).expect_err("too many rows");
    assert!(
        matches!(&error, ProvDbError::AnswerTooLarge { .. }),
        "{error:?}"
    );
    let wide = "select zeroblob(1000000000)";
    let error = client
        .find_plain_sql(wide)
        .expect_err("too wide")
        .to_string();
    assert!(error.contains("too big"), "{error}");
    for writes in [
        "delete from anomalies",
        "pragma journal_mode = delete",
        "attach 'x' as y",
    ] {
        let error = client.find_plain_sql(writes).expect_err(writes);
        assert!(matches!(error, ProvDbError::PlainSql(_)), "{error:?}");
    }
    #[cfg(target_os = "linux")]
    {
        let distinct = "with recursive c(x) as (select 1 union all select x + 1 from c) \
             select count(*) from (select distinct hex(randomblob(400)) from c)";
        let error = client
            .find_plain_sql(distinct)
            .expect_err("too much memory");
        let error = error.to_string();
        assert!(error.contains("more than 256 MiB of memory"), "{error}");
    }
}
