//! A store behind another process: servers with real sockets, and clients that lose them.

mod support;

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use callgrove_model::RunIdentity;
use callgrove_net::Credential;
use callgrove_provdb::{
    AccessMode, Claim, Collection, Document, ProvDbError, Query, SqlTable, StateChange, Store,
};
use callgrove_provdb_net::{
    MAX_MESSAGE_BYTES, ProvDbService, ReadPolicy, RemoteOptions, RemoteStore, ServedStore,
};
use callgrove_provdb_stores::{OpenOptions, open};
use tokio::sync::oneshot;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Status};

use support::conforms::{conforms, eventually};
use support::{document, execution};

/// Set for a child process: the URL of the server.
const CHILD_URL: &str = "PROVDB_TEST_URL";

/// A server on its own thread.
struct TestServer {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl TestServer {
    fn start(folder: &Path) -> Self {
        Self::on(free_address(), sqlite(folder), folder, None)
    }

    /// Starts a server that writes through `store`, and reads the database in `folder`.
    fn on(
        address: SocketAddr,
        store: Box<dyn Store>,
        folder: &Path,
        identity: Option<Identity>,
    ) -> Self {
        let open_reader = reader_of(folder);
        let (stop, stopped) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::sync_channel(1);
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(async {
                let incoming = TcpIncoming::bind(address).expect("the port is free");
                let mut server = Server::builder();
                if let Some(identity) = identity {
                    server = server
                        .tls_config(ServerTlsConfig::new().identity(identity))
                        .expect("TLS");
                }
                let (service, _) = ProvDbService::serve(store, open_reader, ReadPolicy::PlainSql)
                    .expect("a thread");
                let router = server.add_service(InterceptedService::new(service, check));
                ready.send(()).expect("the test waits");
                // Drops all connections at once, like a killed server.
                tokio::select! {
                    served = router.serve_with_incoming(incoming) => served.expect("served"),
                    _ = stopped => {}
                }
            });
        };
        let thread = thread::Builder::new().spawn(serve).expect("a thread");
        is_ready.recv().expect("it listens");
        Self {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic");
        }
    }
}

/// Refuses wrong tokens; a missing token passes, as on a loopback address.
fn check(request: Request<()>) -> Result<Request<()>, Status> {
    match request.metadata().get("authorization") {
        Some(header) if header != "Bearer right" => Err(Status::unauthenticated("wrong token")),
        _ => Ok(request),
    }
}

fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|it| it.local_addr())
        .expect("a port")
}

fn sqlite(folder: &Path) -> Box<dyn Store> {
    let options = OpenOptions {
        num_shards: Some(2),
        ..OpenOptions::default()
    };
    open(folder.to_str().expect("UTF-8"), &options).expect("made")
}

/// Opens a database for reading whenever it is called.
fn reader_of(
    folder: &Path,
) -> impl Fn() -> Result<Box<dyn Store>, ProvDbError> + Send + Sync + 'static {
    let folder = folder.to_str().expect("UTF-8").to_owned();
    let options = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    move || open(&folder, &options)
}

fn remote(url: &str) -> RemoteStore {
    RemoteStore::open(url, AccessMode::ReadWrite, &RemoteOptions::default()).expect("opened")
}

fn anomaly(rank: u32, index: u64) -> Document {
    Document::execution(Collection::Anomalies, &execution(rank, 1, index)).expect("a record")
}

#[test]
fn conforms_over_the_network() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = TestServer::start(folder.path());
    conforms(&|mode| {
        let options = OpenOptions {
            mode,
            ..OpenOptions::default()
        };
        open(&server.url(), &options).expect("opened")
    });
}

