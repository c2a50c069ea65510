//! A server that is known by its address file.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tonic::codegen::http::uri::Authority;

use crate::address_file::{AddressFile, ServerAnnouncement};
use crate::fingerprint::{has_other_certificate, pinned_config};

/// The protocol of gRPC, by its name in TLS.
const HTTP_2: &str = "h2";

/// A server that is known by its address file. The file is read again for each connection, since a server that starts
/// again has another port and another certificate. Clones share what was read.
#[derive(Clone, Debug)]
pub struct AnnouncedServer {
    file: AddressFile,
    /// Another user whose files are accepted.
    trusted: Option<u32>,
    last: Arc<Mutex<Option<ServerAnnouncement>>>,
}

impl AnnouncedServer {
    /// Returns the server of a file, which need not exist yet. `trusted` is another user whose files are accepted.
    pub fn new(file: AddressFile, trusted: Option<u32>) -> Self {
        Self {
            file,
            trusted,
            last: Arc::default(),
        }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// As [`AddressFile::read`].
    pub fn read(&self) -> io::Result<ServerAnnouncement> {
        let announcement = self.file.read(self.trusted)?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(announcement.clone());
        Ok(announcement)
    }

    /// Returns the token of the last connection, or that of the file before the first one.
    pub(crate) fn token(&self) -> io::Result<String> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let token = last.as_ref().map(|it| it.token.clone());
        drop(last);
        token.map_or_else(|| Ok(self.read()?.token), Ok)
    }

    /// Connects to the server that the file announces now, over TLS. A server with another certificate is refused.
    pub(crate) async fn connect(
        self,
        within: Duration,
    ) -> io::Result<TokioIo<TlsStream<TcpStream>>> {
        let file = self.file.path().display().to_string();
        // A network file system may not answer.
        let announcement = spawn_blocking(move || self.read());
        let announcement = announcement.await.map_err(io::Error::other)??;
        let authority = announcement.url.authority();
        let address = authority.map(Authority::as_str).unwrap_or_default();
        let failed = |cause: &dyn std::fmt::Display| {
            io::Error::other(format!("{cause}: {address}, announced in {file}"))
        };
        let config = pinned_config(announcement.fingerprint, &[HTTP_2]);
        let config = config.map_err(|cause| failed(&cause))?;
        let host = announcement.url.host().unwrap_or_default();
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|error| failed(&error))?;
        let connect = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            TlsConnector::from(Arc::new(config))
                .connect(name, stream)
                .await
        };
        match timeout(within, connect).await {
            Ok(Ok(stream)) => Ok(TokioIo::new(stream)),
            Ok(Err(error)) if is_of_other_server(&error) => Err(failed(
                &"the server has another certificate than the announced one, so it gets neither token nor data",
            )),
            Ok(Err(error)) => Err(failed(&error)),
            Err(_) => Err(failed(&"no connection in time")),
        }
    }
}

fn is_of_other_server(error: &io::Error) -> bool {
    let of_tls = error.get_ref().and_then(|it| it.downcast_ref());
    of_tls.is_some_and(has_other_certificate)
}
