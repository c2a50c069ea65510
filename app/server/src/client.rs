//! A client of the JSON interface. Its calls block, so it needs a thread of its own.

mod endpoint;
mod error;
mod in_process;
mod remote_session;
mod remote_stream;
mod tokens;
mod tree_models;

use std::io::Read as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use callgrove_net::{Credential, PinnedServer, certificates};
use callgrove_overview::packet::{Packet, PacketDigest};
use callgrove_overview::{Overview, RankRange};
use callgrove_provdb::Collection;
use callgrove_watch::DocumentsRequest;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::http::{Method, Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use endpoint::{Endpoint, RemoteTarget, Trust};
pub use error::ClientError;
use in_process::InProcessApi;
pub use remote_session::RemoteSession;

use crate::api::{Api, Health, MAX_WAIT, OverviewAnswer, router};
use crate::view::{VIEW_HEADER, WATCH_HEADER};

/// Timeout for connecting to a server. A host that is up answers sooner.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout for a whole request, in addition to the time that the server was asked to wait.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// Maximum idle time of a connection that is used again. The server closes idle connections after
/// [`Limits::header_timeout`](crate::Limits::header_timeout).
const MAX_IDLE_AGE: Duration = Duration::from_secs(10);
/// Largest answer that is read, in bytes.
const MAX_ANSWER_BYTES: u64 = 512 << 20;
/// Largest error answer that is read, in bytes; an error is one sentence.
const MAX_REFUSAL_BYTES: u64 = 64 << 10;

/// Credentials and trusted certificates of a client.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// The credential that is sent to the server.
    pub credential: Option<Credential>,
    /// PEM file of the certificates to trust, instead of the public authorities.
    pub ca_file: Option<PathBuf>,
}

/// A client of one server. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    transport: ClientTransport,
    base: String,
}

/// The way in which requests reach the server.
#[derive(Clone)]
enum ClientTransport {
    Network(Arc<RemoteTarget>),
    InProcess(Arc<InProcessApi>),
}

/// Answer of [`Client::packets`].
#[derive(Debug, Deserialize)]
pub struct PacketsAnswer {
    /// Number of the last packet, from which the next request goes on.
    pub version: u64,
    /// True if the run has ended and these are its last packets.
    pub ended: bool,
    /// The packets in order; empty if none arrived in time, and if the job has many ranks.
    #[serde(default)]
    pub packets: Vec<Packet>,
    /// The digests of the packets of a job with many ranks, in order.
    #[serde(default)]
    pub digests: Vec<PacketDigest>,
    /// The overview after the digests, if there are any.
    pub overview: Option<Box<Overview>>,
}

/// A session that a server offers to pages and windows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServedSession {
    /// Path of the session on the server.
    pub path: String,
    /// Address of the run that the session watches, if it watches one.
    pub watched: Option<String>,
}

