//! Monitoring of a server: probes without the token, metrics with it.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use callgrove_model::RankId;
use callgrove_provdb::{AccessMode, Collection, Document, ProvDbError, Query};
use callgrove_provdb_net::{ProvDbService, ReadPolicy, RemoteOptions, ServedStore};
use callgrove_provdb_stores::OpenOptions;
use callgrove_pserver::{MonotonicClock, ServerState, StateOptions};
use callgrove_server::Credential;
use callgrove_server::hub::Hub;
use callgrove_server::maintenance::Maintenance;
use callgrove_server::monitoring::{DocumentCounts, Monitored, router};
use callgrove_server::{Limits, RunningServer, ServerConfig, grpc};
use support::disturbed::{Disturbed, disturbed};
use support::{Certificate, SECRET, config, raw, report_one_anomaly, saved_in, token};

/// Timeout of all waits, longer than any machine needs.
const TIMEOUT: Duration = Duration::from_mins(2);

fn guarded() -> ServerConfig {
    ServerConfig {
        token: Some(token()),
        ..config()
    }
}

fn start(config: ServerConfig, monitored: Monitored) -> RunningServer {
    RunningServer::start(config, || router(monitored)).unwrap()
}

/// Returns the answer to a request with these headers.
fn ask(server: &RunningServer, method: &str, path: &str, headers: &str) -> String {
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: a.pod:80\r\nConnection: close\r\n{headers}\r\n");
    raw(server.local_addr(), &request)
}

fn get(server: &RunningServer, path: &str) -> String {
    ask(server, "GET", path, "")
}

#[test]
fn only_probes_need_no_token() {
    let server = start(guarded(), Monitored::default());
    let health = get(&server, "/healthz");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    assert!(health.ends_with("\r\n\r\nok\n"), "{health}");
    assert!(get(&server, "/readyz").starts_with("HTTP/1.1 200"));
    assert!(ask(&server, "HEAD", "/healthz", "").starts_with("HTTP/1.1 200"));
    for (method, path) in [
        ("POST", "/healthz"),
        ("GET", "/healthz/"),
        ("GET", "//healthz"),
        ("GET", "/api/health"),
        ("GET", "/metrics"),
        ("GET", "/"),
    ] {
        let answer = ask(&server, method, path, "Content-Length: 0\r\n");
        assert!(answer.starts_with("HTTP/1.1 401"), "{path}: {answer}");
    }
}

#[test]
fn probes_answer_over_tls() {
    let certificate = Certificate::new();
    let tls = ServerConfig {
        tls: Some(certificate.files().into()),
        ..guarded()
    };
    let server = start(tls, Monitored::default());
    let pem = std::fs::read(certificate.signer()).unwrap();
    let trusted = ureq::tls::Certificate::from_pem(&pem).unwrap();
    let trust = ureq::tls::TlsConfig::builder()
        .root_certs(ureq::tls::RootCerts::new_with_certs(&[trusted]))
        .build();
    let agent = ureq::Agent::config_builder().tls_config(trust).build();
    let agent: ureq::Agent = agent.into();
    let mut answer = agent
        .get(format!("{}/healthz", server.url()))
        .call()
        .unwrap();
    assert_eq!(answer.body_mut().read_to_string().unwrap(), "ok\n");
    assert!(
        agent
            .get(format!("{}/api/health", server.url()))
            .call()
            .is_err()
    );
}

#[test]
fn a_connection_that_only_probes_takes_no_slot() {
    let limits = Limits {
        header_timeout: Duration::from_secs(1),
        max_connections: 1,
        ..config().limits
    };
    let server = start(
        ServerConfig {
            limits,
            ..guarded()
        },
        Monitored::default(),
    );
    let mut probing = std::net::TcpStream::connect(server.local_addr()).unwrap();
    probing.set_read_timeout(Some(TIMEOUT)).unwrap();
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    std::io::Write::write_all(&mut probing, request.as_bytes()).unwrap();
    let begun = Instant::now();
    let bearer = format!("Authorization: Bearer {SECRET}\r\n");
    // The only slot is free while the connection of the probe is open.
    let answer = ask(&server, "GET", "/nowhere", &bearer);
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let mut all = String::new();
    std::io::Read::read_to_string(&mut probing, &mut all).unwrap();
    assert!(all.starts_with("HTTP/1.1 200"), "{all}");
    assert!(begun.elapsed() < Duration::from_secs(20), "not closed");
}

