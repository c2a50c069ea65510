//! The port: both protocols, the token check on every route, and clients that would delay others.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use callgrove_server::api::Live;
use callgrove_server::client::{Client, ClientError, ClientOptions};
use callgrove_server::{Limits, RunningServer, ServerConfig, ServerError};
use support::{
    MAX_ECHO_BYTES, SECRET, block_on, call_at, config, echo, raw, router_with, start, token,
};
use tonic::Code;
use tonic::transport::Channel;

fn client(server: &RunningServer, options: &ClientOptions) -> Client {
    Client::new(server.url(), options).unwrap()
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
}

#[test]
fn grpc_and_json_share_the_port() {
    let server = start(config(), Live::Absent);
    assert_eq!(
        block_on(echo(server.url(), None, "hello")).unwrap(),
        "hello"
    );
    let health = client(&server, &ClientOptions::default()).health().unwrap();
    assert!(!health.live && !health.documents);
    server.stop().unwrap();
}

#[test]
fn every_endpoint_requires_the_token_even_unknown_ones() {
    let server = start(
        ServerConfig {
            token: Some(token()),
            ..config()
        },
        Live::Absent,
    );
    let address = server.local_addr();
    for headers in [
        "",
        "Authorization: Bearer wrong-token-of-16\r\n",
        "Authorization: Basic YTpi\r\n",
    ] {
        for path in ["/api/health", "/api/overview", "/nowhere", "/"] {
            let answer = raw(address, &get(path, headers));
            assert!(answer.starts_with("HTTP/1.1 401"), "{path}: {answer}");
            assert!(
                answer.to_lowercase().contains("www-authenticate: bearer"),
                "{answer}"
            );
        }
    }
    let bearer = format!("Authorization: Bearer {SECRET}\r\n");
    assert!(raw(address, &get("/api/health", &bearer)).starts_with("HTTP/1.1 200"));
    assert!(raw(address, &get("/nowhere", &bearer)).starts_with("HTTP/1.1 404"));
    let of_page = server.page_token().unwrap().clone();
    let of_next = start(
        ServerConfig {
            token: Some(token()),
            ..config()
        },
        Live::Absent,
    );
    assert_ne!(of_page.secret(), of_next.page_token().unwrap().secret());
    let bearer = format!("Authorization: Bearer {}\r\n", of_page.secret());
    assert!(raw(address, &get("/api/health", &bearer)).starts_with("HTTP/1.1 200"));
    let method = get("/callgrove.test.Echo/Say", &bearer);
    assert!(raw(address, &method).starts_with("HTTP/1.1 401"));
    block_on(async {
        for secret in [None, Some("wrong-token-of-16"), Some(of_page.secret())] {
            let status = echo(server.url(), secret, "hello")
                .await
                .expect_err("no token");
            assert_eq!(status.code(), Code::Unauthenticated, "{status}");
        }
        assert_eq!(
            echo(server.url(), Some(SECRET), "hello").await.unwrap(),
            "hello"
        );
    });
}

