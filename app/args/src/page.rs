//! The command lines of `callgrove serve` and `callgrove export`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args;

use super::connection::{CaArgs, ServeArgs};

#[derive(Args, Debug)]
pub struct ExportArgs {
    /// A trace, as for analyze, or with --web a saved session. Without it, the exported page opens files that are
    /// dropped on it
    #[arg(value_name = "TRACE|SESSION", required_unless_present = "web")]
    pub sources: Vec<String>,
    /// Function whose abnormal executions a file for other programs shows, or which the page opens, as for analyze
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    /// Write the page and the run to a folder that any web server can serve
    #[arg(long, value_name = "FOLDER", required_unless_present = "out")]
    pub web: Option<PathBuf>,
    /// Write one file. Its extension says what for: .callgrove can be dropped on the page of `callgrove serve` or opened
    /// as a trace; .pftrace opens at ui.perfetto.dev, and .json (Chrome JSON) in other programs, with incidents and
    /// abnormal executions on tracks of their own. .pftrace.gz and .json.gz are smaller
    #[arg(long, short, value_name = "FILE", conflicts_with = "web")]
    pub out: Option<PathBuf>,
    /// Write the run alone to a .pftrace or .json file, without what was found in it
    #[arg(long, conflicts_with = "web")]
    pub no_findings: bool,
    /// Print the duration of each stage on standard error
    #[arg(long, conflicts_with = "web")]
    pub timings: bool,
}

#[derive(Args, Debug)]
pub struct PageArgs {
    /// Sources of the run, as for `callgrove open`: a trace or a saved session, and its provenance database or the
    /// server of the running job, by its URL or address file. Without any, the page opens files that are dropped on it
    #[arg(value_name = "TRACE|SESSION|FOLDER|URL|FILE.address")]
    pub sources: Vec<String>,
    /// Root function to start with, as for analyze
    #[arg(long, short, value_name = "A", requires = "sources")]
    pub function: Option<String>,
    /// Port to listen on; 0 selects a free port
    #[arg(long, value_name = "PORT", default_value_t = callgrove_server::DEFAULT_PORT)]
    pub port: u16,
    /// Address to listen on. Unless it is a loopback address or you supply a token, a new token is generated and printed
    /// with the address; and unless you supply a certificate, or pass --plain-http, the page is served over https with
    /// your own certificate, made once, of which browsers warn
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,
    /// Open the page in the browser of this machine
    #[arg(long)]
    pub open: bool,
    #[command(flatten)]
    pub serve: ServeArgs,
    #[command(flatten)]
    pub ca: CaArgs,
}
