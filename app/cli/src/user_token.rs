//! The token of the user: made once, and found by all commands of the same user.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use callgrove_server::Token;

use crate::files::{Readers, config_folder};

/// What to do where the token cannot be kept.
const REMEDY: &str = "pass --token-file, set CALLGROVE_TOKEN, or ask for no token with --no-token";

/// Returns the token of the user, if one has been made.
///
/// # Errors
/// If other users can read its file, or its content is unfit.
pub(crate) fn found() -> Result<Option<Token>> {
    match path() {
        Some(path) if path.exists() => Ok(Some(Token::from_file(&path)?)),
        _ => Ok(None),
    }
}

/// Returns the token of the user, and makes one where there is none.
///
/// # Errors
/// As [`found`], and if there is no folder to keep it in.
pub(crate) fn found_or_made() -> Result<Token> {
    let path = path().with_context(|| {
        format!(
            "neither XDG_CONFIG_HOME nor HOME is set, so there is no folder for a token; {REMEDY}"
        )
    })?;
    if !path.exists() {
        make(&path)
            .with_context(|| format!("cannot keep a token in {}; {REMEDY}", path.display()))?;
    }
    Ok(Token::from_file(&path)?)
}

fn path() -> Option<PathBuf> {
    Some(config_folder()?.join("token"))
}

/// Makes a token in a file that no other user can read. If another process makes one at the same time, that of the first
/// holds for both.
fn make(path: &Path) -> Result<()> {
    let folder = path.parent().context("it has no folder")?;
    let mut folders = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folders, 0o700);
    folders.recursive(true).create(folder)?;
    let draft = folder.join(format!(".token-{}", std::process::id()));
    let written = write_private(&draft, Token::random()?.secret());
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
    fn of_several_that_make_one_at_the_same_time_all_have_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callgrove/token");
        make(&path).unwrap();
        let first = Token::from_file(&path).unwrap();
        make(&path).unwrap();
        assert_eq!(Token::from_file(&path).unwrap().secret(), first.secret());
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn no_other_user_can_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callgrove/token");
        make(&path).unwrap();
        for (place, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
            let permissions = fs::metadata(place).unwrap().permissions();
            assert_eq!(permissions.mode() & 0o777, mode, "{}", place.display());
        }
    }
}
