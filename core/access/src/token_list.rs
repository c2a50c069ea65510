//! The list of further tokens of a server, each with a name and a role: a file that has their digests only.
//!
//! ```text
//! {"version": 1, "tokens": [{"name": "ada", "role": "read", "sha256": "9f86d0…"}]}
//! ```

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use callgrove_model::hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::TokenError;
use crate::role::TokenRole;
use crate::token::{Token, are_equal};

/// Version of the format.
const VERSION: u32 = 1;
/// Maximum size of a file, in bytes; thousands of tokens fit.
const MAX_BYTES: u64 = 1 << 20;
/// Maximum length of a name, in bytes.
const MAX_NAME_BYTES: usize = 40;
/// Names of the tokens that a server has without a list.
pub const OWN_NAMES: [&str; 2] = ["server", "page"];

/// The path of a list of tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokenFile(PathBuf);

/// Tokens by their names. It has no secret: each token is random, so that its digest does not give it away.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenList {
    version: u32,
    tokens: Vec<TokenEntry>,
}

/// A token of a list.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// Name of its holder.
    pub name: String,
    /// What it allows.
    pub role: TokenRole,
    /// SHA-256 of the token, as 64 hexadecimal digits.
    sha256: String,
}

impl TokenEntry {
    /// Returns the digest of the token, as text.
    pub fn digest(&self) -> &str {
        &self.sha256
    }
}

/// Returns the digest of a token, as text.
pub fn digest(token: &[u8]) -> String {
    hex(&Sha256::digest(token))
}

/// Returns whether two digests are the same, in a time that does not depend on where they differ.
pub fn is_same_digest(a: &str, b: &str) -> bool {
    are_equal(a.as_bytes(), b.as_bytes())
}

impl Default for TokenList {
    fn default() -> Self {
        Self {
            version: VERSION,
            tokens: Vec::new(),
        }
    }
}

impl TokenList {
    /// Returns the tokens, in the order in which they were added.
    pub fn tokens(&self) -> &[TokenEntry] {
        &self.tokens
    }

    /// Adds a new random token, and returns it.
    ///
    /// # Errors
    /// The name is invalid or used; the system provides no randomness.
    pub fn add(&mut self, name: &str, role: TokenRole) -> Result<Token, TokenError> {
        let refused = |fault| TokenError::Name {
            fault,
            name: name.to_owned(),
        };
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(is_letter) {
            return Err(refused(
                "a name has 1 to 40 letters, digits, `-` and `_` of ASCII",
            ));
        }
        if OWN_NAMES.contains(&name) {
            return Err(refused("it is the name of a token that each server has"));
        }
        if self.tokens.iter().any(|it| it.name == name) {
            return Err(refused(
                "there is a token of this name: revoke it first, or use another name",
            ));
        }
        let token = Token::random()?;
        self.tokens.push(TokenEntry {
            name: name.to_owned(),
            role,
            sha256: digest(token.secret().as_bytes()),
        });
        Ok(token)
    }

    /// Removes the token of a name.
    ///
    /// # Errors
    /// The list has no token of this name.
    pub fn revoke(&mut self, name: &str) -> Result<(), TokenError> {
        let index = self.tokens.iter().position(|it| it.name == name);
        let index = index.ok_or_else(|| TokenError::Name {
            fault: "the list has no token of this name",
            name: name.to_owned(),
        })?;
        self.tokens.remove(index);
        Ok(())
    }

    /// Returns the content of the file.
    ///
    /// # Errors
    /// None for a list of this program.
    pub fn to_json(&self) -> serde_json::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    fn parse(text: &str) -> Result<Self, String> {
        let list: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if list.version != VERSION {
            return Err(format!(
                "it has version {}, this release reads version {VERSION}",
                list.version
            ));
        }
        let is_digest = |text: &str| {
            let mut digits = text.bytes();
            text.len() == 64 && digits.all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
        };
        match list.tokens.iter().find(|it| !is_digest(&it.sha256)) {
            Some(entry) => Err(format!(
                "the sha256 of {} is not 64 hexadecimal digits in lower case",
                entry.name
            )),
            None => Ok(list),
        }
    }
}

impl TokenFile {
    /// Returns the list at a path, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Reads the list.
    ///
    /// # Errors
    /// [`TokenError::List`]: there is no file, another user could have read or changed it, or it has other content.
    pub fn read(&self) -> Result<TokenList, TokenError> {
        let read = || {
            let file = File::open(&self.0)?;
            check(&file)?;
            let mut text = String::new();
            file.take(MAX_BYTES).read_to_string(&mut text)?;
            TokenList::parse(&text).map_err(|fault| io::Error::new(ErrorKind::InvalidData, fault))
        };
        read().map_err(|cause| TokenError::List {
            path: self.0.clone(),
            cause,
        })
    }

