//! Tokens, certificates and databases, from the command line.

use anyhow::{Result, anyhow};
use callgrove_provdb::AccessMode;
use callgrove_provdb_net::RemoteOptions;
use callgrove_provdb_stores::OpenOptions;
use callgrove_server::{Credential, Limits, ServerConfig, TlsFiles, Token, TokenFile};

use crate::output::warn;
use crate::user_token;
use callgrove_args::{CaArgs, ConnectArgs, ServeArgs};

/// Returns the credential for servers, unless none is to be sent.
pub(crate) fn credential(args: &ConnectArgs) -> Result<Option<Credential>> {
    if args.no_token {
        return Ok(None);
    }
    let credential = match Token::find(args.token_file.as_deref())? {
        Some(token) => token.stated(),
        None => {
            user_token::find()?.map_or(Credential::awaited(user_token::secret), |it| it.of_user())
        }
    };
    Ok(Some(credential.trusting(args.server_uid)))
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
    let token = match Token::find(args.token_file.as_deref())? {
        _ if args.no_token => None,
        Some(token) => Some(token),
        None => Some(user_token::find_or_create()?),
    };
    server_config_with(listen, args, token)
}

/// Returns the configuration of a server that requires `token`, or one of a list.
///
/// # Errors
/// The stated list cannot be read.
pub(crate) fn server_config_with(
    listen: std::net::SocketAddr,
    args: &ServeArgs,
    token: Option<Token>,
) -> Result<ServerConfig> {
    let tokens = args.tokens.as_deref().map(TokenFile::new);
    if let Some(tokens) = &tokens {
        // Later it may be missing, and is then empty; now that is probably a mistake.
        let made = || {
            let path = tokens.path().display();
            format!("make one with `callgrove token add {path} NAME --role read`")
        };
        tokens
            .read()
            .map_err(|error| anyhow!("{error}; {}", made()))?;
    }
    let tls = args.tls_cert.clone().zip(args.tls_key.clone());
    if token.is_none() {
        warn(&format!(
            "--no-token: every user of this machine can read and change everything at {listen}"
        ));
    }
    Ok(ServerConfig {
        listen,
        token,
        tokens,
        tls: tls.map(|(cert, key)| TlsFiles { cert, key }.into()),
        allows_plain_http: args.plain_http,
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
