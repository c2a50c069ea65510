//! `callgrove serve`: serves the page to browsers, on this machine or through a tunnel.

use std::env;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};
use callgrove_headless::{Readers, config_folder};
use callgrove_local::{create_private_folder, host_name};
use callgrove_pipeline::ServerAccess;
use callgrove_server::api::{self, Api, Live};
use callgrove_server::monitoring::{self, Monitored};
use callgrove_server::view::ViewedSession;
use callgrove_server::{RunningServer, ServerConfig, Token, address_with_token};
use callgrove_session::{Command as SessionCommand, UserCommand};
use callgrove_watch::WatchCommand;

use crate::announcement::pinned_url;
use crate::connect::{credential_of_server, server_config, server_config_with};
use crate::host::check_source;
use crate::output::{print, warn};
use crate::own_certificate;
use crate::pages;
use crate::platform::open_commands;
use callgrove_args::PageArgs;

pub(crate) fn run(args: &PageArgs) -> Result<()> {
    let config = config(args)?;
    let api = Api {
        live: Live::Absent,
        tree_models: None,
        documents: None,
    };
    let probes = monitoring::router(Monitored::default());
    let page = pages::routes(session(args)?)?.merge(probes);
    let server = RunningServer::start(config, || page.merge(api::router(api)))?;
    let base = server.url();
    let address = match server.page_token() {
        None => format!("{base}/"),
        Some(token) => address_with_token(&with_name(base), token),
    };
    print(|out| writeln!(out, "{address}"))?;
    if server.fingerprint().is_some() {
        warn(&format!(
            "for windows: callgrove open {}",
            pinned_url(&server)
        ));
    }
    if let Some(tunnel) = tunnel(server.local_addr(), |name| env::var(name).ok()) {
        warn(&format!(
            "from your own machine, reach it through a tunnel: {tunnel}"
        ));
    }
    let _opener = args.open.then(|| open(address)).transpose()?;
    server.wait_for_interrupt()?;
    server.stop()?;
    Ok(())
}

/// Returns the session that pages view, if any source is given.
fn session(args: &PageArgs) -> Result<Option<ViewedSession>> {
    let (mut opened, mut watched) = (None, None);
    let too_many = |source: &str| {
        anyhow!(
            "cannot serve {source} too: pages view one run or saved session, and one run's records"
        )
    };
    for open in open_commands(&args.sources, args.function.as_deref()) {
        match open {
            UserCommand::Watch(WatchCommand::Connect { address, .. }) => {
                ensure!(watched.is_none(), too_many(&address));
                let access = ServerAccess {
                    ca_file: args.ca.ca_file.clone(),
                    credential: credential_of_server(&args.serve)?,
                    own: None,
                };
                watched = Some((address, access));
            }
            UserCommand::Engine(mut open) => {
                let source = match &mut open {
                    SessionCommand::OpenTrace { source, .. } => {
                        check_source(source)?;
                        source.clone()
                    }
                    SessionCommand::LoadSession { path } => path.clone(),
                    _ => continue,
                };
                ensure!(opened.is_none(), too_many(&source));
                opened = Some((source, open));
            }
            _ => {}
        }
    }
    if opened.is_none() && watched.is_none() {
        return Ok(None);
    }
    pages::session(opened, watched).map(Some)
}

/// Returns the server's configuration. For an address that other machines can reach, a new token is generated at each
/// start, so that sharing the address does not share the token of all other servers of the user.
fn config(args: &PageArgs) -> Result<ServerConfig> {
    let listen = SocketAddr::new(args.bind, args.port);
    if args.bind.to_canonical().is_loopback() {
        return server_config(listen, &args.serve);
    }
    let token = match Token::find(args.serve.token_file.as_deref())? {
        _ if args.serve.no_token => None,
        Some(token) => Some(token),
        None => Some(Token::random()?),
    };
    let mut config = server_config_with(listen, &args.serve, token)?;
    if own_certificate::provide(&mut config)? {
        warn(
            "browsers warn of the certificate until you accept it; pass --tls-cert and --tls-key for one that they trust",
        );
    }
    Ok(config)
}

