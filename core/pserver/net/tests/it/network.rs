//! The exchange over real sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_net::Credential;
use callgrove_pserver::{
    Hello, Link, ModelExchange, PserverError, Refusal, Retention, ServerState, StateOptions,
};
use callgrove_pserver_net::{ExchangeOptions, GrpcExchange, connect, service};
use tokio::runtime::Runtime;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Status};

use crate::laws::{check_large_models, check_merging};
use crate::support::{PROGRAM, global_model, hello, model, names, new_state, report, saved};

/// A server whose connections are closed when it is dropped.
struct TestServer {
    address: SocketAddr,
    // Dropped with all its connections, as if the process had been killed.
    _runtime: Runtime,
}

impl TestServer {
    fn start(state: &Arc<ServerState>, address: SocketAddr) -> Self {
        Self::start_guarded(state, address, Ok)
    }

    fn start_guarded(
        state: &Arc<ServerState>,
        address: SocketAddr,
        guard: fn(Request<()>) -> Result<Request<()>, Status>,
    ) -> Self {
        let runtime = Runtime::new().expect("threads can be started");
        let in_runtime = runtime.enter();
        // The port of the former server may take a moment to be free.
        let incoming = (0..100).find_map(|_| {
            let bound = TcpIncoming::bind(address).ok();
            if bound.is_none() {
                std::thread::sleep(Duration::from_millis(50));
            }
            bound
        });
        let incoming = incoming.expect("the port is free");
        let address = incoming.local_addr().expect("it is bound");
        let guarded = InterceptedService::new(service(Arc::clone(state)), guard);
        let server = Server::builder().serve_with_incoming(guarded, incoming);
        runtime.spawn(async move { server.await.expect("the server runs") });
        drop(in_runtime);
        Self {
            address,
            _runtime: runtime,
        }
    }

    fn client(&self) -> GrpcExchange {
        client(self.address)
    }
}

fn any_port() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn client(address: SocketAddr) -> GrpcExchange {
    connect(ExchangeOptions {
        deadline: Duration::from_secs(2),
        startup_wait: Duration::from_secs(5),
        ..ExchangeOptions::new(address.to_string())
    })
    .expect("the address is one")
}

#[test]
fn what_instances_add_comes_back_merged() {
    let state = new_state(StateOptions::default());
    let server = TestServer::start(&state, any_port());
    check_merging(&state, &mut [server.client(), server.client()]);
}

#[test]
fn large_models_travel_in_parts_both_ways() {
    let state = new_state(StateOptions::default());
    let server = TestServer::start(&state, any_port());
    check_large_models(&state, &mut [server.client(), server.client()]);
}

#[test]
fn detection_goes_on_without_the_server_and_nothing_is_lost_or_counted_twice() {
    for retention in [Retention::Nothing, Retention::Saved] {
        survives_a_restart(retention);
    }
}

fn survives_a_restart(retention: Retention) {
    let options = StateOptions {
        retention,
        ..StateOptions::default()
    };
    let mut state = new_state(options.clone());
    let server = TestServer::start(&state, any_port());
    let address = server.address;
    let mut server = Some(server);
    let mut sessions: Vec<GrpcExchange> = (0..3).map(|_| client(address)).collect();
    for (rank, session) in sessions.iter_mut().enumerate() {
        session.register(&hello(rank as u32)).expect("ranks differ");
    }
    let mut all = Vec::new();
    let mut was_down = false;
    for step in 0..60_u32 {
        match step {
            15 => {
                let saved = saved(&state);
                let next = StateOptions {
                    epoch: 2,
                    ..options.clone()
                };
                server = None;
                state = Arc::new(match retention {
                    Retention::Saved => saved.restore(next).expect("saved"),
                    _ => ServerState::new(next),
                });
            }
            25 => server = Some(TestServer::start(&state, address)),
            _ => {}
        }
        for (rank, session) in sessions.iter_mut().enumerate() {
            let fid = session
                .functions(PROGRAM, &names(&[["f", "g"][usize::from(step > 20)]]))
                .expect("short")[0];
            let values = [u64::from(step) * 10 + rank as u64, 3];
            all.extend(values);
            let start = Instant::now();
            let synced = session
                .sync_and_report(
                    vec![(fid, model(&values))],
                    &[report(rank as u32, step, fid, &values)],
                )
                .expect("absence is not an error");
            assert!(start.elapsed() < Duration::from_secs(4));
            assert!(synced.models[0].1.moments().count() >= 2);
            was_down |= synced.link != Link::Up;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(was_down);
    assert!(server.is_some());
    for session in &mut sessions {
        let back = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(50));
            let synced = session.sync_and_report(Vec::new(), &[]);
            synced.expect("absence is not an error").link == Link::Up
        });
        assert!(back, "the client has found the server again");
        session.goodbye().expect("the server is there");
    }
    let num_counted =
        global_model(&state, "f").moments().count() + global_model(&state, "g").moments().count();
    assert_eq!(num_counted, all.len() as u64);
    let documents = state.documents();
    let num_reported: u64 = documents
        .func_stats
        .iter()
        .map(|function| function.runtime_profile.exclusive_runtime.count)
        .sum();
    assert_eq!(num_reported, all.len() as u64);
}

