//! The errors of a client, each with its cause and remedy.

use std::error::Error as _;
use std::io::ErrorKind;
use std::path::PathBuf;

use callgrove_net::has_other_certificate;
use thiserror::Error;
use tokio_rustls::rustls;

/// The reason why a request failed.
#[derive(Debug, Error)]
pub enum ClientError {
    /// The URL is not the address of a server.
    #[error("{cause}: `{url}` must be the address of a server, such as http://127.0.0.1:7880")]
    Url {
        /// The reason why it is invalid.
        cause: String,
        /// The URL as given.
        url: String,
    },
    /// The file of certificates cannot be used.
    #[error("{cause}: the certificates to trust are read from {}, which must be a PEM file", path.display())]
    CaFile {
        /// The reason.
        cause: String,
        /// The file.
        path: PathBuf,
    },
    /// No server answers at the address.
    #[error("{cause}: is the server running, and does it listen at {url}?")]
    NotReached {
        /// The system's error message.
        cause: String,
        /// The server.
        url: String,
    },
    /// The server took too long.
    #[error(
        "no answer in time ({cause}): the server at {url} or the network is overloaded; try again"
    )]
    TimedOut {
        /// The operation that timed out.
        cause: String,
        /// The server.
        url: String,
    },
    /// The certificate is not trusted, or is not for this host.
    #[error(
        "{cause}: the certificate of {url} is not trusted; pass the certificate that signed it with --ca-file, and call the \
         server by a name that is in it"
    )]
    Certificate {
        /// The error of the TLS library.
        cause: String,
        /// The server.
        url: String,
    },
    /// The certificate is another one than the named one.
    #[error(
        "the server has another certificate than the one named by {url}, so it gets neither token nor data: check that the \
         right server runs there"
    )]
    OtherCertificate {
        /// The address file, or the URL with the fingerprint.
        url: String,
    },
    /// The TLS handshake failed.
    #[error(
        "{cause}: could not establish a TLS connection to {url}; if the server has no certificate, its address begins \
         with http://"
    )]
    Tls {
        /// The message of the TLS library.
        cause: String,
        /// The server.
        url: String,
    },
    /// The connection broke, or the answer is not HTTP.
    #[error(
        "{cause}: the connection to {url} broke; if the server has a certificate, its address begins with https://"
    )]
    Broken {
        /// The reason.
        cause: String,
        /// The server.
        url: String,
    },
    /// The server belongs to another user of this machine.
    #[error("{cause}")]
    OtherUser {
        /// The owner and the remedy.
        cause: String,
    },
    /// There is no address file that can be used.
    #[error("{cause}")]
    AddressFile {
        /// The reason, the file and the remedy.
        cause: String,
    },
    /// The token is missing or wrong.
    #[error(
        "{url} rejects the token or requires one: pass the server's with --token-file, or set CALLGROVE_TOKEN (a server for which \
         none was stated has that of its user, ~/.config/callgrove/token)"
    )]
    Unauthorized {
        /// The server.
        url: String,
    },
    /// The requested packets are no longer available.
    #[error("{message} ({url})")]
    FellBehind {
        /// The server's message.
        message: String,
        /// The server.
        url: String,
    },
    /// The server refused the request.
    #[error("{message} (status {status} from {url})")]
    Refused {
        /// The server's message.
        message: String,
        /// HTTP status code.
        status: u16,
        /// The server.
        url: String,
    },
    /// The answer does not follow the interface.
    #[error(
        "{cause}: {url} does not answer as Callgrove's server of this release does; check the address and both versions"
    )]
    Answer {
        /// The reason.
        cause: String,
        /// The server.
        url: String,
    },
}

impl ClientError {
    /// Returns whether the same request may succeed later, when the server is back or less busy.
    pub fn is_worth_a_retry(&self) -> bool {
        match self {
            // A server that started again has a new certificate, and announces it at once.
            Self::NotReached { .. }
            | Self::TimedOut { .. }
            | Self::Broken { .. }
            | Self::OtherCertificate { .. } => true,
            Self::Refused { status, .. } => *status >= 500,
            _ => false,
        }
    }

    /// Converts the error of a request without an answer.
    pub(super) fn from_transport(url: &str, error: ureq::Error) -> Self {
        let url = url.to_owned();
        match error {
            ureq::Error::Timeout(waited_for) => Self::TimedOut {
                cause: waited_for.to_string(),
                url,
            },
            ureq::Error::HostNotFound => Self::NotReached {
                cause: "no host of this name is known".to_owned(),
                url,
            },
            ureq::Error::ConnectionFailed => Self::NotReached {
                cause: "the connection failed".to_owned(),
                url,
            },
            ureq::Error::Rustls(error) => Self::from_tls(url, &error),
            ureq::Error::Io(error) => {
                let inner = error
                    .get_ref()
                    .and_then(|inner| inner.downcast_ref::<rustls::Error>());
                if let Some(inner) = inner {
                    return Self::from_tls(url, inner);
                }
                let cause = error.to_string();
                match error.kind() {
                    ErrorKind::ConnectionRefused
                    | ErrorKind::HostUnreachable
                    | ErrorKind::NetworkUnreachable
                    | ErrorKind::AddrNotAvailable => Self::NotReached { cause, url },
                    ErrorKind::TimedOut => Self::TimedOut { cause, url },
                    _ => Self::Broken { cause, url },
                }
            }
            other => Self::Broken {
                cause: other.to_string(),
                url,
            },
        }
    }

    fn from_tls(url: String, error: &rustls::Error) -> Self {
        let cause = error.to_string();
        match error {
            error if has_other_certificate(error) => Self::OtherCertificate { url },
            rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented => {
                Self::Certificate { cause, url }
            }
            _ => Self::Tls { cause, url },
        }
    }

    /// Converts the error of an answer that could not be read.
    pub(super) fn from_body(url: &str, error: ureq::Error) -> Self {
        match error {
            ureq::Error::Json(error) if !error.is_io() => Self::Answer {
                cause: error.to_string(),
                url: url.to_owned(),
            },
            // Reading happens inside the parser, so the I/O error is the source of the parse error.
            ureq::Error::Json(error) => {
                let cause = error
                    .source()
                    .map_or_else(|| error.to_string(), ToString::to_string);
                Self::Broken {
                    cause,
                    url: url.to_owned(),
                }
            }
            ureq::Error::BodyExceedsLimit(bytes) => {
                let cause = format!("the answer is larger than {bytes} bytes");
                Self::Answer {
                    cause,
                    url: url.to_owned(),
                }
            }
            other => Self::from_transport(url, other),
        }
    }

    /// Converts a status other than 200; `message` is the error text, if the answer has one.
    pub(super) fn from_status(url: &str, status: u16, message: Option<String>) -> Self {
        let url = url.to_owned();
        match (status, message) {
            (401, _) => Self::Unauthorized { url },
            (410, Some(message)) => Self::FellBehind { message, url },
            (_, Some(message)) => Self::Refused {
                message,
                status,
                url,
            },
            (_, None) => Self::Answer {
                cause: format!("the status is {status}"),
                url,
            },
        }
    }
}
