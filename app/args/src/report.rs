//! Arguments of `callgrove report`.

use std::path::PathBuf;

use clap::Args;

use super::common::TraceArgs;

#[derive(Args, Debug)]
pub struct ReportArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Root function of the candidates, as for analyze
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    /// An incident of `callgrove incidents`, by its number; can be repeated. Without it, the 5 costliest are reported
    #[arg(long, value_name = "N")]
    pub incident: Vec<usize>,
    /// Largest number of candidates
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub candidates: usize,
    /// Another run, a trace or a provenance database, whose hosts are listed together with those of this one; can be
    /// repeated (see `callgrove nodes`)
    #[arg(long, value_name = "RUN")]
    pub nodes: Vec<String>,
    /// List all labels of this run, with author and time
    #[arg(long)]
    pub labels: bool,
    /// Leave out the hashes of the input files, which takes a second for each few hundred megabytes
    #[arg(long)]
    pub no_hashes: bool,
    /// File to write
    #[arg(long, short, value_name = "FILE.html")]
    pub out: PathBuf,
}
