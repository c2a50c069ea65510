//! A server that is known by its certificate: from its address file, or from a URL with the fingerprint.

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
use tonic::codegen::http::Uri;
use tonic::codegen::http::uri::Authority;

use crate::address_file::AddressFile;
use crate::credential::{Credential, is_encrypted};
use crate::fingerprint::{Fingerprint, has_other_certificate, pinned_config};

/// The protocol of gRPC, by its name in TLS.
const HTTP_2: &str = "h2";

/// A server that is known by its certificate. An address file is read again for each connection, since a server that
/// starts again has another port and another certificate. Clones share what was read.
#[derive(Clone, Debug)]
pub struct PinnedServer {
    origin: Origin,
    /// As the user named it.
    named: Arc<str>,
    last: Arc<Mutex<Option<PinnedAddress>>>,
}

#[derive(Clone, Debug)]
enum Origin {
    File {
        file: AddressFile,
        /// Another user whose files are accepted.
        trusted: Option<u32>,
    },
    /// `https://host:port#sha256:…`
    Url {
        url: Uri,
        fingerprint: Fingerprint,
        credential: Option<Credential>,
    },
}

/// Where a server is, how to recognize it, and the token for it.
#[derive(Clone, PartialEq, Eq)]
pub struct PinnedAddress {
    /// `https://host:port`.
    pub url: Uri,
    /// The fingerprint of its certificate.
    pub fingerprint: Fingerprint,
    /// The token that the client sends, if it has one.
    pub token: Option<String>,
}

impl std::fmt::Debug for PinnedAddress {
    /// Omits the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PinnedAddress")
            .field("url", &self.url)
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

impl PinnedServer {
    /// Returns the server that a command line names by an address file, which need not exist yet, or by a URL with a
    /// fingerprint; `None` if it names something else. The token of an address file is used instead of that of
    /// `credential`.
    ///
    /// # Errors
    /// As text, if the fingerprint is invalid.
    pub fn named(named: &str, credential: Option<&Credential>) -> Result<Option<Self>, String> {
        let origin = if let Some(file) = AddressFile::named(named) {
            let trusted = credential.and_then(Credential::server_user);
            Origin::File { file, trusted }
        } else if let Some((url, fingerprint)) = named.split_once('#') {
            let fingerprint = fingerprint.parse()?;
            let parsed: Uri = url.parse().map_err(|error| format!("{error}: {url}"))?;
            if !is_encrypted(&parsed) || parsed.port().is_none() || parsed.path() != "/" {
                return Err(format!(
                    "{url} is not https://host:port, which a fingerprint needs before it"
                ));
            }
            Origin::Url {
                url: parsed,
                fingerprint,
                credential: credential.cloned(),
            }
        } else {
            return Ok(None);
        };
        Ok(Some(Self {
            origin,
            named: named.into(),
            last: Arc::default(),
        }))
    }

    /// Returns the present address of the server.
    ///
    /// # Errors
    /// As [`AddressFile::read`].
    pub fn read(&self) -> io::Result<PinnedAddress> {
        let address = match &self.origin {
            Origin::File { file, trusted } => {
                let announcement = file.read(*trusted)?;
                PinnedAddress {
                    url: announcement.url,
                    fingerprint: announcement.fingerprint,
                    token: Some(announcement.token),
                }
            }
            Origin::Url {
                url,
                fingerprint,
                credential,
            } => {
                let token = credential.as_ref().map(|it| it.for_server(url));
                let token = token.transpose().map_err(io::Error::other)?.flatten();
                PinnedAddress {
                    url: url.clone(),
                    fingerprint: *fingerprint,
                    token: token.map(str::to_owned),
                }
            }
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(address.clone());
        Ok(address)
    }

    /// Returns the token of the last connection, or the present one before the first connection.
    pub(crate) fn token(&self) -> io::Result<Option<String>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let token = last.as_ref().and_then(|it| it.token.clone());
        drop(last);
        token.map_or_else(|| Ok(self.read()?.token), |token| Ok(Some(token)))
    }

    /// Connects to the server at its present address, over TLS. A server with another certificate is refused.
    pub(crate) async fn connect(
        self,
        within: Duration,
    ) -> io::Result<TokioIo<TlsStream<TcpStream>>> {
        let named = Arc::clone(&self.named);
        // A network file system may not answer.
        let pinned = spawn_blocking(move || self.read());
        let pinned = pinned.await.map_err(io::Error::other)??;
        let authority = pinned.url.authority();
        let address = authority.map(Authority::as_str).unwrap_or_default();
        let failed = |cause: &dyn std::fmt::Display| {
            io::Error::other(format!("{cause}: {address}, named by {named}"))
        };
        let config = pinned_config(pinned.fingerprint, &[HTTP_2]);
        let config = config.map_err(|cause| failed(&cause))?;
        let host = pinned.url.host().unwrap_or_default();
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
                &"the server has another certificate than the one named, so it gets neither token nor data",
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

#[cfg(test)]
mod tests {
    use super::*;

    fn url_with(fingerprint: &str) -> String {
        format!("https://node7:5559#{fingerprint}")
    }

    #[test]
    fn a_url_with_a_fingerprint_names_one_certificate() {
        let fingerprint = Fingerprint::of_certificate(b"a certificate");
        let named = url_with(&fingerprint.to_string());
        let credential = Credential::explicit("secret-of-the-site");
        let server = PinnedServer::named(&named, Some(&credential)).unwrap();
        let address = server.unwrap().read().unwrap();
        assert_eq!(address.fingerprint, fingerprint);
        assert_eq!(address.url, Uri::from_static("https://node7:5559"));
        assert_eq!(address.token.as_deref(), Some("secret-of-the-site"));
        assert!(!format!("{address:?}").contains("secret-of-the-site"));
        let without = PinnedServer::named(&named, None).unwrap().unwrap();
        assert_eq!(without.read().unwrap().token, None);
        for (wrong, fault) in [
            (url_with("sha256:12"), "fingerprint"),
            (url_with(""), "fingerprint"),
            (named.replace("https", "http"), "https://host:port"),
            (named.replace(":5559", ""), "https://host:port"),
            (named.replace(":5559", ":5559/page"), "https://host:port"),
        ] {
            let refused = PinnedServer::named(&wrong, None).unwrap_err();
            assert!(refused.contains(fault), "{wrong}: {refused}");
        }
        for other in ["https://node7:5559", "found", "node7:5559"] {
            assert!(PinnedServer::named(other, None).unwrap().is_none());
        }
    }
}