    /// Reads the list; without a file, returns an empty one.
    ///
    /// # Errors
    /// As [`read`](Self::read), but for a missing file.
    pub fn read_if_any(&self) -> Result<TokenList, TokenError> {
        match fs::exists(&self.0) {
            Ok(false) => Ok(TokenList::default()),
            _ => self.read(),
        }
    }
}

/// Refuses a file that another user could have written or read.
#[cfg(unix)]
fn check(file: &File) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;

    /// All permissions of the group and of others.
    const REFUSED: u32 = 0o077;
    const ROOT: u32 = 0;

    let metadata = file.metadata()?;
    let (owner, own) = (metadata.uid(), rustix::process::geteuid().as_raw());
    let fault = if !metadata.is_file() {
        "it is not a file".to_owned()
    } else if ![own, ROOT].contains(&owner) {
        format!("it belongs to user {owner}, who could add tokens to it")
    } else if metadata.mode() & REFUSED != 0 {
        "other users can read or change it: run `chmod 600` on it".to_owned()
    } else {
        return Ok(());
    };
    Err(io::Error::new(ErrorKind::PermissionDenied, fault))
}

#[cfg(not(unix))]
fn check(_file: &File) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(list: &mut TokenList, name: &str) -> String {
        list.add(name, TokenRole::Read).expect_err(name).to_string()
    }

    #[test]
    fn a_list_gives_no_token_away_and_is_read_as_it_was_written() {
        let mut list = TokenList::default();
        let tokens = [("ada", TokenRole::Read), ("prometheus", TokenRole::Write)]
            .map(|(name, role)| list.add(name, role).unwrap());
        let json = list.to_json().unwrap();
        for token in &tokens {
            assert!(!json.contains(token.secret()), "{json}");
        }
        assert_eq!(TokenList::parse(&json), Ok(list.clone()));
        list.revoke("ada").unwrap();
        let names: Vec<&str> = list.tokens().iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["prometheus"]);
        assert!(list.revoke("ada").is_err());
    }

    #[test]
    fn names_are_unique_and_can_be_parts_of_file_names() {
        let mut list = TokenList::default();
        list.add("ada", TokenRole::Read).unwrap();
        assert!(refusal(&mut list, "ada").contains("revoke it first"));
        for name in ["", "a/b", "..", "a b", "é", &"x".repeat(41)] {
            assert!(refusal(&mut list, name).contains("letters"), "{name}");
        }
        for name in OWN_NAMES {
            assert!(refusal(&mut list, name).contains("each server"), "{name}");
        }
    }

    #[test]
    fn damaged_and_newer_lists_are_refused() {
        let mut list = TokenList::default();
        list.add("ada", TokenRole::Read).unwrap();
        let json = list.to_json().unwrap();
        for (content, fault) in [
            (
                json.replace("\"version\": 1", "\"version\": 2"),
                "version 2",
            ),
            (json.replace("read", "admin"), "admin"),
            (json.replace("sha256\": \"", "sha256\": \"0"), "of ada"),
            (json.replace("\"name\"", "\"secret\""), "secret"),
            (json[..json.len() / 2].to_owned(), "EOF"),
            (String::new(), "EOF"),
        ] {
            let refused = TokenList::parse(&content).unwrap_err();
            assert!(refused.contains(fault), "{refused}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_read_or_change_is_refused() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};

        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::new(&folder.path().join("tokens"));
        assert!(file.read().is_err());
        assert_eq!(file.read_if_any().unwrap(), TokenList::default());
        fs::write(file.path(), TokenList::default().to_json().unwrap()).unwrap();
        let set_mode = |mode| fs::set_permissions(file.path(), fs::Permissions::from_mode(mode));
        for mode in [0o644, 0o640, 0o660, 0o602] {
            set_mode(mode).unwrap();
            for read in [file.read(), file.read_if_any()] {
                let refused = read.unwrap_err().to_string();
                assert!(refused.contains("chmod 600"), "{mode:o}: {refused}");
            }
        }
        set_mode(0o600).unwrap();
        assert_eq!(file.read().unwrap(), TokenList::default());
        // Only root can give a file away, and root reads the files of all users.
        if fs::metadata(file.path()).unwrap().uid() == 0 {
            chown(file.path(), Some(4321), None).unwrap();
            let refused = file.read().unwrap_err().to_string();
            assert!(refused.contains("user 4321"), "{refused}");
        }
    }
}
