//! The user's folders, and atomic writes of files, which are private to the user by default.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

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
}
