//! The errors of a server. Their texts include the causes, so causes are not sources: those would be printed again.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use callgrove_access::TokenError;
use callgrove_provdb::ProvDbError;
use callgrove_pserver::PserverError;
use thiserror::Error;

/// The reason why a server did not start, or has stopped.
#[derive(Debug, Error)]
pub enum ServerError {
    /// Any client that reaches the address could read and change everything.
    #[error(
        "without a token anybody who reaches {listen} could use the server: pass --token-file or set CALLGROVE_TOKEN, \
         or listen on a loopback address such as 127.0.0.1:{}",
        listen.port()
    )]
    Unguarded {
        /// The requested address.
        listen: SocketAddr,
    },
    /// The token and all data could be read on the network.
    #[error(
        "without TLS everybody on the network between the machines could read the token and all data at {listen}: pass \
         --announce FILE.address, with which the server makes a certificate, or --tls-cert and --tls-key, or accept it with \
         --plain-http"
    )]
    Unencrypted {
        /// The requested address.
        listen: SocketAddr,
    },
    /// The address is in use, belongs to another host, or is not permitted.
    #[error("{cause}: cannot listen on {listen}; pass another address or port to --listen")]
    Bind {
        /// The requested address.
        listen: SocketAddr,
        /// The system's error.
        cause: io::Error,
    },
    /// A limit of [`Limits`](crate::Limits) is 0.
    #[error("{name} is 0: it must be at least 1")]
    ZeroLimit {
        /// Name of the field.
        name: &'static str,
    },
    /// A token, or a list of tokens, cannot be used.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// A file for TLS cannot be read.
    #[error("{cause}: cannot read {}", path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// A TLS file has the wrong content.
    #[error("{cause}: {} must hold {expected}", path.display())]
    TlsContent {
        /// The parser's message.
        cause: String,
        /// The expected content.
        expected: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Every user of the machine can read the key of the certificate.
    #[error("every user of this machine can read the key {}: run `chmod 600` on it", path.display())]
    KeyExposed {
        /// The file.
        path: PathBuf,
    },
    /// Certificate and key do not match.
    #[error("{cause}: check that {} is the key of {}", key.display(), cert.display())]
    TlsPair {
        /// The message of the TLS library.
        cause: String,
        /// The certificate file.
        cert: PathBuf,
        /// The key file.
        key: PathBuf,
    },
    /// No certificate could be made.
    #[error(
        "{cause}: cannot make a certificate for the server; pass one with --tls-cert and --tls-key"
    )]
    TlsGenerated {
        /// The message of the TLS library.
        cause: String,
    },
    /// The system provides no threads or timers for the server.
    #[error(
        "{cause}: cannot start the threads of the server; check the limit on processes (`ulimit -u`)"
    )]
    Threads {
        /// The system's error.
        cause: io::Error,
    },
    /// The system cannot report Ctrl-C and SIGTERM.
    #[error("{cause}: cannot wait for Ctrl-C or SIGTERM; end the program by its caller")]
    Signals {
        /// The system's error.
        cause: io::Error,
    },
    /// A thread panicked, which is a defect of the program.
    #[error("{what} panicked: please report it, with the lines above")]
    Panicked {
        /// Name of the thread.
        what: &'static str,
    },
    /// The database could not store the state of the parameter server.
    #[error(transparent)]
    Unsaved(#[from] ProvDbError),
    /// The state of the parameter server could not be serialized.
    #[error(transparent)]
    State(#[from] PserverError),
}
