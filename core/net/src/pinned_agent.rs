//! Requests over HTTP to the server that has one certificate.
//!
//! The TLS of ureq trusts authorities only, so its connections are encrypted here, through its interface for other
//! transports.

use std::fmt;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, StreamOwned};
use ureq::config::Config;
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, TcpConnector, Transport,
    TransportAdapter,
};
use ureq::{Agent, Error};

use crate::fingerprint::{Fingerprint, pinned_config};

/// Returns an agent that accepts one certificate and no other, and sends nothing without encryption. It uses no proxy,
/// since a proxy need not know the names of a cluster's nodes.
///
/// # Errors
/// As text, if there is no TLS.
pub fn pinned_agent(config: Config, fingerprint: Fingerprint) -> Result<Agent, String> {
    let tls = Arc::new(pinned_config(fingerprint, &["http/1.1"])?);
    let connector = ().chain(TcpConnector::default()).chain(PinnedConnector { tls });
    Ok(Agent::with_parts(
        config,
        connector,
        DefaultResolver::default(),
    ))
}

/// Encrypts connections.
#[derive(Debug)]
struct PinnedConnector {
    tls: Arc<ClientConfig>,
}

impl<In: Transport> Connector<In> for PinnedConnector {
    type Out = PinnedTransport;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let host = details.uri.host().unwrap_or_default();
        if !details.needs_tls() {
            return Err(Error::RequireHttpsOnly(details.uri.to_string()));
        }
        let Some(stream) = chained else {
            return Ok(None);
        };
        // IPv6 addresses are in brackets.
        let host = host.trim_matches(['[', ']']).to_owned();
        let name = ServerName::try_from(host).map_err(|error| Error::BadUri(error.to_string()))?;
        let mut client = ClientConnection::new(Arc::clone(&self.tls), name)?;
        let clock = Arc::clone(&details.current_time);
        let mut socket = TransportAdapter::new(Box::new(stream) as Box<dyn Transport>, clock);
        socket.set_timeout(details.timeout);
        client.complete_io(&mut socket)?;
        let (input, output) = (
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(PinnedTransport {
            buffers: LazyBuffers::new(input, output),
            stream: StreamOwned::new(client, socket),
        }))
    }
}

/// An encrypted connection.
struct PinnedTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl Transport for PinnedTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.get_mut().set_timeout(timeout);
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        Ok(self.stream.write_all(output)?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.get_mut().set_timeout(timeout);
        let num_read = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(num_read);
        Ok(num_read > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

impl fmt::Debug for PinnedTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PinnedTransport").finish_non_exhaustive()
    }
}