#[test]
fn a_server_without_its_database_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_string_lossy().into_owned();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let is_away = Arc::new(AtomicBool::new(true));
    let away = Arc::clone(&is_away);
    let maintenance = disturbed(&place, &state, &Arc::new(Hub::new(0)), move || {
        if away.load(Ordering::SeqCst) {
            return Err(ProvDbError::Busy("/a/path".to_owned()));
        }
        Ok(())
    });
    let monitored = Monitored {
        database: maintenance.database_health(),
        ..Monitored::default()
    };
    let server = start(guarded(), monitored);
    assert!(get(&server, "/readyz").starts_with("HTTP/1.1 200"));
    report_one_anomaly(state.session(), RankId(0), "MPI_Wait");
    let unready = await_status(&server, 503);
    let (_, reason) = unready.split_once("\r\n\r\n").unwrap();
    assert_eq!(reason, "the last save failed\n");
    assert!(get(&server, "/healthz").starts_with("HTTP/1.1 200"));
    is_away.store(false, Ordering::SeqCst);
    await_status(&server, 200);
    maintenance.finish().saved.unwrap();
}

/// The behaviour of a served database on writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Disk {
    Works,
    IsFull,
    Stalls,
}

/// Starts a served database whose disk behaves as `disk` says.
fn serve(folder: &Path, disk: &Arc<Mutex<Disk>>) -> (RunningServer, ServedStore) {
    let place = folder.to_string_lossy().into_owned();
    let store = callgrove_provdb_stores::open(&place, &OpenOptions::default()).unwrap();
    let disk = Arc::clone(disk);
    let before_put = move || {
        while *disk.lock().unwrap() == Disk::Stalls {
            std::thread::sleep(Duration::from_millis(10));
        }
        match *disk.lock().unwrap() {
            Disk::IsFull => Err(ProvDbError::DiskFull {
                cause: "full".to_owned(),
                place: "/a/path".to_owned(),
            }),
            _ => Ok(()),
        }
    };
    let store = Box::new(Disturbed { store, before_put });
    let options = OpenOptions {
        mode: AccessMode::ReadOnly,
        ..OpenOptions::default()
    };
    let open_reader = move || callgrove_provdb_stores::open(&place, &options);
    let (service, served) =
        ProvDbService::serve(store, open_reader, ReadPolicy::QueriesOnly).unwrap();
    let monitored = Monitored {
        served: Some(served.monitor()),
        ..Monitored::default()
    };
    let routes = || grpc::mount(router(monitored), service);
    (RunningServer::start(guarded(), routes).unwrap(), served)
}

#[test]
fn a_served_database_that_rejects_writes_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Mutex::new(Disk::Works));
    let (server, served) = serve(folder.path(), &disk);
    assert!(get(&server, "/readyz").starts_with("HTTP/1.1 200"));
    for (state, reason) in [
        (Disk::IsFull, "the disk of the database is full\n"),
        (Disk::Stalls, "the database does not answer\n"),
    ] {
        *disk.lock().unwrap() = state;
        let answer = await_status(&server, 503);
        assert_eq!(answer.split_once("\r\n\r\n").unwrap().1, reason);
        assert!(get(&server, "/healthz").starts_with("HTTP/1.1 200"));
        *disk.lock().unwrap() = Disk::Works;
        await_status(&server, 200);
    }
    server.stop().unwrap();
    served.close();
}

