//! Helpers of the tests of the port: servers on free ports, a gRPC echo service, certificates.
#![expect(
    clippy::unwrap_used,
    dead_code,
    unreachable_pub,
    reason = "in a test a panic is the report; each test file uses its part of this"
)]

pub mod disturbed;
pub mod pages;

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use callgrove_model::{ProgramId, RankId, RunIdentity, StepId};
use callgrove_provdb_stores::OpenOptions;
use callgrove_pserver::{
    AnomalySummary, FunctionReport, Hello, ModelExchange, ServerState, StepReport,
};
use callgrove_server::api::{self, Api, Live};
use callgrove_server::hub::Hub;
use callgrove_server::maintenance::MaintenanceConfig;
use callgrove_server::{Limits, RunningServer, ServerConfig, TlsFiles, Token, grpc};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use tonic::codegen::{BoxFuture, Service, http};
use tonic::transport::Channel;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

pub const SECRET: &str = "a-token-for-tests-only";

/// Maximum size of an echo message.
pub const MAX_ECHO_BYTES: usize = 64 << 10;

pub fn token() -> Token {
    Token::new(SECRET, "the test").unwrap()
}

/// A free port of the loopback address, with timeouts that tests can outlast.
pub fn config() -> ServerConfig {
    let limits = Limits {
        shutdown_grace: Duration::from_secs(20),
        ..Limits::default()
    };
    ServerConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        limits,
        ..ServerConfig::default()
    }
}

/// Starts the echo and the JSON interface on one port.
pub fn start(config: ServerConfig, live: Live) -> RunningServer {
    start_api(
        config,
        Api {
            live,
            tree_models: None,
            documents: None,
        },
    )
}

/// Starts the echo and the interface `api`.
pub fn start_api(config: ServerConfig, api: Api) -> RunningServer {
    RunningServer::start(config, || grpc::mount(api::router(api), Echo)).unwrap()
}

/// Sends one HTTP/1.1 request as bytes, and returns everything until the server closes.
pub fn raw(address: SocketAddr, request: &str) -> String {
    let mut socket = TcpStream::connect(address).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    socket.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

/// A certificate for `localhost` and the loopback address, in files; self-signed by default.
pub struct Certificate {
    folder: tempfile::TempDir,
    signer: &'static str,
}

impl Certificate {
    pub fn new() -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (file, pem) in [
            ("cert.pem", made.cert.pem()),
            ("key.pem", made.signing_key.serialize_pem()),
        ] {
            let path = folder.path().join(file);
            std::fs::write(&path, pem).unwrap();
            make_private(&path);
        }
        Self {
            folder,
            signer: "cert.pem",
        }
    }

    /// A certificate signed by an authority.
    pub fn signed_by_authority() -> Self {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let [own_key, key] = [(); 2].map(|()| KeyPair::generate().unwrap());
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let signer = authority.self_signed(&own_key).unwrap();
        let issuer = Issuer::new(authority, own_key);
        let params = CertificateParams::new(names).unwrap();
        let signed = params.signed_by(&key, &issuer).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (file, pem) in [
            ("ca.pem", signer.pem()),
            ("cert.pem", signed.pem()),
            ("key.pem", key.serialize_pem()),
        ] {
            let path = folder.path().join(file);
            std::fs::write(&path, pem).unwrap();
            make_private(&path);
        }
        Self {
            folder,
            signer: "ca.pem",
        }
    }

    /// A certificate of an authority, made by openssl; see `tests/data`.
    pub fn of_openssl() -> Self {
        let made = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/openssl-req-x509");
        let folder = tempfile::tempdir().unwrap();
        for file in ["cert.pem", "key.pem"] {
            let path = folder.path().join(file);
            std::fs::copy(made.join(file), &path).unwrap();
            make_private(&path);
        }
        Self {
            folder,
            signer: "cert.pem",
        }
    }

    /// The certificate that clients trust.
    pub fn signer(&self) -> PathBuf {
        self.folder.path().join(self.signer)
    }

    pub fn files(&self) -> TlsFiles {
        TlsFiles {
            cert: self.folder.path().join("cert.pem"),
            key: self.folder.path().join("key.pem"),
        }
    }
}

