//! A gRPC channel for synchronous callers.

use std::io;
use std::path::Path;
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tonic::codegen::http::Uri;
use tonic::codegen::http::uri::Authority;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tower::service_fn;

use crate::bearer::Bearer;
use crate::credential::{Credential, is_encrypted};
use crate::listener_owner::ListenerOwner;
use crate::pinned_server::PinnedServer;

/// Time between keep-alive pings.
const PING: Duration = Duration::from_secs(10);
/// The URL in requests to a server that is known by its certificate, and whose address file need not exist yet. The
/// connection is encrypted below it.
const PINNED: &str = "http://pinned.invalid";

/// The channel of a client, which adds the token to each request.
pub type GrpcChannel = InterceptedService<Channel, Bearer>;

/// The address of a server, and what a client needs to connect to it.
#[derive(Clone, Copy, Debug)]
pub struct GrpcTarget<'a> {
    /// `host:port`, `http://host:port`, `https://host:port`, the same with `#` and the fingerprint of the certificate, or
    /// the path of an address file.
    pub address: &'a str,
    /// The token to send, if any. To the server of an address file, the token of the file is sent.
    pub credential: Option<&'a Credential>,
    /// PEM file of the certificate that signed the server's certificate; required for `https`.
    pub ca_file: Option<&'a Path>,
    /// The most time that one attempt to connect may take.
    pub connect_timeout: Duration,
    /// The time without an answer to a ping after which the connection is closed.
    pub ping_timeout: Duration,
}

impl GrpcTarget<'_> {
    /// Returns a channel and the runtime that drives it, which has one thread called `thread_name`. The channel
    /// connects on first use, and again after the connection is lost.
    ///
    /// # Errors
    /// As text, if the address, the certificate or the token is invalid, or the thread cannot be started.
    pub fn channel(&self, thread_name: &str) -> Result<(Runtime, GrpcChannel), String> {
        let pinned = PinnedServer::named(self.address, self.credential)?;
        let endpoint = match &pinned {
            Some(_) => self.with_timeouts(Endpoint::from_static(PINNED)),
            None => self.endpoint()?,
        };
        let url = endpoint.uri().clone();
        let bearer = match &pinned {
            Some(server) => Bearer::pinned(server.clone()),
            None => Bearer::new(self.credential.cloned(), url.clone())?,
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(thread_name)
            .enable_all()
            .build()
            .map_err(|error| error.to_string())?;
        // Building the channel spawns a task, so it must happen inside the runtime.
        let in_runtime = runtime.enter();
        let timeout = self.connect_timeout;
        let channel = match (pinned, self.credential.cloned()) {
            (Some(server), _) => {
                let connect = move |_| server.clone().connect(timeout);
                endpoint.connect_with_connector_lazy(service_fn(connect))
            }
            (None, Some(credential)) if !is_encrypted(&url) => {
                let connect = move |url: Uri| connect_if_trusted(url, credential.clone(), timeout);
                endpoint.connect_with_connector_lazy(service_fn(connect))
            }
            _ => endpoint.connect_lazy(),
        };
        drop(in_runtime);
        Ok((runtime, InterceptedService::new(channel, bearer)))
    }

    fn with_timeouts(&self, endpoint: Endpoint) -> Endpoint {
        endpoint
            .connect_timeout(self.connect_timeout)
            .http2_keep_alive_interval(PING)
            .keep_alive_timeout(self.ping_timeout)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true)
    }

    fn endpoint(&self) -> Result<Endpoint, String> {
        let url = if self.address.contains("://") {
            self.address.to_owned()
        } else {
            format!("http://{}", self.address)
        };
        let is_https = url.starts_with("https://");
        let invalid_address = |error: tonic::transport::Error| {
            format!(
                "{error}: {} is not a server address; write host:port, https://host:port or the path of an address file",
                self.address
            )
        };
        let endpoint = Endpoint::from_shared(url)
            .map(|endpoint| self.with_timeouts(endpoint))
            .map_err(invalid_address)?;
        let trusted = match (self.ca_file, is_https) {
            (None, false) => return Ok(endpoint),
            (None, true) => {
                return Err(
                    "https needs the certificate that signed the server's certificate (--ca-file)"
                        .to_owned(),
                );
            }
            (Some(_), false) => {
                return Err(
                    "a certificate has no use without https: write https:// before the address"
                        .to_owned(),
                );
            }
            (Some(file), true) => std::fs::read(file).map_err(|error| {
                format!("{error}: could not read the certificate {}", file.display())
            })?,
        };
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(trusted));
        endpoint.tls_config(tls).map_err(|error| error.to_string())
    }
}

/// Connects to a server, unless it belongs to another user of this machine. The owner is looked up once the connection
/// is open, so that no other server can take the port in between.
async fn connect_if_trusted(
    url: Uri,
    credential: Credential,
    timeout: Duration,
) -> io::Result<TokioIo<TcpStream>> {
    let address = url.authority().map(Authority::as_str).unwrap_or_default();
    let connecting = tokio::time::timeout(timeout, TcpStream::connect(address));
    let stream = connecting.await??;
    stream.set_nodelay(true)?;
    let owner = credential.owner_of_server(stream.local_addr()?, stream.peer_addr()?);
    match owner.map_err(io::Error::other)? {
        ListenerOwner::Trusted | ListenerOwner::Unknown | ListenerOwner::OtherMachine => {
            Ok(TokioIo::new(stream))
        }
        ListenerOwner::Absent => Err(io::Error::other(format!(
            "the server at {address} ended during the connection attempt"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(address: &str, token: Option<&str>, ca_file: Option<&Path>) -> String {
        let credential = token.map(Credential::explicit);
        let target = GrpcTarget {
            address,
            credential: credential.as_ref(),
            ca_file,
            connect_timeout: Duration::from_secs(1),
            ping_timeout: Duration::from_secs(1),
        };
        target.channel("test").expect_err(address)
    }

    #[test]
    fn errors_of_invalid_settings_name_the_remedy() {
        let missing = Some(Path::new("no/ca.pem"));
        assert!(refusal("a b", None, None).contains("host:port"));
        assert!(refusal("https://host:1", None, None).contains("--ca-file"));
        assert!(refusal("host:1", None, missing).contains("https://"));
        assert!(refusal("https://host:1", None, missing).contains("no/ca.pem"));
        assert!(refusal("host:1", Some("li\nne"), None).contains("token"));
    }
}