#[test]
fn a_served_database_counts_documents_and_requests() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Arc::new(Mutex::new(Disk::Works));
    let (server, served) = serve(folder.path(), &disk);
    let options = OpenOptions {
        remote: RemoteOptions {
            credential: Some(Credential::explicit(SECRET)),
            ca_file: None,
        },
        ..OpenOptions::default()
    };
    let mut client = callgrove_provdb_stores::open(server.url(), &options).unwrap();
    let document = |key: &str, json: &str| {
        Document::from_json(Collection::Anomalies, 0, key.to_owned(), json.to_owned())
    };
    client
        .put(&[document("0:0:1:2", "{}"), document("0:0:1:3", "{}")])
        .unwrap();
    client.put(&[document("0:0:1:4", "no JSON")]).unwrap_err();
    let everything = Query::all(Collection::Anomalies);
    assert_eq!(client.count(&everything).unwrap(), 2);
    let metrics = scrape(&server);
    let stored = |of: &str| {
        metrics.value(&format!(
            "callgrove_documents_stored_total{{collection=\"{of}\"}}"
        ))
    };
    assert_eq!(
        (stored("anomalies"), stored("trees")),
        (Some(2.0), Some(0.0))
    );
    let asked =
        |method: &str| metrics.value(&format!("callgrove_requests_total{{method=\"{method}\"}}"));
    assert_eq!((asked("put"), asked("count")), (Some(2.0), Some(1.0)));
    // A document that is refused for its content says nothing about the database.
    assert!(get(&server, "/readyz").starts_with("HTTP/1.1 200"));
    drop(client);
    server.stop().unwrap();
    served.close();
}

