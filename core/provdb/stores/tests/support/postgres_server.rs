//! A PostgreSQL server that a test starts in its own folder and on its own port.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// A running server, stopped when it is dropped.
pub(crate) struct PostgresServer {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
    /// User and group of the server if the test runs as root, which PostgreSQL refuses.
    owner: Option<(u32, u32)>,
}

impl PostgresServer {
    /// Creates an empty server with these settings and starts it.
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let owner = owner(folder.path());
        if let Some((user, group)) = owner {
            chown(folder.path(), Some(user), Some(group)).expect("given to postgres");
        }
        let server = Self {
            programs: programs(),
            port: free_port(),
            folder,
            owner,
        };
        server.run(
            "initdb",
            &[
                "-D",
                &server.data(),
                "-U",
                "tester",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-sync",
            ],
        );
        server.configure(settings);
        server.control(&["-w", "start"]);
        server
    }

    /// Returns its URL: database `postgres`, user `tester`.
    pub(crate) fn url(&self) -> String {
        format!("postgres://tester@127.0.0.1:{}/postgres", self.port)
    }

    /// Returns the URL of a new database with this name.
    pub(crate) fn new_database(&self, name: &str) -> String {
        let port = self.port.to_string();
        let args = ["-h", "127.0.0.1", "-p", &port, "-U", "tester", name];
        self.run("createdb", &args);
        format!("postgres://tester@127.0.0.1:{port}/{name}")
    }

    /// Returns a folder that the server may read and write.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Gives a file to the server's user only.
    pub(crate) fn hand_over(&self, path: &Path) {
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("permissions");
        if let Some((user, group)) = self.owner {
            chown(path, Some(user), Some(group)).expect("given to postgres");
        }
    }

    /// Kills all processes of the server, like a crash.
    pub(crate) fn crash(&self) {
        self.control(&["-m", "immediate", "-w", "stop"]);
    }

    pub(crate) fn restart(&self) {
        self.control(&["-w", "start"]);
    }

    fn configure(&self, settings: &[(&str, &str)]) {
        let path = self.folder.path().join("data/postgresql.conf");
        let mut text = fs::read_to_string(&path).expect("written by initdb");
        let port = self.port.to_string();
        let own = [
            ("port", port.as_str()),
            ("listen_addresses", "127.0.0.1"),
            ("unix_socket_directories", ""),
            ("max_connections", "40"),
        ];
        for (name, value) in own.iter().chain(settings) {
            text.push_str(&format!("{name} = '{value}'\n"));
        }
        fs::write(&path, text).expect("configured");
    }

    fn control(&self, args: &[&str]) {
        let log = self.folder.path().join("log");
        let (data, log) = (self.data(), log.to_str().expect("UTF-8").to_owned());
        self.run(
            "pg_ctl",
            &[&["-D", &data, "-l", &log, "-t", "60", "-s"], args].concat(),
        );
    }

    fn data(&self) -> String {
        self.folder
            .path()
            .join("data")
            .to_str()
            .expect("UTF-8")
            .to_owned()
    }

    fn run(&self, program: &str, args: &[&str]) {
        let program = self.programs.join(program);
        let mut command = match self.owner {
            Some((user, group)) => {
                let mut command = Command::new("setpriv");
                command.args([&format!("--reuid={user}"), &format!("--regid={group}")]);
                command.arg("--clear-groups").arg(program);
                command
            }
            None => Command::new(program),
        };
        let log = fs::File::create(self.folder.path().join("control.log")).expect("a log");
        let status = command
            .args(args)
            .current_dir(self.folder.path())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .status()
            .expect("PostgreSQL's programs run");
        let read = |name| fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
        assert!(
            status.success(),
            "{args:?}: {}{}",
            read("control.log"),
            read("log")
        );
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        if self.folder.path().join("data/postmaster.pid").exists() {
            self.control(&["-m", "immediate", "-w", "stop"]);
        }
    }
}

/// Returns the folder of the server's programs.
fn programs() -> PathBuf {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| {
            entries
                .flatten()
                .map(|entry| entry.path().join("bin"))
                .collect()
        })
        .unwrap_or_default();
    versions.sort();
    folders.splice(0..0, versions.into_iter().rev());
    folders
        .into_iter()
        .find(|folder| {
            ["initdb", "pg_ctl", "postgres"]
                .iter()
                .all(|it| folder.join(it).exists())
        })
        .expect("install PostgreSQL (package postgresql) to run this test")
}

/// Returns the user that runs the server, if it is not the test's own: `postgres` instead of root.
fn owner(folder: &Path) -> Option<(u32, u32)> {
    use std::os::unix::fs::MetadataExt as _;
    if folder.metadata().expect("it was made").uid() != 0 {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").expect("a list of users");
    let line = users
        .lines()
        .find(|line| line.starts_with("postgres:"))
        .expect("a user postgres");
    let fields: Vec<&str> = line.split(':').collect();
    Some((
        fields[2].parse().expect("a number"),
        fields[3].parse().expect("a number"),
    ))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}
