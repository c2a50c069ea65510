//! The command lines of the pipeline for a running job.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};

use super::common::{ClassArgs, TableArgs, TraceArgs};
use super::connection::{AnnounceArgs, CaArgs, ConnectArgs, ServeArgs};
use super::detect::DetectArgs;
use super::part::PartArgs;

#[derive(Args, Debug)]
pub struct AdArgs {
    #[command(flatten)]
    pub streams: StreamArgs,
    #[command(flatten)]
    pub detect: DetectArgs,
    /// Parameter server that joins the models of all AD instances: its URL, such as http://head:5559, or its address file
    /// (--announce). Without it, the models are those of this instance's ranks
    #[arg(long, value_name = "URL|FILE.address")]
    pub pserver: Option<String>,
    /// Message bus over which the parameter server joins the models instead: the address file of `callgrove bus`, or
    /// nats://host:port/JOB of a NATS server of your site
    #[arg(long, value_name = "FILE.address|URL", conflicts_with = "pserver")]
    pub bus: Option<String>,
    /// Group of this instance on the message bus: its data come to the parameter server in the sums of the merger of the
    /// group (`callgrove merger`)
    #[arg(long, value_name = "N", requires = "bus")]
    pub group: Option<u32>,
    #[command(flatten)]
    pub provdb: ProvDbArgs,
    #[command(flatten)]
    pub connect: ConnectArgs,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = SummaryFormat::Table)]
    pub format: SummaryFormat,
}

#[derive(Args, Debug)]
#[command(group(ArgGroup::new("served").multiple(true)))]
pub struct RunArgs {
    #[command(flatten)]
    pub streams: StreamArgs,
    /// Judge the records of a finished live run in this provenance database again, with the complete models and the
    /// run's detector options. For instances that exited with 3 because they judged before the models were complete
    #[arg(long, value_name = "FOLDER|URL", group = "input", conflicts_with_all = ["provdb", "listen", "announce"])]
    pub rejudge: Option<String>,
    #[command(flatten)]
    pub detect: DetectArgs,
    #[command(flatten)]
    pub provdb: ProvDbArgs,
    #[command(flatten)]
    pub stats: StatsArgs,
    /// Serve the live overview on this address, for `callgrove open`; port 0 selects a free port
    #[arg(long, value_name = "ADDRESS:PORT", group = "served")]
    pub listen: Option<SocketAddr>,
    /// Serve the live overview, and write its address, certificate and token to this file when it is reachable (see
    /// `callgrove pserver`)
    #[arg(
        long,
        value_name = "FILE.address",
        group = "served",
        conflicts_with_all = ["no_token", "plain_http"]
    )]
    pub announce: Option<PathBuf>,
    #[command(flatten)]
    pub serve: ServeArgs,
    #[command(flatten)]
    pub connect: CaArgs,
    /// Keep serving after the last stream has ended, until interrupted
    #[arg(long, requires = "served")]
    pub stay: bool,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = SummaryFormat::Table)]
    pub format: SummaryFormat,
}

#[derive(Args, Debug)]
pub struct PserverArgs {
    /// Address for AD instances and monitors; port 0 selects a free port [default: 127.0.0.1:5559; with --announce a free
    /// port on all addresses of this machine]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    #[command(flatten)]
    pub announce: AnnounceArgs,
    #[command(flatten)]
    pub serve: ServeArgs,
    /// Provenance database that the AD instances write: a folder, a URL, or the address file of `callgrove provdb`. The
    /// statistics and models of the run are saved there, and `callgrove open` finds the anomalies there
    #[arg(long, value_name = "FOLDER|URL|FILE.address")]
    pub provdb: Option<String>,
    /// Message bus over which AD instances send their data instead: the address file of `callgrove bus`, or
    /// nats://host:port/JOB of a NATS server of your site
    #[arg(long, value_name = "FILE.address|URL")]
    pub bus: Option<String>,
    #[command(flatten)]
    pub stats: StatsArgs,
    #[command(flatten)]
    pub ca: CaArgs,
    /// Exit when every AD instance that connected has signed off
    #[arg(long)]
    pub auto_shutdown: bool,
}

