//! Packets over real HTTP.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use callgrove_net::Credential;
use callgrove_overview::packet::Packet;
use callgrove_pserver::{ModelExchange, PserverError, StateOptions};
use callgrove_pserver_net::{Poster, PosterOptions};

use crate::support::{PROGRAM, hello, names, new_state, report};

fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    (listener, format!("http://{address}/api/anomalydata"))
}

/// Reads one request; returns its head and its body.
fn read_request(stream: &mut TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.parse::<usize>().ok())?
            });
            let chunked = length.is_none() && body.ends_with("0\r\n\r\n");
            if length.is_some_and(|length| body.len() >= length) || chunked {
                let body = if chunked {
                    unchunk(body)
                } else {
                    body.to_owned()
                };
                return (head.to_owned(), body);
            }
        }
        let num_read = stream.read(&mut buffer).expect("the request is sent");
        assert!(num_read > 0, "the request ended early");
        bytes.extend_from_slice(&buffer[..num_read]);
    }
}

fn unchunk(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        text.push_str(&rest[..size]);
        body = rest[size..].trim_start_matches("\r\n");
    }
    text
}

fn answer(stream: &mut TcpStream, status: &str) {
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
    stream.write_all(answer.as_bytes()).expect("it listens");
}

fn three_packets() -> Vec<Packet> {
    let state = new_state(StateOptions::default());
    let mut session = state.session();
    session.register(&hello(0)).expect("the rank is free");
    let fid = session.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    (0..3)
        .map(|step| {
            session
                .sync_and_report(Vec::new(), &[report(0, step, fid, &[5, 2000])])
                .expect("it is in this process");
            state.take_packet(u64::from(step))
        })
        .collect()
}

fn wait_until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "it took too long"
        );
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_packet_arrives_as_json_with_the_token() {
    let (listener, url) = listen();
    let poster = Poster::start(PosterOptions {
        credential: Some(Credential::explicit("secret")),
        ..PosterOptions::new(url)
    })
    .expect("the URL is one");
    let packets = three_packets();
    poster.post(packets[0].clone());
    let (mut stream, _) = listener.accept().expect("the poster connects");
    let (head, body) = read_request(&mut stream);
    answer(&mut stream, "200 OK");
    assert!(head.starts_with("POST /api/anomalydata HTTP/1.1"), "{head}");
    let head = head.to_lowercase();
    assert!(head.contains("authorization: bearer secret"), "{head}");
    assert!(head.contains("content-type: application/json"), "{head}");
    let received: Packet = serde_json::from_str(&body).expect("it is a packet");
    assert_eq!(received, packets[0]);
    wait_until(|| poster.status().num_delivered == 1);
    assert_eq!(poster.status().failure, None);
}

#[test]
fn undelivered_packets_arrive_later_as_one() {
    let (listener, url) = listen();
    let poster = Poster::start(PosterOptions {
        timeout: Duration::from_millis(500),
        retry_after: Duration::from_millis(100),
        ..PosterOptions::new(url)
    })
    .expect("the URL is one");
    let packets = three_packets();
    poster.post(packets[0].clone());
    let (mut stream, _) = listener.accept().expect("the poster connects");
    read_request(&mut stream);
    answer(&mut stream, "500 Internal Server Error");
    wait_until(|| poster.status().num_failed == 1);
    assert!(
        poster
            .status()
            .failure
            .is_some_and(|failure| failure.contains("500"))
    );
    poster.post(packets[1].clone());
    // This time the receiver does not answer.
    let (silent, _) = listener.accept().expect("the poster connects");
    wait_until(|| poster.status().num_failed == 2);
    drop(silent);
    poster.post(packets[2].clone());
    // The third packet may miss the next request, but not the one after it.
    let mut steps = Vec::new();
    while steps.len() < 3 {
        let (mut stream, _) = listener.accept().expect("the poster connects");
        let (_, body) = read_request(&mut stream);
        answer(&mut stream, "204 No Content");
        let received: Packet = serde_json::from_str(&body).expect("it is a packet");
        let stats = received.anomaly_stats.expect("there is news");
        steps.extend(stats.anomaly[0].data.iter().map(|step| step.step));
    }
    assert_eq!(steps, [0, 1, 2]);
    wait_until(|| poster.status().failure.is_none());
}

#[test]
fn the_last_packet_is_delivered_before_the_end() {
    let (listener, url) = listen();
    let poster = Poster::start(PosterOptions::new(url)).expect("the URL is one");
    let packets = three_packets();
    poster.post(packets[2].clone());
    let receiver = std::thread::Builder::new()
        .name(String::from("receiver"))
        .spawn(move || {
            let (mut stream, _) = listener.accept().expect("the poster connects");
            let (_, body) = read_request(&mut stream);
            answer(&mut stream, "200 OK");
            body
        })
        .expect("a thread can be started");
    drop(poster);
    let body = receiver.join().expect("it got a request");
    assert_eq!(
        serde_json::from_str::<Packet>(&body).ok().as_ref(),
        packets.last()
    );
}

#[test]
fn an_invalid_url_is_refused() {
    let error = Poster::start(PosterOptions::new("viewer:80")).expect_err("no scheme");
    assert!(matches!(error, PserverError::BadOption { .. }));
    assert!(error.to_string().contains("http://"), "{error}");
}