#[test]
fn large_requests_and_answers_travel_in_parts() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = TestServer::start(folder.path());
    let mut store = remote(&server.url());
    let long = "x".repeat(100_000);
    let documents: Vec<Document> = (0..400)
        .map(|rank| {
            document(
                Collection::Metadata,
                rank,
                &rank.to_string(),
                &serde_json::json!({"value": long}),
            )
        })
        .collect();
    store.put(&documents).expect("stored");
    assert_eq!(
        store
            .find(&Query::all(Collection::Metadata))
            .expect("found")
            .len(),
        400
    );
    let table = store
        .find_plain_sql("select doc from metadata")
        .expect("answered");
    assert_eq!(table.rows.len(), 400);
    let state = vec![7; 3 * MAX_MESSAGE_BYTES];
    store.replace_state("large", &state).expect("stored");
    assert!(
        store
            .state("large")
            .expect("read")
            .is_some_and(|it| it == state)
    );

    let huge = document(
        Collection::Metadata,
        0,
        "huge",
        &serde_json::json!({"value": "x".repeat(MAX_MESSAGE_BYTES)}),
    );
    let error = store.put(&[huge]).expect_err("too large");
    assert!(matches!(error, ProvDbError::TooLarge { .. }), "{error:?}");
    assert!(error.to_string().contains("huge"), "{error}");
}

#[test]
fn tokens_and_certificates_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let authority =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let identity = Identity::from_pem(authority.cert.pem(), authority.signing_key.serialize_pem());
    let ca_file = folder.path().join("ca.pem");
    std::fs::write(&ca_file, authority.cert.pem()).expect("written");
    let server = TestServer::on(
        free_address(),
        sqlite(&folder.path().join("db")),
        &folder.path().join("db"),
        Some(identity),
    );
    let url = format!("https://localhost:{}", server.address.port());
    let attempt = |token: &str, ca_file| {
        let remote = RemoteOptions {
            credential: Some(Credential::explicit(token)),
            ca_file,
        };
        RemoteStore::open(&url, AccessMode::ReadWrite, &remote)
    };
    let mut store = attempt("right", Some(ca_file.clone())).expect("opened");
    store.put(&[anomaly(0, 1)]).expect("stored");
    let other =
        rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate");
    let other_file = folder.path().join("other.pem");
    std::fs::write(&other_file, other.cert.pem()).expect("written");
    for (token, ca_file, words) in [
        ("wrong", Some(ca_file), "token"),
        ("right", None, "--ca-file"),
        ("right", Some(other_file), "certificate"),
        ("li\nne", None, "certificate"),
    ] {
        let error = attempt(token, ca_file).err().expect("refused").to_string();
        assert!(
            error.contains(words) && error.contains("https://localhost"),
            "{error}"
        );
    }
}

#[test]
fn an_absent_server_is_reported_immediately() {
    let url = format!("http://{}", free_address());
    let error = RemoteStore::open(&url, AccessMode::ReadWrite, &RemoteOptions::default())
        .err()
        .expect("no server is there");
    assert!(
        matches!(&error, ProvDbError::Unreachable { place, .. } if *place == url),
        "{error:?}"
    );
}

/// A store that forwards all calls, and records the claims that it granted.
struct Observed {
    store: Box<dyn Store>,
    claims: Arc<Mutex<Vec<String>>>,
    /// Blocks the first write until it completes.
    gate: Option<oneshot::Receiver<()>>,
}

impl Store for Observed {
    fn put(&mut self, documents: &[Document]) -> Result<(), ProvDbError> {
        if let Some(gate) = self.gate.take() {
            gate.blocking_recv().expect("the test lets it go on");
        }
        self.store.put(documents)
    }

    fn forget_step(&mut self, program: u32, rank: u32, step: u32) -> Result<(), ProvDbError> {
        self.store.forget_step(program, rank, step)
    }

    fn remove(
        &mut self,
        collection: Collection,
        rank: u32,
        keys: &[String],
    ) -> Result<(), ProvDbError> {
        self.store.remove(collection, rank, keys)
    }

