//! Address files: by which a server announces where it is, how to recognize it, and the token for it.
//!
//! ```text
//! server ── writes ──▶ FILE.address (for its user alone) ── read at each connection ──▶ client
//!    ▲                 url, fingerprint of the certificate, token                        │
//!    └────────── TLS with this certificate and no other, then the token ─────────────────┘
//! ```
//!
//! A server that starts again writes the file again, with its new port and certificate. It keeps the token, so that
//! clients that are connected need no new one. The file remains when the server ends: it is useless without the server,
//! and a later server at the same port has another certificate.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tonic::codegen::http::Uri;

use crate::fingerprint::Fingerprint;

/// The end of the name of each address file. It shows what a path is before the file exists.
const EXTENSION: &str = "address";
/// The scheme of the URL of a server.
const SERVER_SCHEME: &str = "https";
/// The scheme of the URL of a message bus.
pub const BUS_SCHEME: &str = "tls";
/// Version of the format.
const VERSION: u32 = 1;
/// Maximum size of a file, in bytes; a token has at most 4096.
const MAX_BYTES: u64 = 16 << 10;

/// The path of an address file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressFile(PathBuf);

/// What a server announces.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAnnouncement {
    /// `https://host:port`; of a message bus `tls://host:port`.
    pub url: Uri,
    /// The fingerprint of its certificate.
    pub fingerprint: Fingerprint,
    /// The token that clients send.
    pub token: String,
}

/// The content of a file, as JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    url: String,
    fingerprint: String,
    token: String,
}

impl AddressFile {
    /// Returns the address file that a command line names in place of a URL; `None` if it names something else.
    pub fn named(named: &str) -> Option<Self> {
        let path = Path::new(named);
        let is_one = !named.contains("://") && path.extension().is_some_and(|it| it == EXTENSION);
        is_one.then(|| Self(path.to_owned()))
    }

    /// Returns the address file that a server is to write.
    ///
    /// # Errors
    /// As text, if the name does not end in `.address`.
    pub fn to_write(path: &Path) -> Result<Self, String> {
        if path.extension().is_some_and(|it| it == EXTENSION) {
            return Ok(Self(path.to_owned()));
        }
        let path = path.display();
        Err(format!(
            "the name of an address file ends in .{EXTENSION}, so that clients recognize it before it exists: use \
             {path}.{EXTENSION}"
        ))
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns what the server of the file announces. `trusted` are users besides root and that of this process whose
    /// files are accepted.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no file yet; other kinds if another user could have written or read the file,
    /// or it has other content.
    pub fn read(&self, trusted: Option<u32>) -> io::Result<ServerAnnouncement> {
        self.read_of(SERVER_SCHEME, trusted)
    }

    /// Returns what the message bus of the file announces.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_bus(&self, trusted: Option<u32>) -> io::Result<ServerAnnouncement> {
        self.read_of(BUS_SCHEME, trusted)
    }

    fn read_of(&self, scheme: &str, trusted: Option<u32>) -> io::Result<ServerAnnouncement> {
        let path = self.0.display();
        let named = |error: io::Error| {
            let text = if error.kind() == ErrorKind::NotFound {
                format!("no server has written the address file {path} yet")
            } else {
                format!("{error}: cannot use the address file {path}")
            };
            io::Error::new(error.kind(), text)
        };
        // Opening a pipe would wait for its writer.
        if !fs::metadata(&self.0).map_err(named)?.is_file() {
            return Err(named(io::Error::other("it is not a file")));
        }
        let file = File::open(&self.0).map_err(named)?;
        check(&self.0, &file, trusted).map_err(named)?;
        let mut text = String::new();
        let read = file.take(MAX_BYTES).read_to_string(&mut text);
        read.map_err(named)?;
        parse(&text, scheme).map_err(|fault| named(io::Error::new(ErrorKind::InvalidData, fault)))
    }

    /// Writes what a server announces, atomically, for the user alone. The folder must be one that other users cannot
    /// write to.
    ///
    /// # Errors
    /// Those of the operating system, with the path.
    pub fn write(&self, announcement: &ServerAnnouncement) -> io::Result<()> {
        let content = Content {
            version: VERSION,
            url: announcement
                .url
                .to_string()
                .trim_end_matches('/')
                .to_owned(),
            fingerprint: announcement.fingerprint.to_string(),
            token: announcement.token.clone(),
        };
        let json = serde_json::to_string_pretty(&content)?;
        write_for_user(&self.0, &format!("{json}\n")).map_err(|error| {
            let path = self.0.display();
            io::Error::new(
                error.kind(),
                format!("{error}: cannot write the address file {path}"),
            )
        })
    }
}

/// Replaces a file atomically by one for the user alone.
///
/// # Errors
/// Those of the operating system.
pub fn write_for_user(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}", std::process::id()));
    let draft = path.with_file_name(name);
    let written = || {
        // Left by a process with the same id that was killed.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let mut file = of_user(options.write(true).create_new(true)).open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    written().inspect_err(|_| {
        fs::remove_file(&draft).ok();
    })
}

fn parse(text: &str, scheme: &str) -> Result<ServerAnnouncement, String> {
    let content: Content = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if content.version != VERSION {
        return Err(format!(
            "it has version {}, this release reads version {VERSION}: use the same release as the server",
            content.version
        ));
    }
    let url: Uri = content
        .url
        .parse()
        .map_err(|error| format!("{error} in its url"))?;
    match url.scheme_str() {
        Some(BUS_SCHEME) if scheme != BUS_SCHEME => {
            return Err("it is that of a message bus: name it by --bus".to_owned());
        }
        Some(SERVER_SCHEME) if scheme == BUS_SCHEME => {
            return Err("it is that of another server: name that of `callgrove bus`".to_owned());
        }
        Some(found) if found == scheme && url.port().is_some() => {}
        _ => return Err(format!("its url is not {scheme}://host:port")),
    }
    Ok(ServerAnnouncement {
        url,
        fingerprint: content.fingerprint.parse()?,
        token: content.token,
    })
}

