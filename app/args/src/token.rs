//! The command line of `callgrove token`.

use std::path::PathBuf;

use callgrove_server::TokenRole;
use clap::{Args, Subcommand};

use super::connection::ConnectArgs;

#[derive(Subcommand, Debug)]
pub enum TokenCommand {
    /// Make a token, add it to a list, and print it. The list has only its digest, so it cannot be printed again
    Add {
        /// The list, which a server has by --tokens; created if missing
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Name of the person or program that gets the token: letters, digits, `-` and `_`
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        role: RoleArgs,
    },
    /// Print the names and roles of a list, or of a server with the times at which they were last used
    List {
        /// The list
        #[arg(
            value_name = "FILE",
            required_unless_present = "server",
            conflicts_with = "server"
        )]
        file: Option<PathBuf>,
        /// Print how the tokens of this server are used, by its URL or address file; needs the role `write`
        #[arg(long, value_name = "URL|FILE.address")]
        server: Option<String>,
        #[command(flatten)]
        connect: ConnectArgs,
    },
    /// Remove a token from a list. Its servers refuse it within seconds, and end what it has open
    Revoke {
        /// The list
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Name of the token
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Args, Debug)]
pub struct RoleArgs {
    /// What the token allows: read (pages, queries, streams and metrics), label (also labels, marks and what pages share),
    /// publish (also models of the running job) or write (everything)
    #[arg(long, value_name = "ROLE")]
    pub role: TokenRole,
}
