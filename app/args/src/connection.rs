//! Options of servers and clients: addresses, tokens and certificates.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

/// Where a server announces itself.
#[derive(Args, Debug)]
pub struct AnnounceArgs {
    /// Write the address of the server, the fingerprint of its certificate and its token to this file when it is
    /// reachable, for clients that name the file in place of the URL. The server uses TLS with a new certificate, unless
    /// --tls-cert names one, and a token of its own, unless --token-file names one
    #[arg(long, value_name = "FILE.address", conflicts_with_all = ["no_token", "plain_http"])]
    pub announce: Option<PathBuf>,
}

/// Options of a server: its token, certificate and limits.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// File with the token that clients must send; or set CALLGROVE_TOKEN. Default: the token in your configuration
    /// folder (~/.config/callgrove/token), created at the first start, which your own commands on this machine find
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Require no token: every user of this machine can then read and change everything. On loopback addresses only
    #[arg(long, conflicts_with = "token_file")]
    pub no_token: bool,
    /// List of further tokens, each with a name and a role (`callgrove token add`). It is read again when it changes, so
    /// that a token can be revoked without a restart. Default with --announce: `tokens` in the folder of the address file
    #[arg(long, value_name = "FILE", conflicts_with = "no_token")]
    pub tokens: Option<PathBuf>,
    /// Certificate of the server (PEM), for https. Default on addresses that other machines can reach: your own, made once;
    /// the server prints its URL with the fingerprint, https://HOST:PORT#sha256:…, which all commands accept
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Allow an address that other machines can reach without TLS: the token and all data then cross the network in the
    /// clear
    #[arg(long, conflicts_with = "tls_cert")]
    pub plain_http: bool,
    /// Maximum number of connected clients, one for each AD instance; further ones are refused
    #[arg(long, value_name = "N", default_value = "4096")]
    pub max_connections: NonZeroUsize,
}

/// Options of a client: its token and trusted certificates.
#[derive(Args, Debug, Default)]
pub struct ConnectArgs {
    /// File with the token of the servers; or set CALLGROVE_TOKEN. Default: the token in your configuration folder
    /// (~/.config/callgrove/token), for your own servers on this machine and over https
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Send no token, and connect to a server on this machine whichever user it belongs to
    #[arg(long, conflicts_with = "token_file")]
    pub no_token: bool,
    /// Trust the servers of another user of this machine, named by the number that `id -u NAME` prints. Without it
    /// they get no token, not even that of --token-file; root's servers get that one
    #[arg(long, value_name = "UID")]
    pub server_uid: Option<u32>,
    #[command(flatten)]
    pub ca: CaArgs,
}

#[derive(Args, Debug, Default)]
pub struct CaArgs {
    /// Certificate (PEM) of the authority that signed the servers' certificates, if it is not a public one. Not needed for
    /// address files, and URLs with a fingerprint
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}