#[derive(Deserialize)]
struct Counted {
    count: u64,
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

#[derive(Deserialize)]
struct Posted {
    version: u64,
}

impl Client {
    /// A client of the server at `url`, such as `http://127.0.0.1:7880` or `https://head:7880#sha256:…`, or
    /// of an address file. Nothing is sent yet.
    ///
    /// # Errors
    /// If `url` is not the URL of a server, or the certificate file cannot be used.
    pub fn new(url: &str, options: &ClientOptions) -> Result<Self, ClientError> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_age(MAX_IDLE_AGE)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(REQUEST_TIMEOUT));
        let pinned = PinnedServer::named(url, options.credential.as_ref());
        let pinned = pinned.map_err(|cause| ClientError::Url {
            cause,
            url: url.to_owned(),
        })?;
        if let Some(server) = pinned {
            let target = RemoteTarget::Pinned {
                server,
                config: Box::new(config.build()),
                last: Mutex::default(),
            };
            return Ok(Self {
                transport: ClientTransport::Network(Arc::new(target)),
                base: url.to_owned(),
            });
        }
        let uri = base(url)?;
        let (mut tls, mut trust) = (TlsConfig::builder(), Trust::Public);
        if let Some(path) = &options.ca_file {
            let certificates = certificates(path).map_err(|cause| ClientError::CaFile {
                cause,
                path: path.clone(),
            })?;
            let certificates = Arc::new(certificates);
            tls = tls.root_certs(RootCerts::Specific(Arc::clone(&certificates)));
            trust = Trust::Authorities(certificates);
        }
        let mut config = config.tls_config(tls.build());
        if is_this_machine(&uri) {
            // A site's proxy cannot reach the loopback interface of this machine.
            config = config.proxy(None);
        }
        let base = uri.to_string().trim_end_matches('/').to_owned();
        let target = RemoteTarget::Url {
            uri,
            agent: config.build().into(),
            credential: options.credential.clone(),
            trust,
        };
        Ok(Self {
            transport: ClientTransport::Network(Arc::new(target)),
            base,
        })
    }

    /// A client of an interface in this process; `name` takes the place of its address in messages.
    ///
    /// # Errors
    /// If the system provides no timers for the runtime.
    pub fn in_process(name: &str, api: Api) -> std::io::Result<Self> {
        Ok(Self {
            transport: ClientTransport::InProcess(Arc::new(InProcessApi::new(router(api))?)),
            base: name.to_owned(),
        })
    }

    /// Returns the session that the server offers to pages and windows, if it has one.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn session(&self) -> Result<Option<ServedSession>, ClientError> {
        let Some(endpoint) = self.endpoint()? else {
            return Ok(None);
        };
        let request = endpoint.agent.head(format!("{}/", endpoint.base));
        let request = endpoint.authorized(request);
        let answer = request.call();
        let answer = answer.map_err(|error| ClientError::from_transport(&self.base, error))?;
        if answer.status().as_u16() == 401 {
            return Err(ClientError::from_status(&self.base, 401, None));
        }
        let text = |name| Some(answer.headers().get(name)?.to_str().ok()?.to_owned());
        let watched = text(WATCH_HEADER);
        Ok(text(VIEW_HEADER).map(|path| ServedSession { path, watched }))
    }

    /// Returns where the next request is sent; `None` for an interface in this process.
    fn endpoint(&self) -> Result<Option<Endpoint>, ClientError> {
        match &self.transport {
            ClientTransport::InProcess(_) => Ok(None),
            ClientTransport::Network(target) => target.endpoint(&self.base).map(Some),
        }
    }

    /// Returns the server's address.
    pub fn url(&self) -> &str {
        &self.base
    }

    /// Checks that the server answers, and returns what it offers.
    ///
    /// # Errors
    /// If it cannot be reached, or refuses.
    pub fn health(&self) -> Result<Health, ClientError> {
        self.get("/api/health", &[], Duration::ZERO)
    }

    /// Returns the current state of the run.
    ///
    /// # Errors
    /// If the server cannot be reached, refuses, or has no live data.
    pub fn overview(&self) -> Result<OverviewAnswer, ClientError> {
        self.get("/api/overview", &[], Duration::ZERO)
    }

    /// Returns some ranks with their histories and metrics, as an overview without functions and counters.
    ///
    /// # Errors
    /// As [`overview`](Self::overview).
    pub fn overview_of(&self, ranks: RankRange) -> Result<OverviewAnswer, ClientError> {
        let parameters = [
            ("program", ranks.app.to_string()),
            ("first_rank", ranks.first_rank.to_string()),
            ("last_rank", ranks.last_rank.to_string()),
        ];
        self.get("/api/overview", &parameters, Duration::ZERO)
    }

    /// Returns the packets after `version`. If none is available, waits for one up to `wait`, at most a minute.
    ///
    /// # Errors
    /// [`ClientError::FellBehind`] if the server no longer has them; go on with [`overview`](Self::overview). Otherwise
    /// as `overview`.
    pub fn packets(&self, version: u64, wait: Duration) -> Result<PacketsAnswer, ClientError> {
        let wait = wait.min(MAX_WAIT);
        let parameters = [
            ("after", version.to_string()),
            ("wait_ms", wait.as_millis().to_string()),
        ];
        self.get("/api/packets", &parameters, wait)
    }

    /// Sends a packet to a server that accepts packets, and returns its number there.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn post(&self, packet: &Packet) -> Result<u64, ClientError> {
        let posted: Posted = self.send("/api/anomalydata", packet)?;
        Ok(posted.version)
    }

    fn send<T: DeserializeOwned>(
        &self,
        path: &str,
        content: &impl Serialize,
    ) -> Result<T, ClientError> {
        match &self.transport {
            ClientTransport::Network(target) => {
                let endpoint = target.endpoint(&self.base)?;
                let request = endpoint.agent.post(format!("{}{path}", endpoint.base));
                self.read(endpoint.authorized(request).send_json(content))
            }
            ClientTransport::InProcess(api) => {
                let json =
                    serde_json::to_vec(content).map_err(|error| self.invalid_answer(&error))?;
                self.ask_in_process(api, Method::POST, path, json)
            }
        }
    }

    /// Returns documents of the provenance database, at most [`MAX_LIMIT`](crate::api::MAX_LIMIT) at once.
    ///
    /// # Errors
    /// If the server cannot be reached, has no database, or cannot parse the filter or the order.
    pub fn documents(&self, request: &DocumentsRequest) -> Result<Vec<Value>, ClientError> {
        let order = if request.is_descending { "desc" } else { "asc" };
        let mut parameters = vec![
            ("order", order.to_owned()),
            ("limit", request.limit.to_string()),
            ("offset", request.offset.to_string()),
        ];
        parameters.extend(request.filter.clone().map(|filter| ("filter", filter)));
        parameters.extend(request.sort.clone().map(|sort| ("sort", sort)));
        let path = format!("/api/documents/{}", request.collection);
        self.get(&path, &parameters, Duration::ZERO)
    }

    /// Returns the number of documents that match a filter; `None` counts all documents.
    ///
    /// # Errors
    /// As [`documents`](Self::documents).
    pub fn count(&self, collection: Collection, filter: Option<&str>) -> Result<u64, ClientError> {
        let parameters: Vec<_> = filter
            .map(|filter| ("filter", filter.to_owned()))
            .into_iter()
            .collect();
        let counted: Counted = self.get(
            &format!("/api/count/{collection}"),
            &parameters,
            Duration::ZERO,
        )?;
        Ok(counted.count)
    }

    fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&str, String)],
        wait: Duration,
    ) -> Result<T, ClientError> {
        let target = match &self.transport {
            ClientTransport::Network(target) => target,
            ClientTransport::InProcess(api) => {
                let parameters = serde_urlencoded::to_string(parameters);
                let parameters = parameters.map_err(|error| self.invalid_answer(&error))?;
                let path = format!("{path}?{parameters}");
                return self.ask_in_process(api, Method::GET, &path, Vec::new());
            }
        };
        let endpoint = target.endpoint(&self.base)?;
        let request = endpoint.agent.get(format!("{}{path}", endpoint.base));
        let mut request = endpoint.authorized(request);
        for (name, value) in parameters {
            request = request.query(name, value);
        }
        let request = request
            .config()
            .timeout_global(Some(REQUEST_TIMEOUT + wait))
            .build();
        self.read(request.call())
    }

    fn ask_in_process<T: DeserializeOwned>(
        &self,
        api: &InProcessApi,
        method: Method,
        path: &str,
        json: Vec<u8>,
    ) -> Result<T, ClientError> {
        let answer = api.ask(method, path, json, MAX_ANSWER_BYTES as usize);
        let (status, body) = answer.map_err(|cause| self.invalid_answer(&cause))?;
        if status == 200 {
            return serde_json::from_slice(&body).map_err(|error| self.invalid_answer(&error));
        }
        let refusal: Option<Refusal> = serde_json::from_slice(&body).ok();
        let refusal = refusal.map(|refusal| refusal.error);
        Err(ClientError::from_status(&self.base, status, refusal))
    }

    fn invalid_answer(&self, cause: &impl ToString) -> ClientError {
        ClientError::Answer {
            cause: cause.to_string(),
            url: self.base.clone(),
        }
    }

    fn read<T: DeserializeOwned>(
        &self,
        answer: Result<Response<Body>, ureq::Error>,
    ) -> Result<T, ClientError> {
        let mut answer = answer.map_err(|error| ClientError::from_transport(&self.base, error))?;
        let status = answer.status().as_u16();
        if status == 200 {
            let body = answer.body_mut().with_config().limit(MAX_ANSWER_BYTES);
            return body
                .read_json()
                .map_err(|error| ClientError::from_body(&self.base, error));
        }
        let body = answer
            .body_mut()
            .with_config()
            .limit(MAX_REFUSAL_BYTES)
            .reader();
        let refusal: Option<Refusal> = serde_json::from_reader(body.take(MAX_REFUSAL_BYTES)).ok();
        Err(ClientError::from_status(
            &self.base,
            status,
            refusal.map(|refusal| refusal.error),
        ))
    }
}

