//! What an operator asks of a server: probes without the token, metrics with it.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use callgrove_model::RankId;
use callgrove_provdb::ProvDbError;
use callgrove_pserver::{ServerState, StateOptions};
use callgrove_server::hub::Hub;
use callgrove_server::monitoring::{Monitored, router};
use callgrove_server::{Limits, RunningServer, ServerConfig};
use support::disturbed::disturbed;
use support::{Certificate, SECRET, config, raw, report_one_anomaly, token};

/// Longer than any machine takes.
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

/// The answer to a request that has these headers.
fn ask(server: &RunningServer, method: &str, path: &str, headers: &str) -> String {
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: a.pod:80\r\nConnection: close\r\n{headers}\r\n");
    raw(server.local_addr(), &request)
}

fn get(server: &RunningServer, path: &str) -> String {
    ask(server, "GET", path, "")
}

#[test]
fn probes_need_no_token_and_all_else_does() {
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
        tls: Some(certificate.files()),
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
fn a_connection_that_only_probes_has_no_place_among_clients() {
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
    // The only place is free while the connection of the probe is open.
    let answer = ask(&server, "GET", "/nowhere", &bearer);
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    let mut all = String::new();
    std::io::Read::read_to_string(&mut probing, &mut all).unwrap();
    assert!(all.starts_with("HTTP/1.1 200"), "{all}");
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "it was not cut off"
    );
}

#[test]
fn a_server_whose_database_is_away_is_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_string_lossy().into_owned();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let is_away = Arc::new(AtomicBool::new(true));
    let away = Arc::clone(&is_away);
    let keeper = disturbed(&place, &state, &Arc::new(Hub::new(0)), move || {
        if away.load(Ordering::SeqCst) {
            return Err(ProvDbError::Busy("/a/path".to_owned()));
        }
        Ok(())
    });
    let monitored = Monitored {
        database: keeper.database_health(),
    };
    let server = start(guarded(), monitored);
    assert!(get(&server, "/readyz").starts_with("HTTP/1.1 200"));
    report_one_anomaly(state.session(), RankId(0), "MPI_Wait");
    let unready = await_status(&server, 503);
    let (_, reason) = unready.split_once("\r\n\r\n").unwrap();
    assert_eq!(reason, "the database did not take the last save\n");
    assert!(get(&server, "/healthz").starts_with("HTTP/1.1 200"));
    is_away.store(false, Ordering::SeqCst);
    await_status(&server, 200);
    keeper.finish().saved.unwrap();
}

/// The first answer of `/readyz` with a status.
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