/// Waits for the first answer of `/readyz` with a status.
fn await_status(server: &RunningServer, status: u16) -> String {
    let begun = Instant::now();
    loop {
        let answer = get(server, "/readyz");
        if answer.starts_with(&format!("HTTP/1.1 {status}")) {
            return answer;
        }
        assert!(begun.elapsed() < TIMEOUT, "{answer}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Metrics as they were sent: each sample by its name and labels, in the order of the text.
#[derive(Debug)]
struct Scrape {
    samples: Vec<(String, f64)>,
}

impl Scrape {
    fn value(&self, sample: &str) -> Option<f64> {
        let mut samples = self.samples.iter();
        samples.find(|(name, _)| name == sample).map(|it| it.1)
    }

    fn names(&self) -> Vec<&str> {
        self.samples.iter().map(|it| it.0.as_str()).collect()
    }
}

/// Requests the metrics with the token, and checks each line.
fn scrape(server: &RunningServer) -> Scrape {
    let bearer = format!("Authorization: Bearer {SECRET}\r\n");
    let answer = ask(server, "GET", "/metrics", &bearer);
    let (head, text) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{answer}");
    let head = head.to_lowercase();
    assert!(
        head.contains("content-type: text/plain; version=0.0.4"),
        "{head}"
    );
    parse(text)
}

fn parse(text: &str) -> Scrape {
    assert!(text.ends_with('\n'), "{text}");
    let mut kinds = BTreeMap::new();
    let mut samples = Vec::new();
    let mut lines = text.lines();
    let mut current = String::new();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').unwrap();
            assert!(!help.is_empty(), "{line}");
            let kind = lines.next().unwrap().strip_prefix("# TYPE ").unwrap();
            let (of, kind) = kind.split_once(' ').unwrap();
            assert_eq!(of, name);
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert_eq!(
                kinds.insert(name.to_owned(), kind),
                None,
                "{name} occurs twice"
            );
            name.clone_into(&mut current);
            continue;
        }
        let (sample, value) = line.rsplit_once(' ').unwrap();
        let (name, labels) = sample.split_once('{').unwrap_or((sample, "}"));
        assert!(name.starts_with("callgrove_"), "{line}");
        assert!(
            name.chars().all(|it| it == '_' || it.is_ascii_lowercase()),
            "{line}"
        );
        let of_histogram = ["_bucket", "_sum", "_count"].map(|part| format!("{current}{part}"));
        let is_part = kinds[&current] == "histogram" && of_histogram.iter().any(|it| it == name);
        assert!(name == current || is_part, "{line} is not of {current}");
        let labels = labels.strip_suffix('}').unwrap();
        for label in labels.split(',').filter(|it| !it.is_empty()) {
            let (label, value) = label.split_once('=').unwrap();
            assert!(
                label.chars().all(|it| it == '_' || it.is_ascii_lowercase()),
                "{line}"
            );
            let value = value.strip_prefix('"').unwrap().strip_suffix('"').unwrap();
            assert!(!value.contains(['"', '\\']), "{line}");
        }
        let is_new = samples.iter().all(|(known, _)| known != sample);
        assert!(is_new, "{sample} occurs twice");
        samples.push((sample.to_owned(), value.parse::<f64>().unwrap()));
    }
    Scrape { samples }
}

#[test]
fn counters_rise_with_reports() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_string_lossy().into_owned();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let maintenance = Maintenance::start(saved_in(&place, &state, &Arc::new(Hub::new(0)))).unwrap();
    let instance_documents = Arc::new(DocumentCounts::default());
    instance_documents.replace(5, 1, 2);
    instance_documents.set_left_out(7);
    let monitored = Monitored {
        state: Some(Arc::clone(&state)),
        database: maintenance.database_health(),
        instance_documents: Some(instance_documents),
        clock: MonotonicClock::new(),
        ..Monitored::default()
    };
    let server = start(guarded(), monitored);
    let before = scrape(&server);
    assert_eq!(before.value("callgrove_exchange_seconds_count"), Some(0.0));
    assert_eq!(before.value("callgrove_last_report_age_seconds"), None);
    for (rank, num_reports) in [(0, 1.0), (1, 2.0)] {
        report_one_anomaly(state.session(), RankId(rank), "MPI_Wait");
        state.fold();
        let now = scrape(&server);
        for counted in [
            "steps_total",
            "executions_total",
            "anomalies",
            "ranks_reported",
        ] {
            let sample = format!("callgrove_{counted}{{program=\"0\"}}");
            assert_eq!(now.value(&sample), Some(num_reports), "{sample}");
        }
        let age = now.value("callgrove_last_report_age_seconds").unwrap();
        assert!((0.0..TIMEOUT.as_secs_f64()).contains(&age), "{age}");
    }
    maintenance.finish().saved.unwrap();
    let last = scrape(&server);
    assert_is_a_histogram(&last);
    let stored = "callgrove_documents_stored_total";
    // A function, and its model if it has one.
    assert!(last.value(&format!("{stored}{{writer=\"parameter_server\"}}")) >= Some(1.0));
    assert_eq!(
        last.value(&format!("{stored}{{writer=\"instance\"}}")),
        Some(5.0)
    );
    assert_eq!(last.value("callgrove_documents_lost_total"), Some(1.0));
    assert_eq!(last.value("callgrove_documents_left_out_total"), Some(7.0));
    assert_eq!(last.value("callgrove_documents_waiting"), Some(2.0));
    assert!(last.value("callgrove_last_save_age_seconds").is_some());
    #[cfg(target_os = "linux")]
    assert!(last.value("callgrove_resident_memory_bytes") > Some(1e6));
    // The order of the text does not change.
    assert_eq!(last.names(), scrape(&server).names());
}

fn assert_is_a_histogram(scrape: &Scrape) {
    let prefix = "callgrove_exchange_seconds_bucket{le=\"";
    let buckets: Vec<(f64, f64)> = scrape
        .samples
        .iter()
        .filter_map(|(name, count)| {
            let bound = name.strip_prefix(prefix)?.strip_suffix("\"}")?;
            Some((bound.parse().unwrap(), *count))
        })
        .collect();
    assert!(
        buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1),
        "{buckets:?}"
    );
    let &(last_bound, in_all) = buckets.last().unwrap();
    assert!(last_bound.is_infinite());
    // At least one exchange of each of the two instances.
    assert!(in_all >= 2.0, "{in_all}");
    assert_eq!(
        scrape.value("callgrove_exchange_seconds_count"),
        Some(in_all)
    );
    assert!(scrape.value("callgrove_exchange_seconds_sum") > Some(0.0));
}

#[test]
fn a_server_without_a_run_has_metrics_of_the_process_alone() {
    let server = start(guarded(), Monitored::default());
    let names = scrape(&server);
    let names = names.names();
    assert!(
        names[0].starts_with("callgrove_build_info{version="),
        "{names:?}"
    );
    assert!(names.len() <= 2, "{names:?}");
}
