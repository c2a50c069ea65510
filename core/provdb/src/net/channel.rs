//! The channel to a server: its address, certificate and token.

use std::time::Duration;

use tonic::metadata::errors::InvalidMetadataValue;
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Request, Status};

use super::proto::prov_db_client::ProvDbClient;
use crate::RemoteOptions;

/// How long one attempt to connect takes at most.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection that gives no sign of life for so long is broken.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The client that speaks over such a channel.
pub(super) type RemoteClient = ProvDbClient<InterceptedService<Channel, Bearer>>;

/// The server at `url`; `https` takes a certificate.
pub(super) fn endpoint(url: &str, options: &RemoteOptions) -> Result<Endpoint, String> {
    let endpoint = Endpoint::from_shared(url.to_owned())
        .map_err(|error| error.to_string())?
        .connect_timeout(CONNECT_TIMEOUT)
        .http2_keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE)
        .keep_alive_while_idle(true)
        .tcp_nodelay(true);
    let tls = match (&options.ca_file, url.starts_with("https://")) {
        (None, false) => return Ok(endpoint),
        (None, true) => {
            return Err(
                "https needs the certificate that signed the server's (--ca-file)".to_owned(),
            );
        }
        (Some(_), false) => {
            return Err("a certificate is of no use without https".to_owned());
        }
        (Some(file), true) => {
            let pem =
                std::fs::read(file).map_err(|error| format!("{error}, {}", file.display()))?;
            ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem))
        }
    };
    endpoint.tls_config(tls).map_err(|error| error.to_string())
}

/// Adds the token to each request.
#[derive(Clone)]
pub(super) struct Bearer(Option<MetadataValue<Ascii>>);

impl Bearer {
    pub(super) fn new(token: Option<&str>) -> Result<Self, String> {
        let header = token.map(|token| format!("Bearer {token}").parse());
        let header = header.transpose();
        header
            .map(Self)
            .map_err(|error: InvalidMetadataValue| format!("{error} in the token"))
    }
}

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(header) = &self.0 {
            request
                .metadata_mut()
                .insert("authorization", header.clone());
        }
        Ok(request)
    }
}
