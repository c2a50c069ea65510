//! How the pipeline's processes reach one another: tokens, certificates, databases.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use callgrove_provdb::{AccessMode, OpenOptions, ProvDbError, RemoteOptions, Store};
use callgrove_server::api::Documents;
use callgrove_server::{Limits, ServerConfig, TlsFiles, Token};

use crate::args::{CaArgs, ConnectArgs, ServeArgs};
use crate::output::complain;

/// Questions to the provenance database that are answered at the same time.
const MAX_QUESTIONS: usize = 4;
/// How long a database that is not up yet is waited for.
const STARTUP_WAIT: Duration = Duration::from_secs(30);
/// Pause between two attempts.
const STARTUP_PAUSE: Duration = Duration::from_millis(200);

/// The token to show, if there is one.
pub(crate) fn secret(args: &ConnectArgs) -> Result<Option<String>> {
    let token = Token::find(args.token_file.as_deref())?;
    Ok(token.map(|token| token.secret().to_owned()))
}

/// How a server listens.
pub(crate) fn server_config(
    listen: std::net::SocketAddr,
    args: &ServeArgs,
) -> Result<ServerConfig> {
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    Ok(ServerConfig {
        listen,
        token: Token::find(args.token_file.as_deref())?,
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
    token: Option<String>,
    ca: &CaArgs,
) -> OpenOptions {
    OpenOptions {
        mode,
        num_shards,
        remote: RemoteOptions {
            token,
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

/// The database as the JSON interface asks it.
pub(crate) fn documents(url: &str, options: &OpenOptions) -> Documents {
    let (url, mut options) = (url.to_owned(), options.clone());
    options.mode = AccessMode::ReadOnly;
    options.num_shards = None;
    Documents::new(MAX_QUESTIONS, move || {
        callgrove_provdb::open(&url, &options)
    })
}