/// Returns scheme, host and port of a URL.
fn base(url: &str) -> Result<Uri, ClientError> {
    let invalid = |cause: &str| ClientError::Url {
        cause: cause.to_owned(),
        url: url.to_owned(),
    };
    let uri: Uri = url
        .parse()
        .map_err(|error: ureq::http::uri::InvalidUri| invalid(&error.to_string()))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(invalid("the scheme is missing"));
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(invalid("it has a path"));
    }
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err(invalid("it has a user name"));
    }
    Ok(uri)
}

fn is_this_machine(uri: &Uri) -> bool {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        Client::new(url, &ClientOptions::default())
            .err()
            .expect(url)
            .to_string()
    }

    #[test]
    fn invalid_urls_are_rejected_with_an_example() {
        for url in [
            "127.0.0.1:7880",
            "ftp://host:1",
            "",
            "http://host:1/page",
            "http://me@host:1",
            "http://",
        ] {
            assert!(
                refusal(url).contains("http://127.0.0.1:7880"),
                "{}",
                refusal(url)
            );
        }
    }

    #[test]
    fn a_file_without_certificates_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        let options = ClientOptions {
            credential: None,
            ca_file: Some(path.clone()),
        };
        let made = || {
            Client::new("https://localhost:1", &options)
                .err()
                .expect("rejected")
                .to_string()
        };
        assert!(made().contains("ca.pem"), "{}", made());
        std::fs::write(&path, "nothing").unwrap();
        assert!(made().contains("no certificate"), "{}", made());
    }
}
