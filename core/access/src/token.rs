//! The token that clients send with every request, as `authorization: Bearer …` (RFC 6750); browsers exchange it for a
//! cookie.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use callgrove_model::hex;
use callgrove_net::Credential;
use sha2::{Digest, Sha256};

use crate::error::TokenError;

/// The environment variable for a token.
pub const TOKEN_VARIABLE: &str = "CALLGROVE_TOKEN";

/// Minimum length; a shorter token can be guessed by trying.
const MIN_CHARS: usize = 16;
/// Maximum length; a longer token does not fit into the headers that servers accept.
const MAX_CHARS: usize = 4096;

/// A secret that client and server share. Its `Debug` output hides the secret.
#[derive(Clone)]
pub struct Token {
    secret: String,
}

impl Token {
    /// Checks the token `secret`, which came from `origin` (named in errors).
    ///
    /// # Errors
    /// If it is shorter than 16 characters, longer than 4096, or has characters other than visible ASCII.
    pub fn new(secret: &str, origin: &str) -> Result<Self, TokenError> {
        let fault = if secret.len() < MIN_CHARS {
            "the token is too short"
        } else if secret.len() > MAX_CHARS {
            "the token is too long"
        } else if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            "the token has a character that a header cannot carry"
        } else {
            return Ok(Self {
                secret: secret.to_owned(),
            });
        };
        Err(TokenError::Unfit {
            fault,
            origin: origin.to_owned(),
        })
    }

    /// Reads a token from a file, without the white space around it.
    ///
    /// # Errors
    /// If the file cannot be read, if every user of the machine can read it, or if its content is invalid.
    pub fn from_file(path: &Path) -> Result<Self, TokenError> {
        let failed = |cause| TokenError::File {
            path: path.to_owned(),
            cause,
        };
        let mut file = File::open(path).map_err(failed)?;
        if readable_by_all(&file).map_err(failed)? {
            return Err(TokenError::Exposed {
                path: path.to_owned(),
            });
        }
        let mut secret = String::new();
        // Long enough to detect a token that is too long: the longest token, one more character, and its line ending.
        let most = MAX_CHARS as u64 + 3;
        file.by_ref()
            .take(most)
            .read_to_string(&mut secret)
            .map_err(failed)?;
        Self::new(secret.trim(), &format!("the token file {}", path.display()))
    }

    /// Reads the token in the variable `CALLGROVE_TOKEN`; `None` if it is not set or empty.
    ///
    /// # Errors
    /// If its content is invalid.
    pub fn from_env() -> Result<Option<Self>, TokenError> {
        match std::env::var_os(TOKEN_VARIABLE) {
            Some(secret) if !secret.is_empty() => {
                Self::new(&secret.to_string_lossy(), TOKEN_VARIABLE).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Reads the token of the file if there is one, or else that of the variable.
    ///
    /// # Errors
    /// As [`from_file`](Self::from_file) and [`from_env`](Self::from_env).
    pub fn find(file: Option<&Path>) -> Result<Option<Self>, TokenError> {
        file.map_or_else(Self::from_env, |path| Self::from_file(path).map(Some))
    }

    /// Generates a random token, for a server without a given one.
    ///
    /// # Errors
    /// If the system provides no randomness.
    pub fn random() -> Result<Self, TokenError> {
        let mut bytes = [0; 24];
        getrandom::fill(&mut bytes).map_err(|error| TokenError::Randomness {
            cause: error.to_string(),
        })?;
        Self::new(&hex(&bytes), "the system's randomness")
    }

    /// Returns the value of a browser's cookie: proof that the browser had the token, from which the token cannot be
    /// computed.
    pub fn proof(&self) -> String {
        self.proof_of("")
    }

    /// Returns the value of a browser's cookie for another token, of which only the digest is known. Without this token,
    /// the value cannot be computed from the digest.
    pub fn proof_of(&self, digest: &str) -> String {
        let mut hasher = Sha256::new_with_prefix(b"callgrove cookie\0");
        hasher.update(&self.secret);
        hasher.update(digest);
        hex(&hasher.finalize())
    }

    /// Returns a credential with the token for the server that the token was given for.
    pub fn stated(&self) -> Credential {
        Credential::explicit(&self.secret)
    }

    /// Returns a credential with the token, which is in the user's folder, for the user's own servers.
    pub fn of_user(&self) -> Credential {
        Credential::of_user(Some(self.secret.clone()))
    }

    /// Returns the secret.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Returns whether a browser sent the value that it was given, in constant time.
    pub fn proves(sent: &str, given: &str) -> bool {
        are_equal(&Sha256::digest(given), &Sha256::digest(sent))
    }
}

/// Compares all bytes, regardless of where the first difference is.
pub(crate) fn are_equal(a: &[u8], b: &[u8]) -> bool {
    let difference = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    difference == 0 && a.len() == b.len()
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// Returns whether every user of the machine can read a file.
///
/// # Errors
/// Those of the operating system.
#[cfg(unix)]
pub fn readable_by_all(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    const OTHERS_READ: u32 = 0o004;
    let metadata = file.metadata()?;
    Ok(metadata.is_file() && metadata.mode() & OTHERS_READ != 0)
}

/// Returns whether every user of the machine can read a file, which is unknown on this system.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn readable_by_all(_file: &File) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn refusal(secret: &str) -> String {
        Token::new(secret, "the test")
            .expect_err("rejected")
            .to_string()
    }

    #[test]
    fn rejects_tokens_that_can_be_guessed_or_not_sent() {
        assert!(refusal("short").contains("too short"));
        assert!(refusal(&"x".repeat(4097)).contains("too long"));
        assert!(refusal("0123456789 abcdef").contains("cannot carry"));
        assert!(refusal("0123456789abcdef\u{e9}").contains("cannot carry"));
    }

    #[test]
    fn random_tokens_are_valid_and_differ() {
        let [first, second] = [(); 2].map(|()| Token::random().unwrap());
        assert_eq!(first.secret().len(), 48);
        assert_ne!(first.secret(), second.secret());
        assert_ne!(first.proof(), second.proof());
        assert!(!first.proof().contains(first.secret()));
    }

    #[test]
    fn debug_output_hides_the_secret() {
        let token = Token::new(SECRET, "the test").unwrap();
        assert_eq!(format!("{token:?}"), "Token(hidden)");
    }

    #[cfg(unix)]
    #[test]
    fn a_world_readable_file_is_rejected_with_a_remedy() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        fs::write(&path, format!("{SECRET}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let refused = Token::from_file(&path).expect_err("exposed").to_string();
        assert!(refused.contains("chmod 600"), "{refused}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(Token::from_file(&path).unwrap().secret(), SECRET);
    }

    #[test]
    fn a_missing_file_is_named_in_the_error() {
        let missing = Token::find(Some(Path::new("no/such/token")))
            .expect_err("missing")
            .to_string();
        assert!(missing.contains("no/such/token"), "{missing}");
    }
}
