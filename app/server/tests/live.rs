//! The running job through the JSON interface: overview, packets as they arrive, and packets from other servers.
#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use callgrove_detect::RunStats;
use callgrove_model::RunIdentity;
use callgrove_overview::packet::{AnomalyStats, CounterStats, Packet, RankAnomalies, VERSION};
use callgrove_server::RunningServer;
use callgrove_server::api::Live;
use callgrove_server::client::{Client, ClientError, ClientOptions};
use callgrove_server::hub::Hub;
use support::{config, raw, start};

fn packet(created_at: u64) -> Packet {
    let stats = RunStats {
        accumulate: 3.0,
        count: 7,
        mean: 3.0 / 7.0,
        ..RunStats::default()
    };
    let rank = RankAnomalies {
        data: Vec::new(),
        key: "0:5".to_owned(),
        stats,
    };
    Packet {
        version: VERSION,
        created_at,
        run: RunIdentity::default(),
        anomaly_stats: Some(AnomalyStats {
            created_at,
            anomaly: vec![rank],
            func: Vec::new(),
        }),
        anomaly_metrics: Vec::new(),
        counter_stats: Some(vec![CounterStats {
            app: 0,
            counter: "PAPI_L1_TCM".to_owned(),
            stats,
        }]),
    }
}

fn client(server: &RunningServer) -> Client {
    Client::new(server.url(), &ClientOptions::default()).unwrap()
}

fn published() -> (Arc<Hub>, RunningServer) {
    let hub = Arc::new(Hub::new(1000));
    let server = start(config(), Live::Published(Arc::clone(&hub)));
    (hub, server)
}

#[test]
fn a_follower_sees_the_overview_and_every_packet_after_it() {
    let (hub, server) = published();
    hub.publish(&packet(1));
    let client = client(&server);
    let begun = client.overview().unwrap();
    assert_eq!((begun.version, begun.ended), (1001, false));
    assert_eq!(begun.overview, hub.snapshot().overview);
    assert_eq!(begun.overview.ranks.len(), 1);
    hub.publish(&packet(2));
    hub.publish(&packet(3));
    let followed = client.packets(begun.version, Duration::ZERO).unwrap();
    assert_eq!(followed.version, 1003);
    assert_eq!(followed.packets, [packet(2), packet(3)]);
}

#[test]
fn waiting_ends_with_a_packet_or_with_the_time() {
    let (hub, server) = published();
    let client = client(&server);
    let begun = Instant::now();
    let nothing = client.packets(1000, Duration::from_millis(200)).unwrap();
    assert!(nothing.packets.is_empty() && nothing.version == 1000);
    assert!(begun.elapsed() >= Duration::from_millis(200));
    thread::scope(|scope| {
        let waiting = scope.spawn(|| client.packets(1000, Duration::from_secs(30)).unwrap());
        thread::sleep(Duration::from_millis(200));
        assert!(!waiting.is_finished());
        hub.publish(&packet(1));
        assert_eq!(waiting.join().unwrap().packets, [packet(1)]);
    });
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "the packet did not wake the follower"
    );
}

#[test]
fn followers_that_fell_behind_or_know_an_earlier_server_start_again() {
    let (hub, server) = published();
    hub.publish(&packet(1));
    let client = client(&server);
    for version in [0, 999, 1002] {
        let gone = client
            .packets(version, Duration::from_secs(30))
            .expect_err("not of this run");
        assert!(
            matches!(gone, ClientError::FellBehind { .. }),
            "{version}: {gone}"
        );
        assert!(gone.to_string().contains("/api/overview"), "{gone}");
    }
}

#[test]
fn the_end_of_the_run_wakes_followers() {
    let (hub, server) = published();
    let client = client(&server);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| client.packets(1000, Duration::from_secs(30)).unwrap());
        thread::sleep(Duration::from_millis(100));
        hub.end();
        let last = waiting.join().unwrap();
        assert!(last.ended && last.packets.is_empty());
    });
    assert!(client.overview().unwrap().ended);
}

#[test]
fn a_server_that_stops_answers_its_followers() {
    let (_hub, server) = published();
    let client = client(&server);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| client.packets(1000, Duration::from_secs(30)));
        thread::sleep(Duration::from_millis(200));
        let begun = Instant::now();
        server.stop().unwrap();
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "the follower delayed the stop"
        );
        assert!(waiting.join().unwrap().unwrap().packets.is_empty());
    });
}

#[test]
fn posted_packets_are_accepted_only_where_configured() {
    let hub = Arc::new(Hub::new(0));
    let receiver = start(config(), Live::Posted(Arc::clone(&hub)));
    assert_eq!(client(&receiver).post(&packet(1)).unwrap(), 1);
    assert_eq!(
        client(&receiver)
            .packets(0, Duration::ZERO)
            .unwrap()
            .packets,
        [packet(1)]
    );
    let future = Packet {
        version: VERSION + 1,
        ..packet(2)
    };
    let refused = client(&receiver)
        .post(&future)
        .expect_err("another version");
    assert!(
        matches!(refused, ClientError::Refused { status: 400, .. }),
        "{refused}"
    );

    let (own, server) = published();
    let refused = client(&server)
        .post(&packet(1))
        .expect_err("has a run of its own");
    assert!(
        matches!(refused, ClientError::Refused { status: 403, .. }),
        "{refused}"
    );
    assert_eq!(own.snapshot().progress.version, 1000);
}

#[test]
fn an_invalid_packet_is_refused_with_the_field() {
    let receiver = start(config(), Live::Posted(Arc::new(Hub::new(0))));
    let body = r#"{"version":2,"created_at":"now","anomaly_metrics":[]}"#;
    let post = |kind: &str| {
        format!(
            "POST /api/anomalydata HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: {kind}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let answer = raw(receiver.local_addr(), &post("application/json"));
    assert!(
        answer.starts_with("HTTP/1.1 422") && answer.contains("created_at"),
        "{answer}"
    );
    // A content type that a page of another site can send without a preflight request is refused.
    assert!(raw(receiver.local_addr(), &post("text/plain")).starts_with("HTTP/1.1 415"));
}

#[test]
fn invalid_requests_are_refused_with_the_valid_parameters() {
    let (_hub, server) = published();
    let ask = |path: &str| {
        raw(
            server.local_addr(),
            &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
        )
    };
    for path in [
        "/api/packets",
        "/api/packets?after=-1",
        "/api/packets?after=1&wait=5",
    ] {
        let answer = ask(path);
        assert!(
            answer.starts_with("HTTP/1.1 400") && answer.contains("wait_ms"),
            "{answer}"
        );
    }
    let deleted = raw(
        server.local_addr(),
        "DELETE /api/packets HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    );
    assert!(
        deleted.starts_with("HTTP/1.1 405") && deleted.contains("use GET"),
        "{deleted}"
    );
    let nowhere = ask("/api/nothing");
    assert!(
        nowhere.starts_with("HTTP/1.1 404") && nowhere.contains("/api/nothing"),
        "{nowhere}"
    );
}