#[test]
fn the_client_reports_a_missing_token() {
    let server = start(
        ServerConfig {
            token: Some(token()),
            ..config()
        },
        Live::Absent,
    );
    let refused = client(&server, &ClientOptions::default())
        .health()
        .expect_err("no token");
    assert!(
        matches!(refused, ClientError::Unauthorized { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("--token-file"), "{refused}");
    let options = ClientOptions {
        credential: Some(token().stated()),
        ca_file: None,
    };
    assert!(client(&server, &options).health().is_ok());
}

#[test]
fn the_client_reports_that_no_server_listens() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let alone = Client::new(&format!("http://{free}"), &ClientOptions::default()).unwrap();
    let failed = alone.health().expect_err("no server listens");
    assert!(matches!(failed, ClientError::NotReached { .. }), "{failed}");
    assert!(failed.is_worth_a_retry());
    assert!(
        failed.to_string().contains("is the server running"),
        "{failed}"
    );
}

#[test]
fn an_address_of_the_network_needs_a_token() {
    let open = ServerConfig {
        listen: "0.0.0.0:0".parse().unwrap(),
        ..config()
    };
    let refused = RunningServer::start(open.clone(), axum::Router::new)
        .err()
        .expect("no token");
    assert!(
        matches!(refused, ServerError::Unguarded { .. }),
        "{refused}"
    );
    let guarded = ServerConfig {
        token: Some(token()),
        ..open
    };
    let refused = RunningServer::start(guarded.clone(), axum::Router::new)
        .err()
        .expect("no TLS");
    assert!(
        matches!(refused, ServerError::Unencrypted { .. }),
        "{refused}"
    );
    let plain = ServerConfig {
        allows_plain_http: true,
        ..guarded
    };
    assert!(RunningServer::start(plain, axum::Router::new).is_ok());
}

#[test]
fn requests_that_arrive_slowly_hold_a_bounded_number_of_bytes() {
    let limits = Limits {
        max_arriving_bytes: 1000,
        ..config().limits
    };
    let hub = std::sync::Arc::new(callgrove_server::hub::Hub::new(0));
    let server = start(ServerConfig { limits, ..config() }, Live::Posted(hub));
    let post = |num_sent: usize| {
        let mut socket = TcpStream::connect(server.local_addr()).unwrap();
        let head = "POST /api/anomalydata HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                    Connection: close\r\nContent-Length: 800\r\n\r\n";
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(&vec![b' '; num_sent]).unwrap();
        socket
    };
    let status = || {
        let mut answer = String::new();
        post(800).read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap();
        status.to_owned()
    };
    let is_refused = || status() == "503";
    assert!(!is_refused());
    let half = post(400);
    while !is_refused() {}
    drop(half);
    while is_refused() {}
}

#[test]
fn a_port_in_use_is_named() {
    let server = start(config(), Live::Absent);
    let listen = server.local_addr();
    let refused = RunningServer::start(ServerConfig { listen, ..config() }, axum::Router::new)
        .err()
        .expect("taken")
        .to_string();
    assert!(
        refused.contains(&listen.to_string()) && refused.contains("--listen"),
        "{refused}"
    );
}

#[test]
fn foreign_host_names_do_not_reach_a_server_without_a_token() {
    let server = start(config(), Live::Absent);
    let foreign = get("/api/health", "").replace("Host: localhost", "Host: example.org");
    assert!(raw(server.local_addr(), &foreign).starts_with("HTTP/1.1 403"));
    // With the token any host name may be used.
    let guarded = start(
        ServerConfig {
            token: Some(token()),
            ..config()
        },
        Live::Absent,
    );
    let bearer = format!("Host: example.org\r\nAuthorization: Bearer {SECRET}");
    let named = get("/api/health", "").replace("Host: localhost", &bearer);
    assert!(raw(guarded.local_addr(), &named).starts_with("HTTP/1.1 200"));
}

#[test]
fn unknown_services_are_reported_in_their_protocol() {
    let server = start(config(), Live::Absent);
    let status = block_on(async {
        let channel = Channel::from_shared(server.url().to_owned())
            .unwrap()
            .connect()
            .await
            .unwrap();
        call_at(channel, "/test.Other/Say", None, "hello")
            .await
            .expect_err("unknown")
    });
    assert_eq!(status.code(), Code::Unimplemented, "{status}");
}

#[test]
fn too_large_messages_are_refused_in_either_protocol() {
    let limits = Limits {
        max_body_bytes: 1000,
        ..config().limits
    };
    let server = start(ServerConfig { limits, ..config() }, Live::Absent);
    let text = "x".repeat(MAX_ECHO_BYTES + 1);
    let status = block_on(echo(server.url(), None, &text)).expect_err("too large");
    assert_eq!(status.code(), Code::OutOfRange, "{status}");
    let body = "x".repeat(1001);
    let post = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let hub = std::sync::Arc::new(callgrove_server::hub::Hub::new(0));
    let receiver = start(ServerConfig { limits, ..config() }, Live::Posted(hub));
    let answer = raw(receiver.local_addr(), &post("/api/anomalydata"));
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[test]
fn slow_clients_are_closed_and_do_not_delay_others() {
    let header_timeout = Duration::from_secs(2);
    let limits = Limits {
        header_timeout,
        max_connections: 8,
        ..config().limits
    };
    let server = start(
        ServerConfig {
            token: Some(token()),
            limits,
            ..config()
        },
        Live::Absent,
    );
    let begun = Instant::now();
    // Silent; in the middle of a header; after the HTTP/2 preface; refused and silent afterwards.
    let refused = "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let openings = [
        "",
        "GET /api/health HTTP/1.1\r\nHost: lo",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        refused,
    ];
    let mut dawdlers: Vec<TcpStream> = openings
        .iter()
        .map(|opening| {
            let mut socket = TcpStream::connect(server.local_addr()).unwrap();
            socket.write_all(opening.as_bytes()).unwrap();
            socket
        })
        .collect();
    let options = ClientOptions {
        credential: Some(token().stated()),
        ca_file: None,
    };
    assert!(client(&server, &options).health().is_ok());
    assert!(
        begun.elapsed() < header_timeout,
        "the slow clients delayed the client"
    );
    for (socket, opening) in dawdlers.iter_mut().zip(openings) {
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut answer = Vec::new();
        // A reset counts as an end.
        drop(socket.read_to_end(&mut answer));
        assert!(
            begun.elapsed() < Duration::from_secs(15),
            "{opening:?} was not closed"
        );
    }
}

#[test]
fn connections_beyond_the_limit_wait_for_a_slot() {
    let limits = Limits {
        header_timeout: Duration::from_secs(1),
        max_connections: 2,
        ..config().limits
    };
    let server = start(ServerConfig { limits, ..config() }, Live::Absent);
    // Clients that have been answered keep their slots while they are silent.
    let request = get("/api/health", "").replace("Connection: close", "Connection: keep-alive");
    let answered: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut socket = TcpStream::connect(server.local_addr()).unwrap();
            socket.write_all(request.as_bytes()).unwrap();
            assert_ne!(socket.read(&mut [0; 1024]).unwrap(), 0);
            socket
        })
        .collect();
    let begun = Instant::now();
    assert!(client(&server, &ClientOptions::default()).health().is_ok());
    assert!(
        begun.elapsed() > Duration::from_millis(200),
        "a slot was free at once"
    );
    drop(answered);
}