    fn change_states(&mut self, changes: &[StateChange<'_>]) -> Result<(), ProvDbError> {
        self.store.change_states(changes)
    }

    fn state(&mut self, name: &str) -> Result<Option<Vec<u8>>, ProvDbError> {
        self.store.state(name)
    }

    fn find_ids(&mut self, query: &Query) -> Result<Vec<i64>, ProvDbError> {
        self.store.find_ids(query)
    }

    fn documents(
        &mut self,
        collection: Collection,
        ids: &[i64],
    ) -> Result<Vec<String>, ProvDbError> {
        self.store.documents(collection, ids)
    }

    fn count(&mut self, query: &Query) -> Result<u64, ProvDbError> {
        self.store.count(query)
    }

    fn find_plain_sql(&mut self, sql: &str) -> Result<SqlTable, ProvDbError> {
        self.store.find_plain_sql(sql)
    }

    fn join_run(&mut self, run: &RunIdentity) -> Result<RunIdentity, ProvDbError> {
        self.store.join_run(run)
    }

    fn claim(&mut self, program: u32, rank: u32, instance: &str) -> Result<Claim, ProvDbError> {
        let claim = self.store.claim(program, rank, instance)?;
        self.claims
            .lock()
            .expect("no panic")
            .push(instance.to_owned());
        Ok(claim)
    }
}

#[test]
fn a_restart_of_the_server_loses_nothing_and_no_claim() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = free_address();
    let claims = Arc::new(Mutex::new(Vec::new()));
    let start = || {
        let store = Observed {
            store: sqlite(folder.path()),
            claims: Arc::clone(&claims),
            gate: None,
        };
        eventually_bound(address);
        TestServer::on(address, Box::new(store), folder.path(), None)
    };
    let server = start();
    let mut store = remote(&server.url());
    let claim = store.claim(0, 5, "first").expect("free");
    for index in 0..20 {
        store.put(&[anomaly(5, index)]).expect("stored");
    }
    drop(server);
    let (written, server) = thread::scope(|scope| {
        // The write waits until the server is back.
        let write = scope.spawn(|| store.put(&[anomaly(5, 20)]));
        let server = start();
        (write.join().expect("no panic"), server)
    });
    written.expect("stored after the restart");
    assert_eq!(
        store
            .count(&Query::all(Collection::Anomalies))
            .expect("counted"),
        21
    );
    eventually(|| (*claims.lock().expect("no panic") == ["first", "first"]).then_some(()));
    let mut second = remote(&server.url());
    let error = second
        .claim(0, 5, "second")
        .expect_err("the first has it again");
    assert!(error.to_string().contains("first"), "{error}");
    drop(claim);
    let _taken = eventually(|| second.claim(0, 5, "second").ok());
}

/// Waits until a port that was just released can be bound again.
fn eventually_bound(address: SocketAddr) {
    eventually(|| TcpListener::bind(address).ok());
}

#[test]
fn a_rank_that_another_took_during_a_break_stops_the_first_instance() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = TestServer::start(folder.path());
    let address = server.address;
    let mut first = remote(&server.url());
    let _claim = first.claim(0, 5, "first").expect("free");
    drop(server);
    eventually_bound(address);
    // Another process claims the rank in the folder before the server is back.
    let mut other = eventually(|| Some(sqlite(folder.path())));
    let _claimed = eventually(|| other.claim(0, 5, "other").ok());
    let _server = TestServer::on(address, sqlite(folder.path()), folder.path(), None);
    let error = eventually(|| first.put(&[anomaly(5, 1)]).err());
    assert!(
        matches!(
            error,
            ProvDbError::ClaimLost {
                program: 0,
                rank: 5,
                ..
            }
        ),
        "{error:?}"
    );
}

#[test]
fn a_dead_process_holds_no_rank() {
    if let Some(url) = std::env::var_os(CHILD_URL) {
        let mut store = remote(url.to_str().expect("UTF-8"));
        let _claim = store.claim(0, 5, "the child").expect("free");
        println!("\nclaimed");
        thread::sleep(std::time::Duration::from_mins(1));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let server = TestServer::start(folder.path());
    let mut child = Command::new(std::env::current_exe().expect("the test is a program"))
        .args(["--exact", "a_dead_process_holds_no_rank", "--nocapture"])
        .env(CHILD_URL, server.url())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "claimed"));
    let mut store = remote(&server.url());
    let error = store
        .claim(0, 5, "the parent")
        .expect_err("the child has it")
        .to_string();
    assert!(
        error.contains("the child") && error.contains(&server.url()),
        "{error}"
    );
    child.kill().expect("killed");
    child.wait().expect("ended");
    let _claim = eventually(|| store.claim(0, 5, "the parent").ok());
}

