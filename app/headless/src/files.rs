//! The user's folders, and atomic writes of files, which are private to the user by default.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use callgrove_local::create_private_folder;

/// The users that can read a new file. A replaced file keeps its permissions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readers {
    /// The user alone.
    User,
    /// The users that the umask allows.
    ByMask,
}

impl Readers {
    /// Sets the permissions of files that the options create.
    pub fn of_new_file(self, options: &mut OpenOptions) -> &mut OpenOptions {
        #[cfg(unix)]
        if self == Self::User {
            std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
        }
        options
    }
}

/// Returns the folder of the user's configuration: `$XDG_CONFIG_HOME/callgrove`, or `~/.config/callgrove`.
pub fn config_folder() -> Option<PathBuf> {
    user_folder("XDG_CONFIG_HOME", ".config")
}

/// Returns Callgrove's folder in the folder that a variable names, or else in one under the user's home. Relative paths
/// are ignored, as in the XDG Base Directory Specification.
pub fn user_folder(variable: &str, under_home: &str) -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let folder = absolute(variable).or_else(|| Some(absolute("HOME")?.join(under_home)))?;
    Some(folder.join("callgrove"))
}

/// Creates a secret in a file that no other user can read. If two processes do so at the same time, both use the first
/// one.
///
/// # Errors
/// The secret cannot be made or written.
pub fn create_secret_file(path: &Path, make: impl FnOnce() -> Result<String>) -> Result<()> {
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

/// Replaces a file atomically.
///
/// # Errors
/// If the file cannot be written; the previous file remains.
pub fn replace_file(path: &Path, content: &[u8], readers: Readers) -> io::Result<()> {
    replace_file_with(path, readers, |file| file.write_all(content))
}

/// Replaces a file atomically with the output of `write`.
///
/// # Errors
/// As [`replace_file`], and the errors of `write`.
pub fn replace_file_with<E: From<io::Error>>(
    path: &Path,
    readers: Readers,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".part");
    let part = path.with_file_name(name);
    let replace = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        let mut file = readers.of_new_file(&mut options).open(&part)?;
        if let Ok(before) = path.metadata() {
            file.set_permissions(before.permissions())?;
        }
        write(&mut file)?;
        file.sync_all()?;
        Ok(std::fs::rename(&part, path)?)
    };
    replace().inspect_err(|_| {
        std::fs::remove_file(&part).ok();
    })
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_new_file_is_private_and_a_replaced_one_keeps_its_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.json");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        replace_file(&path, b"one", Readers::User).unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        replace_file(&path, b"two", Readers::User).unwrap();
        assert_eq!(mode(), 0o644);
        assert_eq!(fs::read(&path).unwrap(), b"two");
    }

    #[test]
    fn of_two_secrets_for_a_file_the_first_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callgrove/token");
        create_secret_file(&path, || Ok("first".to_owned())).unwrap();
        create_secret_file(&path, || Ok("second".to_owned())).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"first\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn no_other_user_can_read_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("callgrove/token");
        create_secret_file(&path, || Ok("secret".to_owned())).unwrap();
        for (path_of, mode) in [(path.as_path(), 0o600), (path.parent().unwrap(), 0o700)] {
            let permissions = fs::metadata(path_of).unwrap().permissions();
            assert_eq!(permissions.mode() & 0o777, mode, "{}", path_of.display());
        }
    }
}
