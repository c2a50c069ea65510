//! The command line of `callgrove relay`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub struct RelayArgs {
    /// Live streams of a running job, each with the name given to TAU (NAME.sst is the contact file), such as
    /// bp/tau-metrics-lmp-{0..3}.bp
    #[arg(long, value_name = "NAME", num_args = 1.., required = true)]
    pub sst: Vec<String>,
    /// Folder of the files, for `callgrove ad --follow`; each has the name of its stream. It is made for its user
    /// alone. A folder on a local disk or in memory is fastest
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Total size of the files in megabytes above which steps are dropped. Without it, steps are dropped once the disk
    /// is full
    #[arg(long, value_name = "MB")]
    pub max_mb: Option<u64>,
    /// Timeout for streams that have not appeared yet, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub connect_timeout: u64,
}
