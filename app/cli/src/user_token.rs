//! The user's token, which is created once and shared by all commands of the user.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use callgrove_server::Token;

use callgrove_headless::{Readers, config_folder};
use callgrove_local::create_private_folder;

/// The remedy if the token cannot be stored.
const REMEDY: &str = "pass --token-file, set CALLGROVE_TOKEN, or require no token with --no-token";

/// Returns the user's token, if it exists.
///
/// # Errors
/// If other users can read its file, or its content is invalid.
pub(crate) fn find() -> Result<Option<Token>> {
    match path() {
        Some(path) if path.exists() => Ok(Some(Token::from_file(&path)?)),
        _ => Ok(None),
    }
}

/// Returns the user's token as text, if it exists and is valid.
pub(crate) fn secret() -> Option<String> {
    let token = find().ok().flatten()?;
    Some(token.secret().to_owned())
}

/// Returns the user's token, and creates one if necessary.
///
/// # Errors
/// As [`find`], and if there is no folder for it.
pub(crate) fn find_or_create() -> Result<Token> {
    let path = path().with_context(|| {
        format!(
            "neither XDG_CONFIG_HOME nor HOME is set, so there is no folder for the token; {REMEDY}"
        )
    })?;
    if !path.exists() {
        create(&path, || Ok(Token::random()?.secret().to_owned()))
            .with_context(|| format!("cannot store a token in {}; {REMEDY}", path.display()))?;
    }
    Ok(Token::from_file(&path)?)
}

fn path() -> Option<PathBuf> {
    Some(config_folder()?.join("token"))
}

/// Creates a secret in a file that no other user can read. If two processes do so at the same time, both use the first
/// one.
///
/// # Errors
/// The secret cannot be made or written.
pub(crate) fn create(path: &Path, make: impl FnOnce() -> Result<String>) -> Result<()> {
    let folder = path.parent().context("the path has no folder")?;
    create_private_folder(folder).with_context(|| format!("cannot use {}", folder.display()))?;
    let draft = folder.join(format!(".secret-{}", std::process::id()));
    let written = write_private(&draft, &make()?);
    let linked = written.and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft).ok();
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => Ok(linked?),
    }
}

fn write_private(path: &Path, content: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    let mut file = Readers::User.of_new_file(&mut options).open(path)?;
    writeln!(file, "{content}")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn concurrent_creations_give_the_same_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callgrove/token");
        let make = || Ok(Token::random()?.secret().to_owned());
        create(&path, make).unwrap();
        let first = Token::from_file(&path).unwrap();
        create(&path, make).unwrap();
        assert_eq!(Token::from_file(&path).unwrap().secret(), first.secret());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn no_other_user_can_read_the_token() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callgrove/token");
        create(&path, || Ok("a-secret-of-the-test".to_owned())).unwrap();
        for (path_of, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
            let permissions = fs::metadata(path_of).unwrap().permissions();
            assert_eq!(permissions.mode() & 0o777, mode, "{}", path_of.display());
        }
    }
}
