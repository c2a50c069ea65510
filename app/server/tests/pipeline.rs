//! The parameter server on the port: AD instances use gRPC, followers use HTTP, packets are posted to another server;
//! always with token and certificate.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use callgrove_detect::{TreeJudge, TreeModelReader, TreeVerdict};
use callgrove_model::{Forest, ProgramId, RankId, Reason, RunIdentity};
use callgrove_overview::Overview;
use callgrove_provdb::{AccessMode, Document, RecordedTree, TREE_VERSION, TreeRecord};
use callgrove_provdb_stores::{OpenOptions, open};
use callgrove_pserver::{
    Hello, ModelExchange, ModelInForce, ModelPublication, PserverError, ServerState, StateOptions,
};
use callgrove_pserver_net::{ExchangeOptions, Poster, PosterOptions, connect, service};
use callgrove_server::Credential;
use callgrove_server::api::{self, Api, Documents, Live, TreeModelRegistry};
use callgrove_server::client::{Client, ClientOptions};
use callgrove_server::hub::Hub;
use callgrove_server::maintenance::Maintenance;
use callgrove_server::{RunningServer, ServerConfig, grpc};
use support::{Certificate, SECRET, config, report_one_anomaly, token};

const RANK: RankId = RankId(3);

fn guarded(certificate: &Certificate) -> ServerConfig {
    ServerConfig {
        token: Some(token()),
        tls: Some(certificate.files().into()),
        ..config()
    }
}

fn ad_options(server: &RunningServer, certificate: &Certificate) -> ExchangeOptions {
    ExchangeOptions {
        credential: Some(Credential::explicit(SECRET)),
        ca_file: Some(certificate.signer()),
        ..ExchangeOptions::new(server.url())
    }
}

fn shows_the_anomaly(overview: &Overview) -> bool {
    overview.num_anomalies() == 1
        && overview.rank(0, RANK.0).is_some()
        && overview.funcs.iter().any(|func| func.name == "MPI_Wait")
}

#[test]
fn an_anomaly_reaches_followers_and_other_servers() {
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
    report_one_anomaly(
        connect(ad_options(&server, &certificate)).unwrap(),
        RANK,
        "MPI_Wait",
    );

    let packet = state.take_packet(1);
    hub.publish(&packet);
    let options = ClientOptions {
        credential: Some(token().stated()),
        ca_file: Some(certificate.signer()),
    };
    let follower = Client::new(server.url(), &options).unwrap();
    let packets = follower.packets(1000, Duration::ZERO).unwrap().packets;
    assert_eq!(packets, std::slice::from_ref(&packet));
    assert!(shows_the_anomaly(&follower.overview().unwrap().overview));

    let received = Arc::new(Hub::new(0));
    let live = Live::Posted(Arc::clone(&received));
    let other = support::start(guarded(&certificate), live);
    let poster = Poster::start(PosterOptions {
        credential: Some(Credential::explicit(SECRET)),
        ca_file: Some(certificate.signer()),
        ..PosterOptions::new(format!("{}/api/anomalydata", other.url()))
    })
    .unwrap();
    poster.post(packet);
    drop(poster);
    assert!(shows_the_anomaly(&received.snapshot().overview));
}

#[test]
fn a_packet_receiver_is_trusted_only_with_the_authority_of_its_certificate() {
    let certificate = Certificate::signed_by_authority();
    let received = Arc::new(Hub::new(0));
    let live = Live::Posted(Arc::clone(&received));
    let receiver = support::start(guarded(&certificate), live);
    let state = ServerState::new(StateOptions::default());
    let post = |ca_file| {
        let poster = Poster::start(PosterOptions {
            credential: Some(Credential::explicit(SECRET)),
            ca_file,
            ..PosterOptions::new(format!("{}/api/anomalydata", receiver.url()))
        })
        .unwrap();
        poster.post(state.take_packet(1));
        poster.finish().failure
    };
    let others = Certificate::signed_by_authority();
    for ca_file in [None, Some(others.signer())] {
        let failure = post(ca_file).expect("not trusted");
        assert!(failure.contains("certificate"), "{failure}");
    }
    assert_eq!(received.snapshot().progress.version, 0);
    assert_eq!(post(Some(certificate.signer())), None);
    assert_eq!(received.snapshot().progress.version, 1);
}

/// A reader that accepts any text as a model of one function, which cannot judge any execution.
#[derive(Debug)]
struct AnyText([String; 1]);

impl TreeModelReader for AnyText {
    fn read(&self, _: &[u8]) -> Result<Arc<dyn TreeJudge>, String> {
        Ok(Arc::new(Self(self.0.clone())))
    }
}

impl TreeJudge for AnyText {
    fn functions(&self) -> &[String] {
        &self.0
    }

    fn programs(&self) -> &[String] {
        &[]
    }

    fn judge(&self, _: &Forest) -> Result<Vec<TreeVerdict>, String> {
        Err("a feature is not a number".to_owned())
    }

