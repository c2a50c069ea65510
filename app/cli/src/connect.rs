//! How the pipeline's processes reach one another: tokens, certificates, databases.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use callgrove_provdb::{AccessMode, OpenOptions, ProvDbError, RemoteOptions, Store};
use callgrove_server::api::Documents;
use callgrove_server::{Credential, Limits, ServerConfig, TlsFiles, Token};

use crate::args::{CaArgs, ConnectArgs, ServeArgs};
use crate::output::complain;
use crate::user_token;

/// Questions to the provenance database that are answered at the same time.
const MAX_QUESTIONS: usize = 4;
/// How long a database that is not up yet is waited for.
const STARTUP_WAIT: Duration = Duration::from_secs(30);
/// Pause between two attempts.
const STARTUP_PAUSE: Duration = Duration::from_millis(200);

/// Returns what servers are shown, unless nothing shall be.
pub(crate) fn credential(args: &ConnectArgs) -> Result<Option<Credential>> {
    if args.no_token {
        return Ok(None);
    }
    Ok(Some(match Token::find(args.token_file.as_deref())? {
        Some(token) => token.stated(),
        None => user_token::found()?.map_or(Credential::of_user(None), |it| it.of_user()),
    }))
}

/// Returns what a process that listens shows to other servers: what it asks for itself, if a token was stated.
pub(crate) fn credential_of_server(args: &ServeArgs) -> Result<Option<Credential>> {
    credential(&ConnectArgs {
        token_file: args.token_file.clone(),
        no_token: args.no_token,
        ..ConnectArgs::default()
    })
}

/// How a server listens. Where no token is stated, it asks for that of the user.
pub(crate) fn server_config(
    listen: std::net::SocketAddr,
    args: &ServeArgs,
) -> Result<ServerConfig> {
    server_config_with(listen, args, user_token::found_or_made)
}

/// The same with another token where none is stated.
pub(crate) fn server_config_with(
    listen: std::net::SocketAddr,
    args: &ServeArgs,
    token: impl FnOnce() -> Result<Token>,
) -> Result<ServerConfig> {
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    let token = if args.no_token {
        complain(&format!(
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

/// How a provenance database is opened.
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

/// Opens the database. Whoever writes waits for one that is not up yet: the processes of a job start in any order.
pub(crate) fn open_store(url: &str, options: &OpenOptions) -> Result<Box<dyn Store>> {
    let start = Instant::now();
    let mut is_told = false;
    loop {
        match callgrove_provdb::open(url, options) {
            Err(error @ ProvDbError::Unreachable { .. })
                if options.mode == AccessMode::ReadWrite && start.elapsed() < STARTUP_WAIT =>
            {
                if !is_told {
                    complain(&format!("{error}; waiting for it"));
                    is_told = true;
                }
                thread::sleep(STARTUP_PAUSE);
            }
            opened => return Ok(opened?),
        }
    }
}

/// Opens the database, if there is one, and begins with what it has. A database that goes away meanwhile is opened again.
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
                complain(&format!("{error:#}; opening the database again"));
                thread::sleep(STARTUP_PAUSE);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whether a database that was opened a moment ago may answer when it is opened again.
fn is_of_connection(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(ProvDbError::Unreachable { .. } | ProvDbError::Database { .. })
    )
}

/// The database as the JSON interface asks it.
pub(crate) fn documents(url: &str, options: &OpenOptions) -> Documents {
    let (url, mut options) = (url.to_owned(), options.clone());
    options.mode = AccessMode::ReadOnly;
    options.num_shards = None;
    Documents::new(MAX_QUESTIONS, move || {
        callgrove_provdb::open(&url, &options)
    })
}
