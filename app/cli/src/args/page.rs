//! The command line of the page.

use std::net::IpAddr;

use clap::Args;

use super::pipeline::ServeArgs;

#[derive(Args, Debug)]
pub(crate) struct PageArgs {
    /// What pages look at: a trace, as for open, or a saved session. Without it a page is alone, and opens what is dropped
    /// on it
    #[arg(value_name = "RUN|SESSION")]
    pub(crate) run: Option<String>,
    /// Root function to start with, as for analyze
    #[arg(long, short, value_name = "A", requires = "run")]
    pub(crate) function: Option<String>,
    /// Port to listen on; 0 takes any free port
    #[arg(long, value_name = "PORT", default_value_t = callgrove_server::DEFAULT_PORT)]
    pub(crate) port: u16,
    /// Address to listen on. Any other than a loopback address needs a token; without --token-file a new one is made and
    /// printed in the address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// Open the page in the browser of this machine
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}