/// Takes the permission to read a file from other users.
fn make_private(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    let user_only = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, user_only).unwrap();
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Text {
    #[prost(string, tag = "1")]
    pub text: String,
}

/// A gRPC service with one call, which returns its message.
#[derive(Clone)]
struct Echo;

impl tonic::server::NamedService for Echo {
    const NAME: &'static str = "test.Echo";
}

impl tonic::server::UnaryService<Text> for Echo {
    type Response = Text;
    type Future = Ready<Result<Response<Text>, Status>>;

    fn call(&mut self, request: Request<Text>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

impl Service<http::Request<axum::body::Body>> for Echo {
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<axum::body::Body>) -> Self::Future {
        Box::pin(async {
            let codec = ProstCodec::default();
            let mut grpc = tonic::server::Grpc::new(codec)
                .apply_max_message_size_config(Some(MAX_ECHO_BYTES), None);
            Ok(grpc.unary(Echo, request).await)
        })
    }
}

/// Calls the echo with a token, at `path`.
pub async fn call_at(
    channel: Channel,
    path: &'static str,
    secret: Option<&str>,
    text: &str,
) -> Result<String, Status> {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready()
        .await
        .map_err(|error| Status::from_error(error.into()))?;
    let mut request = Request::new(Text {
        text: text.to_owned(),
    });
    if let Some(secret) = secret {
        let bearer = format!("Bearer {secret}").parse().unwrap();
        request.metadata_mut().insert("authorization", bearer);
    }
    let codec: ProstCodec<Text, Text> = ProstCodec::default();
    let answer = grpc
        .unary(request, http::uri::PathAndQuery::from_static(path), codec)
        .await?;
    Ok(answer.into_inner().text)
}

/// Calls the echo of a server without TLS.
pub async fn echo(url: &str, secret: Option<&str>, text: &str) -> Result<String, Status> {
    let channel = Channel::from_shared(url.to_owned())
        .unwrap()
        .connect()
        .await
        .unwrap();
    call_at(channel, "/test.Echo/Say", secret, text).await
}

pub fn router_with(path: &str, answer: &'static str) -> Router {
    Router::new().route(path, axum::routing::get(move || ready(answer)))
}

/// Runs a future on a runtime for the client's side of gRPC.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

/// Acts as an AD instance that reports one anomaly in one step, without a run identity, and leaves.
pub fn report_one_anomaly(mut exchange: impl ModelExchange, rank: RankId, function: &str) {
    let hello = Hello {
        instance: format!("the test's, of rank {rank}"),
        program: ProgramId(0),
        ranks: vec![rank],
        run: RunIdentity::default(),
        recorded_ranks: None,
    };
    exchange.register(&hello).unwrap();
    let fids = exchange
        .functions(ProgramId(0), &[function.to_owned()])
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
        rank,
        step: StepId(7),
        functions: vec![function],
        counters: Vec::new(),
        stall_summary: callgrove_incidents::StallSummary::default(),
        tree_p_values: callgrove_pserver::TreePValues::new(),
    };
    exchange.sync_and_report(Vec::new(), &[report]).unwrap();
    exchange.goodbye().unwrap();
}

/// The configuration of maintenance that saves in a folder.
pub fn saved_in(path: &str, state: &Arc<ServerState>, hub: &Arc<Hub>) -> MaintenanceConfig {
    MaintenanceConfig {
        state: Arc::clone(state),
        interval: Duration::from_millis(10),
        hub: Arc::clone(hub),
        posters: Vec::new(),
        store: Some(callgrove_provdb_stores::open(path, &OpenOptions::default()).unwrap()),
    }
}