/// Replaces the unspecified address by the name under which other machines find this one.
fn with_name(base: &str) -> String {
    match host_name() {
        None => base.to_owned(),
        Some(name) => base.replace("0.0.0.0", &name).replace("[::]", &name),
    }
}

/// Returns the command that forwards the port to the browser's machine, if the user is logged in from another machine.
fn tunnel(served: SocketAddr, variable: impl Fn(&str) -> Option<String>) -> Option<String> {
    let connection = variable("SSH_CONNECTION")?;
    let mut words = connection.split(' ').skip(2);
    let (host, ssh_port) = (words.next()?, words.next()?);
    let user = variable("USER").map_or_else(String::new, |user| format!("{user}@"));
    let ssh_port = match ssh_port {
        "22" => String::new(),
        other => format!(" -p {other}"),
    };
    let port = served.port();
    let from = if served.ip().is_unspecified() {
        "localhost".to_owned()
    } else {
        // IPv6 addresses need brackets here.
        let text = served.to_string();
        text.rsplit_once(':')?.0.to_owned()
    };
    Some(format!(
        "ssh -N -L {port}:{from}:{port}{ssh_port} {user}{host}"
    ))
}

/// A file that leads a browser to the page, until it is dropped. Every user of the machine sees the arguments of a
/// command, and so would see the token in an address; only its user can read the file.
struct Opener(PathBuf);

impl Opener {
    fn write(address: &str) -> Result<Self> {
        let folder = config_folder().context("neither XDG_CONFIG_HOME nor HOME is set")?;
        create_private_folder(&folder)?;
        let path = folder.join(format!("page-{}.html", std::process::id()));
        fs::remove_file(&path).ok();
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        let mut file = Readers::User.of_new_file(&mut options).open(&path)?;
        let opener = Self(path);
        writeln!(
            file,
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <meta http-equiv=\"refresh\" content=\"0;url={address}\"><title>Callgrove</title>"
        )?;
        Ok(opener)
    }
}

impl Drop for Opener {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// Opens the page in the user's browser, which may run as long as the page is viewed. Without a browser the page is
/// served all the same. The result must live until the browser has read its file.
fn open(address: String) -> Result<Opener> {
    let opener = Opener::write(&address).context("cannot write the file for the browser")?;
    let file = opener.0.clone();
    let wait = move || {
        if let Err(error) = open_and_wait(&file) {
            warn(&format!("{error:#}; open {address} in a browser"));
        }
    };
    thread::Builder::new()
        .name("browser".to_owned())
        .spawn(wait)?;
    Ok(opener)
}

fn open_and_wait(file: &Path) -> Result<()> {
    let (program, before): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let status = Command::new(program)
        .args(before)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    ensure!(status.success(), "{program} found no browser");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suggested(served: &str, connection: &'static str) -> Option<String> {
        tunnel(served.parse().unwrap(), |name| match name {
            "SSH_CONNECTION" => Some(connection.to_owned()).filter(|it| !it.is_empty()),
            "USER" => Some("ada".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn the_tunnel_leads_to_the_machine_that_the_user_logged_in_from() {
        assert_eq!(
            suggested("127.0.0.1:7880", "10.0.0.9 51234 10.0.0.1 22").as_deref(),
            Some("ssh -N -L 7880:127.0.0.1:7880 ada@10.0.0.1")
        );
        assert_eq!(
            suggested("[::1]:7880", "10.0.0.9 51234 10.0.0.1 2222").as_deref(),
            Some("ssh -N -L 7880:[::1]:7880 -p 2222 ada@10.0.0.1")
        );
        assert_eq!(
            suggested("0.0.0.0:80", "10.0.0.9 51234 10.0.0.1 22").as_deref(),
            Some("ssh -N -L 80:localhost:80 ada@10.0.0.1")
        );
        for here in ["", "10.0.0.9 51234"] {
            assert_eq!(suggested("127.0.0.1:7880", here), None);
        }
    }
}