/// A server that the test closes explicitly.
struct ClosingServer {
    runtime: tokio::runtime::Runtime,
    url: String,
    served: ServedStore,
}

impl ClosingServer {
    fn start(store: Box<dyn Store>, folder: &Path, policy: ReadPolicy) -> Self {
        let (service, served) =
            ProvDbService::serve(store, reader_of(folder), policy).expect("a thread");
        let address = free_address();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.spawn(async move {
            let incoming = TcpIncoming::bind(address).expect("the port is free");
            Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming)
                .await
        });
        let url = format!("http://{address}");
        Self {
            runtime,
            url,
            served,
        }
    }

    fn client(&self) -> RemoteStore {
        eventually(|| {
            RemoteStore::open(&self.url, AccessMode::ReadWrite, &RemoteOptions::default()).ok()
        })
    }
}

#[test]
fn closing_a_served_database_writes_everything_to_its_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = ClosingServer::start(
        sqlite(folder.path()),
        folder.path(),
        ReadPolicy::QueriesOnly,
    );
    let mut client = server.client();
    client.put(&[anomaly(0, 1)]).expect("stored");
    assert_eq!(
        client.count(&Query::all(Collection::Anomalies)).ok(),
        Some(1)
    );
    assert!(folder.path().join("provdb.0.sqlite-wal").exists());
    server.runtime.shutdown_timeout(Duration::from_mins(1));
    assert!(!server.served.has_fault());
    server.served.close();
    assert!(!folder.path().join("provdb.0.sqlite-wal").exists());
}

#[test]
fn a_panic_of_the_store_is_visible_to_the_server() {
    let folder = tempfile::tempdir().expect("a folder");
    let (never, gate) = oneshot::channel();
    drop(never);
    let broken = Observed {
        store: sqlite(folder.path()),
        claims: Arc::default(),
        gate: Some(gate),
    };
    let server = ClosingServer::start(Box::new(broken), folder.path(), ReadPolicy::QueriesOnly);
    assert!(!server.served.has_fault());
    let lost = server.client().put(&[anomaly(0, 1)]);
    let error = lost.expect_err("the store has ended").to_string();
    assert!(
        error.contains("the thread of the store has ended"),
        "{error}"
    );
    eventually(|| server.served.has_fault().then_some(()));
}

#[test]
fn readers_answer_while_the_store_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (go_on, gate) = oneshot::channel();
    let slow = Observed {
        store: sqlite(folder.path()),
        claims: Arc::default(),
        gate: Some(gate),
    };
    let server = ClosingServer::start(Box::new(slow), folder.path(), ReadPolicy::QueriesOnly);
    let mut writer = server.client();
    let mut reader = server.client();
    let everything = Query::all(Collection::Anomalies);
    thread::scope(|scope| {
        let write = scope.spawn(|| writer.put(&[anomaly(0, 1)]));
        assert_eq!(
            reader
                .count(&everything)
                .expect("answered during the write"),
            0
        );
        go_on.send(()).expect("the write waits");
        write.join().expect("no panic").expect("stored");
    });
    assert_eq!(reader.count(&everything).expect("counted"), 1);
}

#[test]
fn a_store_may_be_dropped_in_a_task() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = TestServer::start(folder.path());
    let mut store = remote(&server.url());
    let claim = store.claim(0, 0, "short").expect("free");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(async move { drop((store, claim)) });
}

#[test]
fn a_read_only_store_refuses_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    drop(sqlite(folder.path()));
    let read_only = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    let store = open(folder.path().to_str().expect("UTF-8"), &read_only).expect("opened");
    let server = TestServer::on(free_address(), store, folder.path(), None);
    let error = remote(&server.url())
        .put(&[anomaly(0, 1)])
        .expect_err("the server only reads");
    assert!(matches!(error, ProvDbError::ReadOnly(_)), "{error:?}");
}
