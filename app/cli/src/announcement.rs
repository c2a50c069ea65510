//! A server of the pipeline that starts: where it listens, and how clients learn its address.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use callgrove_local::create_private_folder;
use callgrove_pipeline::address_of;
use callgrove_server::{
    AddressFile, LateRoutes, Router, RunningServer, ServerAnnouncement, ServerConfig, ServerError,
    TlsCertificate, Token, TokenFile,
};
use tracing::Level;

use crate::connect::{server_config, server_config_with};
use crate::log_lines::write_line;
use crate::output::warn;
use crate::own_certificate;
use callgrove_args::ServeArgs;

/// Name of the list of tokens in a folder with address files.
pub(crate) const TOKENS_NAME: &str = "tokens";

/// A server before its start.
pub(crate) struct ServerPlan {
    config: ServerConfig,
    announced_in: Option<AddressFile>,
    /// True if clients need the fingerprint of the certificate.
    has_own_certificate: bool,
}

impl ServerPlan {
    /// Returns the plan of the options. `default` is where a server listens that neither states an address nor announces
    /// one.
    ///
    /// # Errors
    /// If other users could replace the address file, or there is no token.
    pub(crate) fn new(
        listen: Option<SocketAddr>,
        default: SocketAddr,
        serve: &ServeArgs,
        announce: Option<&Path>,
    ) -> Result<Self> {
        let Some(path) = announce else {
            let mut config = server_config(listen.unwrap_or(default), serve)?;
            let has_own_certificate = own_certificate::provide(&mut config)?;
            return Ok(Self {
                config,
                announced_in: None,
                has_own_certificate,
            });
        };
        let file = AddressFile::to_write(path).map_err(|fault| anyhow!(fault))?;
        let folder = folder_of(path);
        create_private_folder(folder)
            .with_context(|| format!("cannot write an address file into {}", folder.display()))?;
        let any = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
        // The variable is for clients and servers without address files.
        let token = match &serve.token_file {
            Some(stated) => Token::from_file(stated)?,
            None => token_of(&file)?,
        };
        let mut config = server_config_with(listen.unwrap_or(any), serve, Some(token))?;
        let tokens = || TokenFile::new(&folder.join(TOKENS_NAME));
        config.tokens.get_or_insert_with(tokens);
        config.tls.get_or_insert(TlsCertificate::Generated);
        Ok(Self {
            config,
            announced_in: Some(file),
            has_own_certificate: false,
        })
    }

    /// Starts the server, and announces it.
    ///
    /// # Errors
    /// If it cannot listen, or the address file cannot be written.
    pub(crate) fn start(self, routes: impl FnOnce() -> Router) -> Result<RunningServer> {
        self.start_by(|config| RunningServer::start(config, routes))
    }

    /// Starts a server whose routes are set later, and announces it.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub(crate) fn start_late(self, routes: &LateRoutes) -> Result<RunningServer> {
        self.start_by(|config| RunningServer::start_late(config, routes))
    }

    fn start_by(
        self,
        start: impl FnOnce(ServerConfig) -> Result<RunningServer, ServerError>,
    ) -> Result<RunningServer> {
        let token = self.config.token.clone();
        let server = start(self.config)?;
        if self.has_own_certificate {
            let text = format!(
                "clients recognize the server by its certificate: {}",
                pinned_url(&server)
            );
            write_line(Level::INFO, &text);
        }
        if let Some(file) = &self.announced_in {
            let parts = server.fingerprint().zip(token);
            let (fingerprint, token) = parts.context("an announced server has no certificate")?;
            let address = address_of(server.local_addr());
            let announcement = ServerAnnouncement {
                url: format!("https://{address}").parse()?,
                fingerprint,
                token: token.secret().to_owned(),
            };
            file.write(&announcement)?;
            for invitation in invitations(file)? {
                update(&invitation, &announcement);
            }
            let path = file.path().display();
            write_line(
                Level::INFO,
                &format!("the server at {address} is announced in {path}"),
            );
        }
        Ok(server)
    }
}

/// Returns the token of an address file that this server wrote before, so that clients of it need no new one, or else a
/// new token.
pub(crate) fn token_of(file: &AddressFile) -> Result<Token> {
    let before = file.read(None).or_else(|_| file.read_bus(None)).ok();
    let before = before.and_then(|it| Token::new(&it.token, "the address file").ok());
    Ok(before.map_or_else(Token::random, Ok)?)
}

/// Returns the address file by which the holder of a token reaches a server; the server updates it with its own.
pub(crate) fn invitation(file: &AddressFile, name: &str) -> Result<AddressFile> {
    let path = file.path().with_extension(format!("{name}.address"));
    AddressFile::to_write(&path).map_err(|fault| anyhow!(fault))
}

/// Returns the address files with other tokens for the server of a file.
fn invitations(file: &AddressFile) -> Result<Vec<AddressFile>> {
    let (path, folder) = (file.path(), folder_of(file.path()));
    let start = path.file_stem().unwrap_or_default().to_string_lossy();
    let start = format!("{start}.");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let other = entry?.path();
        let name = other.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(&start) && path.file_name() != other.file_name() {
            found.extend(AddressFile::to_write(&other));
        }
    }
    Ok(found)
}

/// Writes the new place of a server to an address file with another token.
fn update(invitation: &AddressFile, announcement: &ServerAnnouncement) {
    let updated = invitation.read(None).and_then(|before| {
        invitation.write(&ServerAnnouncement {
            token: before.token,
            ..announcement.clone()
        })
    });
    if let Err(error) = updated {
        warn(&error.to_string());
    }
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|it| !it.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Returns the URL by which clients on other machines reach a server and recognize its certificate.
pub(crate) fn pinned_url(server: &RunningServer) -> String {
    let fingerprint = server.fingerprint().map(|it| format!("#{it}"));
    format!(
        "https://{}{}",
        address_of(server.local_addr()),
        fingerprint.unwrap_or_default()
    )
}