#[test]
fn a_rank_in_use_is_refused_with_the_holders_name() {
    let state = new_state(StateOptions::default());
    let server = TestServer::start(&state, any_port());
    let mut one = server.client();
    one.register(&hello(0)).expect("the rank is free");
    let mut second = connect(ExchangeOptions {
        startup_wait: Duration::ZERO,
        ..ExchangeOptions::new(server.address.to_string())
    })
    .expect("the address is one");
    let refused = second.register(&Hello {
        instance: String::from("second"),
        ..hello(0)
    });
    let Err(PserverError::Refused { about, cause, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(about, Refusal::Rank);
    assert!(cause.contains("test:0"), "{cause}");
}

#[test]
fn an_absent_server_is_distinguished_from_an_invalid_option() {
    let unused = std::net::TcpListener::bind(any_port()).expect("a port is free");
    let address = unused.local_addr().expect("it is bound");
    drop(unused);
    let mut client = connect(ExchangeOptions {
        startup_wait: Duration::ZERO,
        ..ExchangeOptions::new(address.to_string())
    })
    .expect("the address is one");
    let error = client.register(&hello(0)).expect_err("no server is there");
    let text = error.to_string();
    assert!(matches!(error, PserverError::NotConnected { .. }), "{text}");
    assert!(
        text.contains("refused") && text.contains(&address.to_string()),
        "{text}"
    );
    let wrong = [
        ExchangeOptions::new("a b"),
        ExchangeOptions::new("https://localhost:1"),
        ExchangeOptions {
            ca_file: Some("/no/such/file.pem".into()),
            ..ExchangeOptions::new("https://localhost:1")
        },
        ExchangeOptions {
            credential: Some(Credential::explicit("with\nnewline")),
            ..ExchangeOptions::new("localhost:1")
        },
    ];
    for options in wrong {
        let error = connect(options).expect_err("it is wrong");
        assert!(matches!(error, PserverError::BadOption { .. }), "{error}");
    }
}

#[test]
fn a_silent_server_costs_no_more_than_the_deadline() {
    let listener = std::net::TcpListener::bind(any_port()).expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    let mut client = connect(ExchangeOptions {
        deadline: Duration::from_millis(300),
        startup_wait: Duration::ZERO,
        ..ExchangeOptions::new(address.to_string())
    })
    .expect("the address is one");
    let start = Instant::now();
    let error = client.register(&hello(0)).expect_err("it says nothing");
    assert!(
        matches!(error, PserverError::NotConnected { .. }),
        "{error}"
    );
    assert!(start.elapsed() < Duration::from_secs(2));
    // From now on it does not even try to call.
    let start = Instant::now();
    let fid = client.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    let synced = client
        .sync_and_report(vec![(fid, model(&[1]))], &[])
        .expect("absence is not an error");
    assert!(matches!(synced.link, Link::Down { .. }));
    assert_eq!(synced.models[0].1.moments().count(), 1);
    assert!(start.elapsed() < Duration::from_millis(100));
}

#[test]
fn the_token_goes_with_every_call_and_a_wrong_one_is_refused() {
    let state = new_state(StateOptions::default());
    let server = TestServer::start_guarded(&state, any_port(), |request| {
        match request.metadata().get("authorization") {
            Some(header) if header == "Bearer secret" => Ok(request),
            _ => Err(Status::unauthenticated("the token is wrong or missing")),
        }
    });
    let with_token = |token: &str| {
        connect(ExchangeOptions {
            credential: Some(Credential::explicit(token)),
            ..ExchangeOptions::new(server.address.to_string())
        })
        .expect("the address is one")
    };
    let mut welcome = with_token("secret");
    welcome.register(&hello(0)).expect("the token is right");
    let fid = welcome.functions(PROGRAM, &names(&["f"])).expect("short")[0];
    let synced = welcome.sync_and_report(vec![(fid, model(&[1]))], &[]);
    assert_eq!(synced.expect("the token is right").link, Link::Up);
    let refused = with_token("guessed").register(&hello(1));
    assert!(matches!(
        refused,
        Err(PserverError::Refused {
            about: Refusal::Access,
            ..
        })
    ));
}
