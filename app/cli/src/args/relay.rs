//! The command line of the relay.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(crate) struct RelayArgs {
    /// Live streams of a running job, each by the name given to TAU (NAME.sst is the contact file), such as
    /// bp/tau-metrics-lmp-{0..3}.bp
    #[arg(long, value_name = "NAME", num_args = 1.., required = true)]
    pub(crate) sst: Vec<String>,
    /// Folder of the files, for `callgrove ad --follow`; each has the name of its stream. One on a local disk or in memory is
    /// the fastest
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// Size of all files, in megabytes, from which on steps are dropped; without it, once the disk is full
    #[arg(long, value_name = "MB")]
    pub(crate) max_mb: Option<u64>,
    /// Give up on streams that have not appeared after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) connect_timeout: u64,
}
