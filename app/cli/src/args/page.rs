//! The command line of the page.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::pipeline::{CaArgs, ServeArgs};

#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// A trace, as for analyze, or with --web a saved session; without it the folder opens what is dropped on its page
    #[arg(value_name = "TRACE|SESSION", required_unless_present = "web")]
    pub(crate) source: Option<String>,
    /// Root function that the page begins with, as for analyze
    #[arg(long, short, value_name = "A", requires = "web")]
    pub(crate) function: Option<String>,
    /// A folder for any web server: the page and the run, which needs no server of Callgrove
    #[arg(long, value_name = "FOLDER", required_unless_present = "out")]
    pub(crate) web: Option<PathBuf>,
    /// One file, to be dropped on the page of `callgrove serve`, or opened as a trace
    #[arg(long, short, value_name = "FILE.callgrove", conflicts_with = "web")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PageArgs {
    /// What pages look at, as for open: a trace or a saved session, and the records of the run: its provenance database
    /// or the server of the running job. Without any a page is alone, and opens what is dropped on it
    #[arg(value_name = "TRACE|SESSION|FOLDER|URL")]
    pub(crate) sources: Vec<String>,
    /// Root function to start with, as for analyze
    #[arg(long, short, value_name = "A", requires = "sources")]
    pub(crate) function: Option<String>,
    /// Port to listen on; 0 takes any free port
    #[arg(long, value_name = "PORT", default_value_t = callgrove_server::DEFAULT_PORT)]
    pub(crate) port: u16,
    /// Address to listen on. For any other than a loopback address a new token is made, unless one is stated, and printed in
    /// the address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// Open the page in the browser of this machine
    #[arg(long)]
    pub(crate) open: bool,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    #[command(flatten)]
    pub(crate) ca: CaArgs,
}