impl std::fmt::Debug for ServerAnnouncement {
    /// Omits the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerAnnouncement")
            .field("url", &self.url)
            .field("fingerprint", &self.fingerprint)
            .finish_non_exhaustive()
    }
}

/// Sets the permissions of a file that the options create: for the user alone.
#[cfg(unix)]
fn of_user(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn of_user(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Refuses a file that another user could have written, or that all users can read.
#[cfg(unix)]
fn check(path: &Path, file: &File, trusted: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;

    /// The permission of others to read, and of the group and of others to write.
    const REFUSED: u32 = 0o026;
    const ROOT: u32 = 0;

    let denied = |why: String| io::Error::new(ErrorKind::PermissionDenied, why);
    let (link, target) = (fs::symlink_metadata(path)?, file.metadata()?);
    let own = rustix::process::geteuid().as_raw();
    let mut owners = [&link, &target].into_iter().map(MetadataExt::uid);
    let is_trusted = |owner: u32| [own, ROOT].contains(&owner) || Some(owner) == trusted;
    if let Some(owner) = owners.find(|owner| !is_trusted(*owner)) {
        return Err(denied(format!(
            "it belongs to user {owner}; if you trust the servers of that user, pass --server-uid {owner}"
        )));
    }
    if target.mode() & REFUSED != 0 {
        return Err(denied(format!(
            "other users can read or change it: run `chmod 600 {}` and start its server again with a new token",
            path.display()
        )));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check(_path: &Path, _file: &File, _trusted: Option<u32>) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn announcement() -> ServerAnnouncement {
        ServerAnnouncement {
            url: Uri::from_static("https://node7:5559"),
            fingerprint: Fingerprint::of_certificate(b"a certificate"),
            token: "secret-of-the-server".to_owned(),
        }
    }

    #[test]
    fn names_that_end_in_address_are_address_files() {
        for named in ["job/pserver.address", "pserver.address"] {
            assert!(AddressFile::named(named).is_some(), "{named}");
            assert!(AddressFile::to_write(Path::new(named)).is_ok(), "{named}");
        }
        for other in [
            "http://host:1/x.address",
            "job/pserver",
            "found/",
            "host:5559",
            ".address",
        ] {
            assert_eq!(AddressFile::named(other), None, "{other}");
        }
        let refused = AddressFile::to_write(Path::new("job/pserver")).unwrap_err();
        assert!(refused.contains("job/pserver.address"), "{refused}");
    }

    #[test]
    fn an_announcement_is_read_as_it_was_written_and_replaced_as_a_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = AddressFile(folder.path().join("pserver.address"));
        assert_eq!(file.read(None).unwrap_err().kind(), ErrorKind::NotFound);
        file.write(&announcement()).unwrap();
        assert_eq!(file.read(None).unwrap(), announcement());
        let moved = ServerAnnouncement {
            url: Uri::from_static("https://node8:1"),
            ..announcement()
        };
        file.write(&moved).unwrap();
        assert_eq!(file.read(None).unwrap(), moved);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(!format!("{moved:?}").contains("secret-of-the-server"));
    }

    #[test]
    fn damaged_and_newer_files_are_refused_with_their_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = AddressFile(folder.path().join("pserver.address"));
        file.write(&announcement()).unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        for (content, fault) in [
            (
                text.replace("\"version\": 1", "\"version\": 2"),
                "version 2",
            ),
            (text.replace("https://", "http://"), "https://host:port"),
            (text.replace(":5559", ""), "https://host:port"),
            (text.replace("sha256:", "md5:"), "fingerprint"),
            (text[..text.len() / 2].to_owned(), "EOF"),
            (String::new(), "EOF"),
        ] {
            fs::write(file.path(), content).unwrap();
            let refused = file.read(None).unwrap_err().to_string();
            assert!(refused.contains(fault), "{refused}");
            assert!(refused.contains("pserver.address"), "{refused}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn files_and_links_that_others_could_have_made_or_read_are_refused() {
        use std::fs::Permissions;
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};

        let folder = tempfile::tempdir().unwrap();
        let file = AddressFile(folder.path().join("pserver.address"));
        file.write(&announcement()).unwrap();
        assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o777, 0o600);
        for (mode, is_accepted) in [
            (0o640, true),
            (0o644, false),
            (0o620, false),
            (0o602, false),
        ] {
            fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
            let read = file.read(None);
            assert_eq!(read.is_ok(), is_accepted, "{mode:o}");
            assert!(read.map_or_else(|error| error.to_string().contains("chmod 600"), |_| true));
        }
        fs::set_permissions(file.path(), Permissions::from_mode(0o600)).unwrap();
        let link = AddressFile(folder.path().join("link.address"));
        symlink(file.path(), link.path()).unwrap();
        assert!(link.read(None).is_ok());
        // Only root can give a file away.
        if fs::metadata(file.path()).unwrap().uid() == 0 {
            lchown(link.path(), Some(4321), None).unwrap();
            let refused = link.read(None).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
            assert!(
                refused.to_string().contains("--server-uid 4321"),
                "{refused}"
            );
            assert!(link.read(Some(4321)).is_ok());
            lchown(file.path(), Some(4321), None).unwrap();
            assert!(file.read(None).is_err());
        }
    }
}