#[derive(Args, Debug)]
pub struct MergerArgs {
    /// Message bus of the job: the address file of `callgrove bus`, or nats://host:port/JOB of a NATS server of your site
    #[arg(long, value_name = "FILE.address|URL")]
    pub bus: String,
    /// The group: that of `callgrove ad --group`
    #[arg(long, value_name = "N")]
    pub group: u32,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub struct ProvDbServerArgs {
    /// Location of the database: a folder (created if missing) or postgres://…
    #[arg(value_name = "FOLDER|URL", required = true)]
    pub provdb: Option<String>,
    /// Number of files to distribute the ranks over, when the database is created
    #[arg(long, value_name = "N")]
    pub shards: Option<u32>,
    /// Address for AD instances and monitors; port 0 selects a free port [default: 127.0.0.1:5560; with --announce a free
    /// port on all addresses of this machine]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    #[command(flatten)]
    pub announce: AnnounceArgs,
    /// Also answer plain SQL (`callgrove query URL --sql`): read-only, one statement at a time, for at most 30 s and
    /// with at most a million rows or 64 MiB
    #[arg(long)]
    pub allow_sql: bool,
    #[command(flatten)]
    pub serve: ServeArgs,
}

#[derive(Args, Debug)]
pub struct QueryArgs {
    /// The provenance database: its folder, postgres://…, or the URL or address file of `callgrove provdb`
    #[arg(value_name = "FOLDER|URL|FILE.address")]
    pub provdb: String,
    /// Collection: anomalies, normalexecs, metadata, func_stats, counter_stats, ad_model, incidents, trends or trees;
    /// or run, for the identity of the run
    #[arg(
        value_name = "COLLECTION",
        default_value = "anomalies",
        conflicts_with = "sql"
    )]
    pub collection: String,
    /// Print only documents that match a condition, such as `outlier_score > 50 and func like 'MPI_*' and rid in (0,
    /// 3)` or `event_window.comm_window[*].tar = 5`
    #[arg(long = "where", value_name = "FILTER", conflicts_with = "sql")]
    pub filter: Option<String>,
    /// Sort by score, severity, or any field of the documents, in descending order
    #[arg(long, value_name = "FIELD", conflicts_with = "sql")]
    pub sort: Option<String>,
    /// Sort in ascending order
    #[arg(long, requires = "sort")]
    pub ascending: bool,
    /// Print at most N documents
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "sql")]
    pub limit: Option<u64>,
    /// Skip the first N documents
    #[arg(long, value_name = "N", conflicts_with = "sql")]
    pub offset: Option<u64>,
    /// Print only the number of documents
    #[arg(long, conflicts_with = "sql")]
    pub count: bool,
    /// Run plain SQL instead, read-only. There is one table per collection, with the JSON in the column `doc`. A server
    /// answers SQL if it was started with --allow-sql
    #[arg(long, value_name = "SELECT …")]
    pub sql: Option<String>,
    /// Fields to print in tables and CSV, such as rid,func,event_window.comm_window
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub columns: Option<Vec<String>>,
    #[command(flatten)]
    pub table: TableArgs,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub struct ModelArgs {
    #[command(subcommand)]
    pub command: ModelCommand,
}

#[derive(Subcommand, Debug)]
pub enum ModelCommand {
    /// Show what a model was learned from: a model file, or a model of a running job
    Show {
        /// A model file, or with --server the name of a model
        #[arg(value_name = "FILE|NAME")]
        model: String,
        #[command(flatten)]
        server: OptionalServerArgs,
        /// Version to show, instead of the one in force
        #[arg(long, value_name = "N", requires = "server")]
        version: Option<u32>,
        /// Also write the model to this file
        #[arg(long, value_name = "FILE", requires = "server")]
        save: Option<PathBuf>,
        #[command(flatten)]
        table: TableArgs,
    },
    /// List the tree models of a running job, their versions, and which AD instances have them
    List {
        #[command(flatten)]
        server: ServerArgs,
        #[command(flatten)]
        table: TableArgs,
    },
    /// Put a model in force for the AD instances of a running job, from their next step on
    Publish(PublishArgs),
    /// Evaluate a model on a run: the share of abnormal executions, whether it fits, and its accuracy
    Evaluate(ModelEvaluateArgs),
    /// Put the previous version, or another one, in force again
    Rollback {
        /// Name of the model
        name: String,
        #[command(flatten)]
        server: ServerArgs,
        /// Version to put in force [default: the one before that in force]
        #[arg(long, value_name = "N", conflicts_with = "off")]
        to: Option<u32>,
        /// Put no version in force
        #[arg(long)]
        off: bool,
    },
    /// Compare the results of two models on the executions of a run
    Diff {
        /// First model file
        before: PathBuf,
        /// Second model file
        after: PathBuf,
        #[command(flatten)]
        trace: TraceArgs,
        #[command(flatten)]
        table: TableArgs,
    },
}

