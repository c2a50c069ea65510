//! The JSON interface from the other side: blocking, for a thread of its own.

mod error;
mod far_line;
mod far_session;
mod tree_models;
mod within;

use std::io::Read as _;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callgrove_net::{Credential, certificates};
use callgrove_provdb::Collection;
use callgrove_pserver::overview::Overview;
use callgrove_pserver::packet::Packet;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use ureq::http::{Method, Response, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Body};

pub use error::ClientError;
pub use far_session::FarSession;
use within::Within;

use crate::api::{Api, Health, MAX_WAIT, router};
use crate::view::{VIEW_HEADER, WATCH_HEADER};

/// To reach a server; a machine that is there answers sooner.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For a whole request, beside the time that the server was asked to wait.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// A connection that idled for longer is not used again: the server closes it after
/// [`Limits::header_timeout`](crate::Limits::header_timeout).
const MAX_IDLE_AGE: Duration = Duration::from_secs(10);
/// The largest answer that is read.
const MAX_ANSWER_BYTES: u64 = 512 << 20;
/// The largest refusal that is read; it is one sentence.
const MAX_REFUSAL_BYTES: u64 = 64 << 10;

/// How to get in.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// What the server is shown.
    pub credential: Option<Credential>,
    /// PEM file of the certificates to trust, instead of the public authorities.
    pub ca_file: Option<PathBuf>,
}

/// A server to ask. Clones share their connections.
#[derive(Clone)]
pub struct Client {
    line: Line,
    base: String,
}

/// How requests reach the server.
#[derive(Clone)]
enum Line {
    Network {
        agent: Agent,
        credential: Option<Credential>,
        /// Authorities that are trusted instead of the public ones.
        trusted: Option<Arc<Vec<Certificate<'static>>>>,
    },
    Within(Arc<Within>),
}

/// Answer of [`Client::overview`].
#[derive(Debug, Deserialize)]
pub struct OverviewAnswer {
    /// Number of the newest packet in the overview.
    pub version: u64,
    /// Whether the run is over.
    pub ended: bool,
    /// What all packets so far say.
    pub overview: Overview,
}

/// Answer of [`Client::packets`].
#[derive(Debug, Deserialize)]
pub struct PacketsAnswer {
    /// Number of the last packet: what to ask for next.
    pub version: u64,
    /// Whether the run is over and these are its last packets.
    pub ended: bool,
    /// In order; empty if none came in time.
    pub packets: Vec<Packet>,
}

/// Documents to ask for.
#[derive(Clone, Debug)]
pub struct DocumentsRequest {
    /// From where.
    pub collection: Collection,
    /// Condition in the language of the provenance database; all documents without one.
    pub filter: Option<String>,
    /// Field to sort by; in the order of `__id` without one.
    pub sort: Option<String>,
    /// Whether the largest comes first.
    pub is_descending: bool,
    /// How many, at most [`MAX_LIMIT`](crate::api::MAX_LIMIT).
    pub limit: u64,
    /// How many to leave out first.
    pub offset: u64,
}

