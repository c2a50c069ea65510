//! The errors of tokens. Their texts include the causes, so causes are not sources: those would be printed again.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// The reason why a token, or a list of tokens, cannot be used.
#[derive(Debug, Error)]
pub enum TokenError {
    /// The token cannot be read.
    #[error("{cause}: cannot read the token file {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// Every user of the machine can read the token.
    #[error("every user of this machine can read the token file: run `chmod 600 {}`", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// The token does not fit into a header, or is easy to guess.
    #[error(
        "{fault}: {origin} needs a token of 16 to 4096 visible ASCII characters, such as `openssl rand -hex 32` prints"
    )]
    Unfit {
        /// The reason.
        fault: &'static str,
        /// The file or variable that holds it.
        origin: String,
    },
    /// A list of tokens cannot be used.
    #[error("{cause}: cannot use the list of tokens {}", path.display())]
    List {
        /// The file.
        path: PathBuf,
        /// The reason.
        cause: io::Error,
    },
    /// A list of tokens has another token of this name, or none, or the name is invalid.
    #[error("{name}: {fault}")]
    Name {
        /// The reason.
        fault: &'static str,
        /// The name.
        name: String,
    },
    /// No random token could be generated.
    #[error("{cause}: the system gives no randomness for a token; pass one with --token-file")]
    Randomness {
        /// The system's error.
        cause: String,
    },
}
