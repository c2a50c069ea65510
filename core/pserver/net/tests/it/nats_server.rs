//! A nats-server of a test: a message bus without token and TLS.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A nats-server that keeps its port and its data when it starts again.
pub(crate) struct NatsServer {
    folder: TempDir,
    port: u16,
    child: Option<Child>,
}

impl NatsServer {
    /// Starts one with JetStream and the setting that a bus needs.
    pub(crate) fn start() -> Self {
        Self::with_settings("max_payload: 8MB")
    }

    /// Starts one with these settings besides JetStream.
    pub(crate) fn with_settings(settings: &str) -> Self {
        let port = free_port();
        let folder = tempfile::tempdir().expect("there is space");
        let data = folder.path().join("data");
        let data = data.display();
        let config = format!(
            "listen: 127.0.0.1:{port}\n{settings}\njetstream {{ store_dir: \"{data}\" }}\n"
        );
        fs::write(folder.path().join("nats.conf"), config).expect("there is space");
        let mut server = Self {
            folder,
            port,
            child: None,
        };
        server.start_again();
        server
    }

    /// Starts it again after [`kill`](Self::kill).
    pub(crate) fn start_again(&mut self) {
        let program = std::env::var_os("CALLGROVE_NATS_SERVER");
        let program = program.unwrap_or_else(|| "nats-server".into());
        let mut command = Command::new(&program);
        command.arg("-c").arg(self.folder.path().join("nats.conf"));
        command.stderr(Stdio::null());
        self.child = Some(command.spawn().unwrap_or_else(|error| {
            let program = Path::new(&program).display();
            panic!("{error}: {program}; `cargo xtask test` installs it")
        }));
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it was started here");
        }
    }

    /// Returns the URL of a job on it.
    pub(crate) fn url(&self, job: &str) -> String {
        format!("nats://{}/{job}", self.address())
    }

    /// Returns where it listens.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

/// Returns a port that is free at present.
pub(crate) fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    free.local_addr().expect("it is bound").port()
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}
