//! The parameter server on the port: AD instances by gRPC, followers by HTTP, packets on to another server; with token
//! and certificate all along.

#![expect(clippy::unwrap_used, reason = "in a test a panic is the report")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_model::{ProgramId, RankId, RunIdentity, StepId};
use callgrove_pserver::net::{ExchangeOptions, Poster, PosterOptions, connect, service};
use callgrove_pserver::overview::Overview;
use callgrove_pserver::{
    AnomalySummary, FunctionReport, Hello, ModelExchange as _, PserverError, ServerState,
    StateOptions, StepReport,
};
use callgrove_server::api::{self, Api, Live};
use callgrove_server::client::{Client, ClientOptions};
use callgrove_server::hub::Hub;
use callgrove_server::{RunningServer, ServerConfig, grpc};
use support::{Certificate, SECRET, config, token};

const RANK: RankId = RankId(3);

fn guarded(certificate: &Certificate) -> ServerConfig {
    ServerConfig {
        token: Some(token()),
        tls: Some(certificate.files()),
        ..config()
    }
}

fn ad_options(server: &RunningServer, certificate: &Certificate) -> ExchangeOptions {
    ExchangeOptions {
        token: Some(SECRET.to_owned()),
        ca_file: Some(certificate.cert()),
        ..ExchangeOptions::new(server.url())
    }
}

/// An AD instance that finds one anomaly in one step, and leaves.
fn report_one_anomaly(options: ExchangeOptions) {
    let mut exchange = connect(options).unwrap();
    let hello = Hello {
        instance: "the test".to_owned(),
        program: ProgramId(0),
        ranks: vec![RANK],
        run: RunIdentity::default(),
    };
    exchange.register(&hello).unwrap();
    let fids = exchange
        .functions(ProgramId(0), &["MPI_Wait".to_owned()])
        .unwrap();
    let mut function = FunctionReport {
        fid: fids[0],
        exclusive: callgrove_detect::Moments::default(),
        inclusive: callgrove_detect::Moments::default(),
        anomalies: AnomalySummary::default(),
    };
    function.exclusive.push(500.0);
    function.inclusive.push(700.0);
    function.anomalies.push(12.0, 500.0, 1000, 1500);
    let report = StepReport {
        program: ProgramId(0),
        rank: RANK,
        step: StepId(7),
        functions: vec![function],
        counters: Vec::new(),
        brief: callgrove_pserver::StepBrief::default(),
    };
    exchange.sync_and_report(Vec::new(), &[report]).unwrap();
    exchange.goodbye().unwrap();
}

fn shows_the_anomaly(overview: &Overview) -> bool {
    overview.num_anomalies() == 1
        && overview.rank(0, RANK.0).is_some()
        && overview.funcs.iter().any(|func| func.name == "MPI_Wait")
}

#[test]
fn an_anomaly_travels_from_an_instance_to_followers_and_other_servers() {
    let certificate = Certificate::new();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let hub = Arc::new(Hub::new(1000));
    let live = Live::Published(Arc::clone(&hub));
    let server = RunningServer::start(guarded(&certificate), || {
        let routes = api::router(Api {
            live,
            tree_models: None,
            documents: None,
        });
        grpc::mount(routes, service(Arc::clone(&state)))
    })
    .unwrap();
    report_one_anomaly(ad_options(&server, &certificate));

    let packet = state.take_packet(1);
    hub.publish(&packet);
    let options = ClientOptions {
        token: Some(token()),
        ca_file: Some(certificate.cert()),
    };
    let follower = Client::new(server.url(), &options).unwrap();
    let packets = follower.packets(1000, Duration::ZERO).unwrap().packets;
    assert_eq!(packets, std::slice::from_ref(&packet));
    assert!(shows_the_anomaly(&follower.overview().unwrap().overview));

    let received = Arc::new(Hub::new(0));
    let live = Live::Posted(Arc::clone(&received));
    let other = support::start(guarded(&certificate), live);
    let poster = Poster::start(PosterOptions {
        token: Some(SECRET.to_owned()),
        ca_file: Some(certificate.cert()),
        ..PosterOptions::new(format!("{}/api/anomalydata", other.url()))
    })
    .unwrap();
    poster.post(packet);
    drop(poster);
    assert!(shows_the_anomaly(&received.snapshot().overview));
}

#[test]
fn an_instance_without_the_token_is_told_so_and_does_not_wait() {
    let certificate = Certificate::new();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let routes = || grpc::mount(axum::Router::new(), service(state));
    let server = RunningServer::start(guarded(&certificate), routes).unwrap();
    let options = ExchangeOptions {
        token: None,
        ..ad_options(&server, &certificate)
    };
    let hello = Hello {
        instance: "the test".to_owned(),
        program: ProgramId(0),
        ranks: vec![RANK],
        run: RunIdentity::default(),
    };
    let begun = Instant::now();
    let patience = options.startup_wait;
    let refused: PserverError = connect(options)
        .unwrap()
        .register(&hello)
        .expect_err("no token");
    assert!(refused.to_string().contains("token"), "{refused}");
    assert!(
        begun.elapsed() < patience,
        "it waited for what does not change"
    );
}
