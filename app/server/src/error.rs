//! What can keep a server from starting or running.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use callgrove_provdb::ProvDbError;
use callgrove_pserver::PserverError;
use thiserror::Error;

/// Why a server does not start, or stopped.
#[derive(Debug, Error)]
pub enum ServerError {
    /// Whoever reaches the address could read and change everything.
    #[error(
        "without a token anybody who reaches {listen} could use the server: pass --token-file or set CALLGROVE_TOKEN, \
         or listen on a loopback address such as 127.0.0.1:{}",
        listen.port()
    )]
    Unguarded {
        /// The address that was asked for.
        listen: SocketAddr,
    },
    /// The address is taken, foreign or forbidden.
    #[error("{source}: cannot listen on {listen}; pass another address or port to --listen")]
    Bind {
        /// The address that was asked for.
        listen: SocketAddr,
        /// The system's answer.
        source: io::Error,
    },
    /// A bound of [`Limits`](crate::Limits) leaves no room to work.
    #[error("{name} is 0: it must be at least 1")]
    ZeroLimit {
        /// The field.
        name: &'static str,
    },
    /// The token cannot be read.
    #[error("{source}: cannot read the token file {}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Everybody on the machine can read the token.
    #[error("every user of this machine can read the token file: run `chmod 600 {}`", path.display())]
    TokenExposed {
        /// The file.
        path: PathBuf,
    },
    /// The token is not one that a header can carry and nobody can guess.
    #[error(
        "{fault}: {origin} needs a token of 16 to 4096 visible ASCII characters, such as `openssl rand -hex 32` prints"
    )]
    TokenUnfit {
        /// What is wrong with it.
        fault: &'static str,
        /// The file or variable that it came from.
        origin: String,
    },
    /// No token could be made.
    #[error("{cause}: the system gives no randomness for a token; pass one with --token-file")]
    Randomness {
        /// The system's answer.
        cause: String,
    },
    /// A file for TLS cannot be read.
    #[error("{source}: cannot read {}", path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A file for TLS holds something else.
    #[error("{cause}: {} must hold {expected}", path.display())]
    TlsContent {
        /// What the reader says.
        cause: String,
        /// What the file should hold.
        expected: &'static str,
        /// The file.
        path: PathBuf,
    },
    /// Certificate and key do not work together.
    #[error("{cause}: check that {} is the key of {}", key.display(), cert.display())]
    TlsPair {
        /// What the TLS library says.
        cause: String,
        /// The file of the certificates.
        cert: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// The system gives no threads or timers to the server.
    #[error(
        "{source}: cannot start the threads of the server; check the limit on processes (`ulimit -u`)"
    )]
    Threads {
        /// The system's answer.
        source: io::Error,
    },
    /// The system does not tell of Ctrl-C and SIGTERM.
    #[error("{source}: cannot wait for Ctrl-C or SIGTERM; end the program by its caller")]
    Signals {
        /// The system's answer.
        source: io::Error,
    },
    /// A thread ended by a panic, which is a defect of the program.
    #[error("{what} ended by a panic: please report it, with the lines above")]
    Panicked {
        /// What it was there for.
        what: &'static str,
    },
    /// The database did not take the state of the parameter server.
    #[error(transparent)]
    Unsaved(#[from] ProvDbError),
    /// The state of the parameter server cannot be written down.
    #[error(transparent)]
    State(#[from] PserverError),
}