/// A session that a server has for pages and windows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServedSession {
    /// Where it is on the server.
    pub path: String,
    /// What stands for the run that it watches, if it watches one.
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
    /// A client of the server at `url`, such as `http://127.0.0.1:7880`. Nothing is sent yet.
    ///
    /// # Errors
    /// If the URL is none, or the file of certificates is unfit.
    pub fn new(url: &str, options: &ClientOptions) -> Result<Self, ClientError> {
        let uri = base(url)?;
        let (mut tls, mut trusted) = (TlsConfig::builder(), None);
        if let Some(path) = &options.ca_file {
            let certificates = certificates(path).map_err(|cause| ClientError::CaFile {
                cause,
                path: path.clone(),
            })?;
            let certificates = Arc::new(certificates);
            tls = tls.root_certs(RootCerts::Specific(Arc::clone(&certificates)));
            trusted = Some(certificates);
        }
        let mut config = Agent::config_builder()
            .tls_config(tls.build())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_idle_age(MAX_IDLE_AGE)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(REQUEST_TIMEOUT));
        if is_this_machine(&uri) {
            // The proxy of a site cannot see this machine's loopback.
            config = config.proxy(None);
        }
        let base = uri.to_string().trim_end_matches('/').to_owned();
        Ok(Self {
            line: Line::Network {
                agent: config.build().into(),
                credential: options.credential.clone(),
                trusted,
            },
            base,
        })
    }

    /// A client of an interface that this program has itself; `name` stands for its address.
    ///
    /// # Errors
    /// If the system gives nothing to wait with.
    pub fn within(name: &str, api: Api) -> std::io::Result<Self> {
        Ok(Self {
            line: Line::Within(Arc::new(Within::new(router(api))?)),
            base: name.to_owned(),
        })
    }

    /// The session that the server has for pages and windows, if it has one.
    ///
    /// # Errors
    /// The server cannot be asked, or refuses.
    pub fn session(&self) -> Result<Option<ServedSession>, ClientError> {
        let Line::Network { agent, .. } = &self.line else {
            return Ok(None);
        };
        let mut request = agent.head(format!("{}/", self.base));
        if let Some(bearer) = self.bearer()? {
            request = request.header("authorization", bearer);
        }
        let answer = request.call();
        let answer = answer.map_err(|error| ClientError::from_transport(&self.base, error))?;
        if answer.status().as_u16() == 401 {
            return Err(ClientError::from_status(&self.base, 401, None));
        }
        let text = |name| Some(answer.headers().get(name)?.to_str().ok()?.to_owned());
        let watched = text(WATCH_HEADER);
        Ok(text(VIEW_HEADER).map(|path| ServedSession { path, watched }))
    }

    /// The header that shows the token, if the server is shown one.
    fn bearer(&self) -> Result<Option<String>, ClientError> {
        let Line::Network {
            credential: Some(credential),
            ..
        } = &self.line
        else {
            return Ok(None);
        };
        let token = credential.for_server(&base(&self.base)?);
        let token = token.map_err(|cause| ClientError::OtherUser { cause })?;
        Ok(token.map(|token| format!("Bearer {token}")))
    }

    /// Certificates of authorities that are trusted instead of the public ones.
    fn trusted(&self) -> Option<&[Certificate<'static>]> {
        match &self.line {
            Line::Network { trusted, .. } => trusted.as_ref().map(|it| it.as_slice()),
            Line::Within(_) => None,
        }
    }

    /// The server's address.
    pub fn url(&self) -> &str {
        &self.base
    }

    /// Whether the server is there, and what it offers.
    ///
    /// # Errors
    /// If it cannot be reached or refuses.
    pub fn health(&self) -> Result<Health, ClientError> {
        self.get("/api/health", &[], Duration::ZERO)
    }

    /// The state of the run now.
    ///
    /// # Errors
    /// If the server cannot be reached, refuses, or has no live data.
    pub fn overview(&self) -> Result<OverviewAnswer, ClientError> {
        self.get("/api/overview", &[], Duration::ZERO)
    }

    /// The packets after `version`; if there are none, waits up to `wait` (at most a minute) for one.
    ///
    /// # Errors
    /// [`ClientError::FellBehind`] if the server has them no more: go on with [`overview`](Self::overview). Others as
    /// there.
    pub fn packets(&self, version: u64, wait: Duration) -> Result<PacketsAnswer, ClientError> {
        let wait = wait.min(MAX_WAIT);
        let parameters = [
            ("after", version.to_string()),
            ("wait_ms", wait.as_millis().to_string()),
        ];
        self.get("/api/packets", &parameters, wait)
    }

    /// Sends a packet to a server that takes them, and returns its number there.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses.
    pub fn post(&self, packet: &Packet) -> Result<u64, ClientError> {
        let posted: Posted = self.send("/api/anomalydata", packet)?;
        Ok(posted.version)
    }

    fn send<T: DeserializeOwned>(
        &self,
        path: &str,
        content: &impl Serialize,
    ) -> Result<T, ClientError> {
        match &self.line {
            Line::Network { agent, .. } => {
                let mut request = agent.post(format!("{}{path}", self.base));
                if let Some(bearer) = self.bearer()? {
                    request = request.header("authorization", bearer);
                }
                self.read(request.send_json(content))
            }
            Line::Within(within) => {
                let json = serde_json::to_vec(content).map_err(|error| self.unfit(&error))?;
                self.ask_within(within, Method::POST, path, json)
            }
        }
    }

    /// Documents of the provenance database.
    ///
    /// # Errors
    /// If the server cannot be reached, has no database, or does not understand filter or order.
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

    /// How many documents match a filter; all without one.
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
        let agent = match &self.line {
            Line::Network { agent, .. } => agent,
            Line::Within(within) => {
                let parameters = serde_urlencoded::to_string(parameters);
                let parameters = parameters.map_err(|error| self.unfit(&error))?;
                let path = format!("{path}?{parameters}");
                return self.ask_within(within, Method::GET, &path, Vec::new());
            }
        };
        let mut request = agent.get(format!("{}{path}", self.base));
        for (name, value) in parameters {
            request = request.query(name, value);
        }
        if let Some(bearer) = self.bearer()? {
            request = request.header("authorization", bearer);
        }
        let request = request
            .config()
            .timeout_global(Some(REQUEST_TIMEOUT + wait))
            .build();
        self.read(request.call())
    }

    fn ask_within<T: DeserializeOwned>(
        &self,
        within: &Within,
        method: Method,
        path: &str,
        json: Vec<u8>,
    ) -> Result<T, ClientError> {
        let answer = within.ask(method, path, json, MAX_ANSWER_BYTES as usize);
        let (status, body) = answer.map_err(|cause| self.unfit(&cause))?;
        if status == 200 {
            return serde_json::from_slice(&body).map_err(|error| self.unfit(&error));
        }
        let refusal: Option<Refusal> = serde_json::from_slice(&body).ok();
        let refusal = refusal.map(|refusal| refusal.error);
        Err(ClientError::from_status(&self.base, status, refusal))
    }

    fn unfit(&self, cause: &impl ToString) -> ClientError {
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

/// Scheme, host and port of a URL.
fn base(url: &str) -> Result<Uri, ClientError> {
    let unfit = |cause: &str| ClientError::Url {
        cause: cause.to_owned(),
        url: url.to_owned(),
    };
    let uri: Uri = url
        .parse()
        .map_err(|error: ureq::http::uri::InvalidUri| unfit(&error.to_string()))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(unfit("the scheme is missing"));
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(unfit("it has a path"));
    }
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err(unfit("it has a user name"));
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
    fn unfit_urls_are_refused_with_an_example() {
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
                .expect("unfit")
                .to_string()
        };
        assert!(made().contains("ca.pem"), "{}", made());
        std::fs::write(&path, "nothing").unwrap();
        assert!(made().contains("no certificate"), "{}", made());
    }
}
