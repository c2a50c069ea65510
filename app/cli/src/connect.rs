//! Connections between the pipeline's processes: tokens, certificates, databases.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use callgrove_provdb::{AccessMode, OpenOptions, ProvDbError, RemoteOptions, Store};
use callgrove_server::api::Documents;
use callgrove_server::{Credential, Limits, ServerConfig, TlsFiles, Token};

use crate::args::{CaArgs, ConnectArgs, ServeArgs};
use crate::output::warn;
use crate::user_token;

/// Maximum number of concurrent queries of the provenance database.
const MAX_QUERIES: usize = 4;
/// Timeout for a database that has not started yet.
const STARTUP_WAIT: Duration = Duration::from_secs(30);
/// Pause between two attempts.
const STARTUP_PAUSE: Duration = Duration::from_millis(200);

/// Returns the credential for servers, unless none is to be sent.
pub(crate) fn credential(args: &ConnectArgs) -> Result<Option<Credential>> {
    if args.no_token {
        return Ok(None);
    }
    Ok(Some(match Token::find(args.token_file.as_deref())? {
        Some(token) => token.stated(),
        None => user_token::find()?.map_or(Credential::of_user(None), |it| it.of_user()),
    }))
}

/// Returns the credential of a listening process for other servers: its own token, if one is given.
pub(crate) fn credential_of_server(args: &ServeArgs) -> Result<Option<Credential>> {
    credential(&ConnectArgs {
        token_file: args.token_file.clone(),
        no_token: args.no_token,
        ..ConnectArgs::default()
    })
}

/// Returns the configuration of a server. Without a given token, it requires the user's token.
pub(crate) fn server_config(
    listen: std::net::SocketAddr,
    args: &ServeArgs,
) -> Result<ServerConfig> {
    server_config_with(listen, args, user_token::find_or_create)
}

/// Returns the configuration of a server, with `token` as the default token.
pub(crate) fn server_config_with(
    listen: std::net::SocketAddr,
    args: &ServeArgs,
    token: impl FnOnce() -> Result<Token>,
) -> Result<ServerConfig> {
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    let token = if args.no_token {
        warn(&format!(
            "--no-token: every user of this machine can read and change everything at {listen}"
        ));
        None
    } else {
        Some(match Token::find(args.token_file.as_deref())? {
            Some(token) => token,
            None => token()?,
        })
    };
    Ok(ServerConfig {
        listen,
        token,
        tls: tls.map(|(cert, key)| TlsFiles { cert, key }),
        limits: Limits {
            max_connections: args.max_connections.get(),
            ..Limits::default()
        },
    })
}

/// Returns the options to open a provenance database.
pub(crate) fn store_options(
    mode: AccessMode,
    num_shards: Option<u32>,
    credential: Option<Credential>,
    ca: &CaArgs,
) -> OpenOptions {
    OpenOptions {
        mode,
        num_shards,
        remote: RemoteOptions {
            credential,
            ca_file: ca.ca_file.clone(),
        },
    }
}

/// Opens the database. A writer waits for one that has not started yet: the processes of a job start in any order.
pub(crate) fn open_store(url: &str, options: &OpenOptions) -> Result<Box<dyn Store>> {
    let start = Instant::now();
    let mut is_reported = false;
    loop {
        match callgrove_provdb::open(url, options) {
            Err(error @ ProvDbError::Unreachable { .. })
                if options.mode == AccessMode::ReadWrite && start.elapsed() < STARTUP_WAIT =>
            {
                if !is_reported {
                    warn(&format!("{error}; waiting for it"));
                    is_reported = true;
                }
                thread::sleep(STARTUP_PAUSE);
            }
            opened => return Ok(opened?),
        }
    }
}

/// Opens the database, if there is one, and calls `begin` with it. If the database goes away meanwhile, it is reopened.
pub(crate) fn begin_with_store<T>(
    url: Option<&str>,
    options: &OpenOptions,
    begin: impl Fn(&mut Option<Box<dyn Store>>) -> Result<T>,
) -> Result<(Option<Box<dyn Store>>, T)> {
    let start = Instant::now();
    loop {
        let mut store = url.map(|url| open_store(url, options)).transpose()?;
        match begin(&mut store) {
            Ok(begun) => return Ok((store, begun)),
            Err(error) if is_of_connection(&error) && start.elapsed() < STARTUP_WAIT => {
                warn(&format!("{error:#}; reopening the database"));
                thread::sleep(STARTUP_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether reopening a database may resolve an error.
fn is_of_connection(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(ProvDbError::Unreachable { .. } | ProvDbError::Database { .. })
    )
}

/// Returns the database for the JSON interface.
pub(crate) fn documents(url: &str, options: &OpenOptions) -> Documents {
    let (url, mut options) = (url.to_owned(), options.clone());
    options.mode = AccessMode::ReadOnly;
    options.num_shards = None;
    Documents::new(MAX_QUERIES, move || callgrove_provdb::open(&url, &options))
}
