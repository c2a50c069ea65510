//! Where a client sends its requests: to a URL, or to what an address file announces at the time.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, PoisonError};

use callgrove_net::{Credential, Fingerprint, PinnedAddress, PinnedServer, pinned_agent};
use ureq::Agent;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::tls::Certificate;

use super::error::ClientError;

/// The certificates that a client accepts.
#[derive(Clone)]
pub(super) enum Trust {
    /// Those that public authorities signed.
    Public,
    /// Those that these authorities signed.
    Authorities(Arc<Vec<Certificate<'static>>>),
    /// One certificate.
    Pinned(Fingerprint),
}

/// The server of the next request.
pub(super) struct Endpoint {
    pub(super) agent: Agent,
    /// Scheme, host and port.
    pub(super) base: String,
    /// The `authorization` header, if the server gets a token.
    pub(super) bearer: Option<String>,
    pub(super) trust: Trust,
}

impl Endpoint {
    /// Returns a request with the token.
    pub(super) fn authorized<B>(
        &self,
        request: ureq::RequestBuilder<B>,
    ) -> ureq::RequestBuilder<B> {
        match &self.bearer {
            Some(bearer) => request.header("authorization", bearer),
            None => request,
        }
    }
}

/// The server of a client.
pub(super) enum RemoteTarget {
    Url {
        uri: Uri,
        agent: Agent,
        credential: Option<Credential>,
        trust: Trust,
    },
    /// A server that is known by its certificate.
    Pinned {
        server: PinnedServer,
        config: Box<Config>,
        /// The last address, with the agent for its certificate.
        last: Mutex<Option<(PinnedAddress, Agent)>>,
    },
}

impl RemoteTarget {
    /// Returns where the next request is sent.
    ///
    /// # Errors
    /// If the server belongs to another user, or there is no address file that can be used.
    pub(super) fn endpoint(&self, named: &str) -> Result<Endpoint, ClientError> {
        match self {
            Self::Url {
                uri,
                agent,
                credential,
                trust,
            } => {
                let token = credential
                    .as_ref()
                    .map_or(Ok(None), |it| it.for_server(uri));
                let token = token.map_err(|cause| ClientError::OtherUser { cause })?;
                Ok(Endpoint {
                    agent: agent.clone(),
                    base: named.to_owned(),
                    bearer: token.map(|token| format!("Bearer {token}")),
                    trust: trust.clone(),
                })
            }
            Self::Pinned {
                server,
                config,
                last,
            } => {
                let address = server.read().map_err(|error| unread(&error, named))?;
                let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
                let agent = match &*last {
                    Some((before, agent)) if *before == address => agent.clone(),
                    _ => pinned_agent((**config).clone(), address.fingerprint)
                        .map_err(|cause| ClientError::AddressFile { cause })?,
                };
                *last = Some((address.clone(), agent.clone()));
                Ok(Endpoint {
                    agent,
                    base: address.url.to_string().trim_end_matches('/').to_owned(),
                    bearer: address.token.map(|token| format!("Bearer {token}")),
                    trust: Trust::Pinned(address.fingerprint),
                })
            }
        }
    }
}

fn unread(error: &io::Error, named: &str) -> ClientError {
    let cause = error.to_string();
    if error.kind() == ErrorKind::NotFound {
        ClientError::NotReached {
            cause,
            url: named.to_owned(),
        }
    } else {
        ClientError::AddressFile { cause }
    }
}