#[test]
fn a_connection_without_a_slot_is_refused_with_a_remedy() {
    let limits = Limits {
        max_connections: 1,
        slot_timeout: Duration::from_millis(50),
        ..config().limits
    };
    let server = start(ServerConfig { limits, ..config() }, Live::Absent);
    let request = get("/api/health", "").replace("Connection: close", "Connection: keep-alive");
    let mut first = TcpStream::connect(server.local_addr()).unwrap();
    first.write_all(request.as_bytes()).unwrap();
    assert_ne!(first.read(&mut [0; 1024]).unwrap(), 0);
    let answer = raw(server.local_addr(), &get("/api/health", ""));
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(
        answer.contains("all 1 connections of the server"),
        "{answer}"
    );
    block_on(async {
        let status = echo(server.url(), None, "hello")
            .await
            .expect_err("no slot");
        assert_eq!(status.code(), Code::Unavailable, "{status}");
        assert!(status.message().contains("--max-connections"), "{status}");
    });
    drop(first);
    assert!(client(&server, &ClientOptions::default()).health().is_ok());
}

#[test]
fn pending_connections_are_closed_in_favour_of_clients() {
    const NUM_PENDING: usize = 200;
    let limits = Limits {
        header_timeout: Duration::from_mins(2),
        max_connections: 8,
        max_pending: 16,
        ..config().limits
    };
    let guarded = ServerConfig {
        token: Some(token()),
        limits,
        ..config()
    };
    let server = start(guarded, Live::Absent);
    // Some are silent, some send a wrong token.
    let mut strangers: Vec<TcpStream> = (0..NUM_PENDING)
        .map(|index| {
            let mut socket = TcpStream::connect(server.local_addr()).unwrap();
            if index % 2 == 0 {
                let refused = "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
                socket.write_all(refused.as_bytes()).unwrap();
            }
            socket
        })
        .collect();
    let options = ClientOptions {
        credential: Some(token().stated()),
        ca_file: None,
    };
    let begun = Instant::now();
    for _ in 0..20 {
        assert!(client(&server, &options).health().is_ok());
    }
    let elapsed = begun.elapsed();
    assert!(elapsed < Duration::from_secs(20), "it took {elapsed:?}");
    // The first of them are closed, long before their timeout.
    for socket in strangers.iter_mut().take(NUM_PENDING / 2) {
        socket
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let mut answer = Vec::new();
        let ended = socket.read_to_end(&mut answer);
        let is_late = ended.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock);
        assert!(!is_late, "a pending connection was not closed");
    }
}

#[test]
fn a_client_that_reads_nothing_is_closed() {
    const ANSWER_BYTES: usize = 64 << 20;
    let limits = Limits {
        stall_timeout: Duration::from_millis(300),
        ..config().limits
    };
    let answer: &'static str = "x".repeat(ANSWER_BYTES).leak();
    let routes = || router_with("/large", answer);
    let server = RunningServer::start(ServerConfig { limits, ..config() }, routes).unwrap();
    let mut socket = TcpStream::connect(server.local_addr()).unwrap();
    socket.write_all(get("/large", "").as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let mut taken = Vec::new();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    drop(socket.read_to_end(&mut taken));
    assert!(taken.len() < ANSWER_BYTES, "the server waited");
}

#[test]
fn a_server_that_stops_frees_its_port_at_once() {
    let server = start(config(), Live::Absent);
    let listen = server.local_addr();
    let asked = client(&server, &ClientOptions::default());
    asked.health().unwrap();
    let begun = Instant::now();
    server.stop().unwrap();
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "an idle connection delayed the stop"
    );
    let again = start(ServerConfig { listen, ..config() }, Live::Absent);
    assert_eq!(again.local_addr(), listen);
    assert!(asked.health().is_ok(), "the client reconnects");
}