#[derive(Args, Debug)]
pub struct PublishArgs {
    /// Model file, as saved by `analyze --save-model` or in the window
    #[arg(value_name = "FILE")]
    pub model: PathBuf,
    #[command(flatten)]
    pub server: ServerArgs,
    /// Name of the model [default: the function that it is for]
    #[arg(long)]
    pub name: Option<String>,
    /// Why the model was made, for the list of versions
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub note: String,
    /// Only report what would change for the trees that the job has recorded
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run: use only the trees of the last N steps
    #[arg(long, value_name = "N", requires = "dry_run")]
    pub last: Option<u64>,
    /// With --dry-run: labels as CSV with the columns rank,index,label,event_id; only rows with an event_id are used
    #[arg(long, value_name = "FILE.csv", requires = "dry_run")]
    pub labels: Option<PathBuf>,
    #[command(flatten)]
    pub table: TableArgs,
}

#[derive(Args, Debug)]
pub struct ModelEvaluateArgs {
    /// Model file, as saved by `analyze --save-model` or in the window
    #[arg(value_name = "FILE")]
    pub model: PathBuf,
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Root function [default: that of the model]
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    #[command(flatten)]
    pub part: PartArgs,
    /// True labels of the executions, as for `callgrove evaluate`. For recorded trees (`trees:...`), rows need an
    /// event_id and no index
    #[arg(long, value_name = "FILE.csv")]
    pub truth: Option<PathBuf>,
    #[command(flatten)]
    pub classes: ClassArgs,
    #[command(flatten)]
    pub table: TableArgs,
}

/// The server of a running job.
#[derive(Args, Debug)]
pub struct ServerArgs {
    /// The parameter server of the job: `callgrove pserver`, or `callgrove run --listen`; its URL or address file
    #[arg(long, value_name = "URL|FILE.address")]
    pub server: String,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub struct OptionalServerArgs {
    /// The parameter server of the job: its URL or address file
    #[arg(long, value_name = "URL|FILE.address")]
    pub server: Option<String>,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// A run's folder, one rank's .bp folder, or a pattern such as 'run/*.bp'
    pub trace: String,
    /// Format of the published streams
    #[arg(long, value_enum, ignore_case = true, default_value_t = ReplayEngine::Sst)]
    pub engine: ReplayEngine,
    /// Folder of the streams; each has the name of the recorded one
    #[arg(long, value_name = "FOLDER")]
    pub out: PathBuf,
    /// Speed as a multiple of the recorded one, from 0.001 to 1000000; 0 publishes as fast as possible
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub speed: f64,
}

#[derive(Args, Debug)]
#[group(id = "input", required = true, multiple = false)]
pub struct StreamInputArgs {
    /// A run's folder, one rank's file or .bp folder, a pattern such as 'run/*.bp', or several of these that belong
    /// together (docs/formats.md lists the formats)
    #[arg(value_name = "TRACE")]
    pub trace: Vec<String>,
    /// Live streams of a running job, each with the name given to TAU (NAME.sst is the contact file), such as
    /// bp/tau-metrics-lmp-{0..3}.bp
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub sst: Vec<String>,
}

#[derive(Args, Debug)]
pub struct StreamArgs {
    #[command(flatten)]
    pub input: StreamInputArgs,
    /// Follow BP files that are still being written. Waits for files of ranks that the run states and that are missing
    /// so far, if TRACE covers them
    #[arg(long, conflicts_with = "sst")]
    pub follow: bool,
    /// Timeout for live streams that have not appeared yet, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub connect_timeout: u64,
    /// Number of this program in a workflow of several programs
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub program: u32,
}

#[derive(Args, Debug)]
pub struct ProvDbArgs {
    /// Provenance database to record anomalies in: a folder (created if missing), postgres://…, or the URL or address file
    /// of `callgrove provdb`. Without it, anomalies are only counted
    #[arg(long, value_name = "FOLDER|URL|FILE.address")]
    pub provdb: Option<String>,
    /// Number of files to distribute the ranks over, when the database is created
    #[arg(long, value_name = "N", requires = "provdb")]
    pub shards: Option<u32>,
}

#[derive(Args, Debug)]
pub struct StatsArgs {
    /// Also post the statistics of the run to this URL, in the format of Chimbuko's visualization; may be given several
    /// times
    #[arg(long, value_name = "URL")]
    pub post: Vec<String>,
    /// Interval of the packets of statistics, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub interval: f64,
    /// Start with the models of this file
    #[arg(long, value_name = "FILE")]
    pub load_model: Option<PathBuf>,
    /// Save the models at the end
    #[arg(long, value_name = "FILE")]
    pub save_model: Option<PathBuf>,
    /// Use the loaded models unchanged, without learning
    #[arg(long, requires = "load_model")]
    pub freeze: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum SummaryFormat {
    /// Text for reading
    Table,
    /// One JSON object
    Json,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplayEngine {
    /// Live SST streams
    Sst,
    /// BP4 files
    Bp4,
    /// BP5 files
    Bp5,
}