    fn reasons(&self, _: &Forest) -> Result<Vec<Vec<Reason>>, String> {
        Ok(Vec::new())
    }
}

/// Serves the models of a run with a reader that accepts any text.
fn serve_models(
    state: Arc<ServerState>,
    is_kept: bool,
    live: Live,
    documents: Option<Documents>,
) -> (RunningServer, Client) {
    let registry = TreeModelRegistry {
        state,
        reader: Arc::new(AnyText(["compute".to_owned()])),
        is_kept,
    };
    let api = Api {
        live,
        tree_models: Some(registry),
        documents,
    };
    let server = support::start_api(config(), api);
    let client = Client::new(server.url(), &ClientOptions::default()).expect("a valid address");
    (server, client)
}

fn publication() -> ModelPublication {
    ModelPublication {
        name: "compute".to_owned(),
        model: "any text".to_owned(),
        note: String::new(),
        by: "me".to_owned(),
    }
}

#[test]
fn a_model_for_a_finished_run_is_refused_at_once_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_string_lossy();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let hub = Arc::new(Hub::new(0));
    let maintenance = Maintenance::start(support::saved_in(&place, &state, &hub)).unwrap();
    let (_server, client) = serve_models(state, true, Live::Published(hub), None);
    let publication = publication();
    assert_eq!(client.publish_tree_model(&publication).unwrap(), 1);
    maintenance.finish().saved.unwrap();
    let out_of_force = ModelInForce {
        name: "compute".to_owned(),
        version: None,
    };
    for answer in [
        client.publish_tree_model(&publication).map(drop),
        client.put_in_force(&out_of_force).map(drop),
    ] {
        let refusal = answer.expect_err("no instance uses it");
        assert!(!refusal.is_worth_a_retry(), "{refusal}");
        let message = refusal.to_string();
        assert!(
            message.contains("the run is over") && message.contains("the next run"),
            "{message}"
        );
    }
    let models = client.tree_models().unwrap().models;
    assert_eq!((models[0].in_force, models[0].versions.len()), (Some(1), 1));
}

#[test]
fn a_model_is_tried_on_recorded_executions_before_it_is_in_force() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("db").to_string_lossy().into_owned();
    let record = |function: &str, number: u64| {
        let record = TreeRecord {
            version: TREE_VERSION,
            event_id: format!("0:0:{number}"),
            pid: 0,
            rid: 0,
            tid: 0,
            fid: 0,
            func: function.into(),
            hostname: "node".into(),
            entry: 1_000 * number,
            exit: 1_000 * number + 10,
            runtime_total: 10,
            io_step: 0,
            is_sample: true,
            judged: None,
            outlier_score: 0.0,
            outlier_severity: 10,
            num_calls: 1,
            tree: Some(RecordedTree {
                functions: vec![function.into()],
                depth: vec![0],
                func: vec![0],
                entry: vec![0],
                inclusive: vec![10],
            }),
        };
        Document::tree(&record).unwrap()
    };
    let mut store = open(&place, &OpenOptions::default()).unwrap();
    store.put(&[record("other", 0)]).unwrap();
    let documents = {
        let place = place.clone();
        let options = OpenOptions {
            mode: AccessMode::ReadOnly,
            ..OpenOptions::default()
        };
        Documents::new(1, move || open(&place, &options))
    };
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let (_server, client) = serve_models(state, false, Live::Absent, Some(documents));
    let publication = publication();
    // Nothing that it judges is recorded yet.
    assert_eq!(client.publish_tree_model(&publication).unwrap(), 1);
    store.put(&[record("compute", 1)]).unwrap();
    let refusal = client.publish_tree_model(&publication).unwrap_err();
    let message = refusal.to_string();
    assert!(
        message.contains("1 recorded execution: a feature is not a number"),
        "{message}"
    );
    let models = client.tree_models().unwrap().models;
    assert_eq!((models[0].in_force, models[0].versions.len()), (Some(1), 1));
}

#[test]
fn an_instance_without_the_token_fails_at_once() {
    let certificate = Certificate::new();
    let state = Arc::new(ServerState::new(StateOptions::default()));
    let routes = || grpc::mount(axum::Router::new(), service(state));
    let server = RunningServer::start(guarded(&certificate), routes).unwrap();
    let options = ExchangeOptions {
        credential: None,
        ..ad_options(&server, &certificate)
    };
    let hello = Hello {
        instance: "the test".to_owned(),
        program: ProgramId(0),
        ranks: vec![RANK],
        run: RunIdentity::default(),
        recorded_ranks: None,
    };
    let begun = Instant::now();
    let startup_wait = options.startup_wait;
    let refused: PserverError = connect(options)
        .unwrap()
        .register(&hello)
        .expect_err("no token");
    assert!(refused.to_string().contains("token"), "{refused}");
    assert!(
        begun.elapsed() < startup_wait,
        "it retried a permanent error"
    );
}
