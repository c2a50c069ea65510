//! A connection from a window to the session of a server: a TCP stream, encrypted if the server has a certificate.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use callgrove_net::pinned_config;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use ureq::http::Uri;

use super::endpoint::Trust;

/// The address of a server and the TLS settings for it.
pub(super) struct RemoteServer {
    /// Host and port.
    authority: String,
    encryption: Option<(ServerName<'static>, Arc<ClientConfig>)>,
}

/// A connection to a [`RemoteServer`].
pub(super) enum RemoteStream {
    Plain(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl RemoteServer {
    /// Returns the server at `url`, whose certificate must be one that is trusted.
    ///
    /// # Errors
    /// A message, if the address names no host or a certificate cannot be used.
    pub(super) fn new(url: &str, trust: &Trust) -> Result<Self, String> {
        let uri: Uri = url.parse().map_err(|error| format!("{error}"))?;
        let host = uri.host().ok_or("it names no host")?;
        let is_https = uri.scheme_str() == Some("https");
        let port = uri.port_u16().unwrap_or(if is_https { 443 } else { 80 });
        let encryption = if is_https {
            // IPv6 addresses are in brackets.
            let name = host
                .trim_start_matches('[')
                .trim_end_matches(']')
                .to_owned();
            let name = ServerName::try_from(name).map_err(|error| error.to_string())?;
            let config = tls_config(trust)?;
            Some((name, Arc::new(config)))
        } else {
            None
        };
        Ok(Self {
            authority: format!("{host}:{port}"),
            encryption,
        })
    }

    /// Host and port.
    pub(super) fn authority(&self) -> &str {
        &self.authority
    }

    /// Connects; the timeout holds for each read and write.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub(super) fn connect(&self, timeout: Duration) -> io::Result<RemoteStream> {
        let stream = TcpStream::connect(&self.authority)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        let Some((name, config)) = &self.encryption else {
            return Ok(RemoteStream::Plain(stream));
        };
        let client = ClientConnection::new(Arc::clone(config), name.clone());
        let client = client.map_err(io::Error::other)?;
        Ok(RemoteStream::Encrypted(Box::new(StreamOwned::new(
            client, stream,
        ))))
    }
}

fn tls_config(trust: &Trust) -> Result<ClientConfig, String> {
    let failed = |error: rustls::Error| error.to_string();
    let mut roots = RootCertStore::empty();
    match trust {
        Trust::Pinned(fingerprint) => return pinned_config(*fingerprint, &["http/1.1"]),
        Trust::Authorities(trusted) => {
            for certificate in trusted.iter() {
                let certificate = CertificateDer::from(certificate.der()).into_owned();
                roots.add(certificate).map_err(failed)?;
            }
        }
        Trust::Public => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

impl RemoteStream {
    /// Sets the timeout of later reads.
    ///
    /// # Errors
    /// If the system rejects the timeout.
    pub(super) fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Encrypted(stream) => stream.get_ref(),
        };
        stream.set_read_timeout(Some(timeout))
    }
}

impl Read for RemoteStream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(bytes),
            Self::Encrypted(stream) => stream.read(bytes),
        }
    }
}

impl Write for RemoteStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Encrypted(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Encrypted(stream) => stream.flush(),
        }
    }
}
