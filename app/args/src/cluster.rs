//! The command line of `callgrove cluster`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::token::RoleArgs;

#[derive(Subcommand, Debug)]
pub enum ClusterCommand {
    /// Start the database and the parameter server of a job on this machine, in the background. Those that run already
    /// go on, so that the command also restarts one that has ended
    Up(ClusterUpArgs),
    /// End both, after everything is stored. Repeat it on the machine on which they were started
    Down {
        /// The folder given to `callgrove cluster up`
        #[arg(value_name = "JOB")]
        job: PathBuf,
    },
    /// Give a person or program access to both: make a token with a role, and write address files with it
    Invite {
        /// The folder given to `callgrove cluster up`
        #[arg(value_name = "JOB")]
        job: PathBuf,
        /// Name of the person or program: letters, digits, `-` and `_`
        #[arg(value_name = "NAME")]
        name: String,
        #[command(flatten)]
        role: RoleArgs,
    },
}

#[derive(Args, Debug)]
pub struct ClusterUpArgs {
    /// Folder that all machines of the job see, for the address files and the messages of the servers; created if missing
    #[arg(value_name = "JOB")]
    pub job: PathBuf,
    /// Location of the database: a folder of this machine (created if missing; SQLite cannot share its log over a
    /// network file system), or postgres://…
    #[arg(long, value_name = "FOLDER|URL")]
    pub provdb: String,
    /// Number of files to distribute the ranks over, when the database is created
    #[arg(long, value_name = "N")]
    pub shards: Option<u32>,
}
