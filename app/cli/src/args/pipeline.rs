//! The command line of the pipeline beside a running job.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::common::{ClassArgs, TRACE_HELP, TableFormat};
use super::part::PartArgs;

#[derive(Args, Debug)]
pub(crate) struct AdArgs {
    #[command(flatten)]
    pub(crate) streams: StreamArgs,
    #[command(flatten)]
    pub(crate) detect: DetectArgs,
    /// Parameter server that joins the models of all AD instances, such as http://head:5559; without it,
    /// the models are those of this instance's ranks
    #[arg(long, value_name = "URL")]
    pub(crate) pserver: Option<String>,
    #[command(flatten)]
    pub(crate) provdb: ProvDbArgs,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = SummaryFormat::Table)]
    pub(crate) format: SummaryFormat,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) streams: StreamArgs,
    /// Judge the records of a live run in this provenance database once more, by the complete models, with the detector's
    /// options of the run. For instances that ended with 3 because they had to judge before the models held everything
    #[arg(long, value_name = "FOLDER|URL", group = "input", conflicts_with_all = ["provdb", "listen"])]
    pub(crate) rejudge: Option<String>,
    #[command(flatten)]
    pub(crate) detect: DetectArgs,
    #[command(flatten)]
    pub(crate) provdb: ProvDbArgs,
    #[command(flatten)]
    pub(crate) stats: StatsArgs,
    /// Serve the live overview on this address, for `callgrove monitor`; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    #[command(flatten)]
    pub(crate) connect: CaArgs,
    /// Go on serving after the last stream has ended, until interrupted
    #[arg(long, requires = "listen")]
    pub(crate) stay: bool,
    /// How to print the summary
    #[arg(long, value_enum, default_value_t = SummaryFormat::Table)]
    pub(crate) format: SummaryFormat,
}

#[derive(Args, Debug)]
pub(crate) struct PserverArgs {
    /// Where AD instances and monitors connect; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5559")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
    /// Where the statistics and models of the run go, and where `callgrove monitor` finds the anomalies: the
    /// folder or URL of the provenance database that the AD instances write
    #[arg(long, value_name = "FOLDER|URL")]
    pub(crate) provdb: Option<String>,
    #[command(flatten)]
    pub(crate) stats: StatsArgs,
    #[command(flatten)]
    pub(crate) ca: CaArgs,
    /// End when every AD instance that came has taken leave
    #[arg(long)]
    pub(crate) auto_shutdown: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ProvDbServerArgs {
    /// Where the database is: a folder (made if missing) or postgres://…
    #[arg(value_name = "FOLDER|URL", required = true)]
    pub(crate) provdb: Option<String>,
    /// Files to spread the ranks over, when the database is made
    #[arg(long, value_name = "N")]
    pub(crate) shards: Option<u32>,
    /// Where AD instances and monitors connect; port 0 takes any free port
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:5560")]
    pub(crate) listen: SocketAddr,
    /// Answer plain SQL (`callgrove query URL --sql`) too: read-only, one statement at a time, for at most 30 s and with
    /// at most a million rows or 64 MiB
    #[arg(long)]
    pub(crate) allow_sql: bool,
    #[command(flatten)]
    pub(crate) serve: ServeArgs,
}

#[derive(Args, Debug)]
pub(crate) struct QueryArgs {
    /// The provenance database: its folder, postgres://… or the URL of `callgrove provdb`
    #[arg(value_name = "FOLDER|URL")]
    pub(crate) provdb: String,
    /// anomalies, normalexecs, metadata, func_stats, counter_stats, ad_model, incidents, trends or trees; or run, for the run
    /// that all is of
    #[arg(
        value_name = "COLLECTION",
        default_value = "anomalies",
        conflicts_with = "sql"
    )]
    pub(crate) collection: String,
    /// Only documents for which this holds, such as `outlier_score > 50 and func like 'MPI_*' and rid in (0, 3)`
    /// or `event_window.comm_window[*].tar = 5`
    #[arg(long = "where", value_name = "FILTER", conflicts_with = "sql")]
    pub(crate) filter: Option<String>,
    /// Order: score, severity, or any field of the documents, the greatest first
    #[arg(long, value_name = "FIELD", conflicts_with = "sql")]
    pub(crate) sort: Option<String>,
    /// The least first
    #[arg(long, requires = "sort")]
    pub(crate) ascending: bool,
    /// Print at most N documents
    #[arg(long, short = 'n', value_name = "N", conflicts_with = "sql")]
    pub(crate) limit: Option<u64>,
    /// Leave out the first N documents
    #[arg(long, value_name = "N", conflicts_with = "sql")]
    pub(crate) offset: Option<u64>,
    /// Only say how many there are
    #[arg(long, conflicts_with = "sql")]
    pub(crate) count: bool,
    /// Plain SQL instead, read-only, over one table per collection whose column `doc` is the JSON; a server answers it
    /// if it was started with --allow-sql
    #[arg(long, value_name = "SELECT …")]
    pub(crate) sql: Option<String>,
    /// Fields to show in tables and CSV, such as rid,func,event_window.comm_window
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,
    /// How to print
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub(crate) format: TableFormat,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    pub(crate) command: ModelCommand,
}

#[derive(Subcommand, Debug)]
pub(crate) enum ModelCommand {
    /// Say what a model was learned from: a file, or one of a running job
    Show {
        /// A model file, or with --server the name of a model
        #[arg(value_name = "FILE|NAME")]
        model: String,
        #[command(flatten)]
        server: OptionalServerArgs,
        /// The version, instead of the one in force
        #[arg(long, value_name = "N", requires = "server")]
        version: Option<u32>,
        /// Write the model to this file too
        #[arg(long, value_name = "FILE", requires = "server")]
        save: Option<PathBuf>,
        /// How to print
        #[arg(long, value_enum, default_value_t = SummaryFormat::Table)]
        format: SummaryFormat,
    },
    /// List the tree models of a running job, their versions, and which AD instances have them
    List {
        #[command(flatten)]
        server: ServerArgs,
        /// How to print
        #[arg(long, value_enum, default_value_t = SummaryFormat::Table)]
        format: SummaryFormat,
    },
    /// Have the AD instances of a running job judge by a model, from their next step on
    Publish(PublishArgs),
    /// Say what a model says of a run: how much is abnormal, whether it fits, and how right it is
    Evaluate(ModelEvaluateArgs),
    /// Put the version before, or another one, in force again
    Rollback {
        /// Name of the model
        name: String,
        #[command(flatten)]
        server: ServerArgs,
        /// The version [default: the one before that in force]
        #[arg(long, value_name = "N", conflicts_with = "off")]
        to: Option<u32>,
        /// Let no version be in force
        #[arg(long)]
        off: bool,
    },
    /// Compare what two models say of the executions of a run
    Diff {
        /// A model file
        before: PathBuf,
        /// Another one
        after: PathBuf,
        #[arg(help = TRACE_HELP)]
        trace: String,
        /// How to print
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        format: TableFormat,
    },
}

#[derive(Args, Debug)]
pub(crate) struct PublishArgs {
    /// The model, as `analyze --save-model` or the window saved it
    #[arg(value_name = "FILE")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// What to call it [default: the function that it is for]
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Why it was made
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) note: String,
    /// Only say what would change among the trees that the job has recorded
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// With --dry-run: look at the trees of the last N steps only
    #[arg(long, value_name = "N", requires = "dry_run")]
    pub(crate) last: Option<u64>,
    /// With --dry-run: labels, CSV with the columns rank,index,label,event_id, of which those with an event_id count
    #[arg(long, value_name = "FILE.csv", requires = "dry_run")]
    pub(crate) labels: Option<PathBuf>,
    /// With --dry-run: how to print
    #[arg(long, value_enum, default_value_t = SummaryFormat::Table, requires = "dry_run")]
    pub(crate) format: SummaryFormat,
}

#[derive(Args, Debug)]
pub(crate) struct ModelEvaluateArgs {
    /// The model, as `analyze --save-model` or the window saved it
    #[arg(value_name = "FILE")]
    pub(crate) model: PathBuf,
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    /// Root function [default: that of the model]
    #[arg(long, short, value_name = "A")]
    pub(crate) function: Option<String>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// What the executions are, as for `callgrove evaluate`; of recorded trees (`trees:...`) rows count that have no
    /// index, but an event_id
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) truth: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) classes: ClassArgs,
    /// How to print
    #[arg(long, value_enum, default_value_t = SummaryFormat::Table)]
    pub(crate) format: SummaryFormat,
}

/// The server of a running job.
#[derive(Args, Debug)]
pub(crate) struct ServerArgs {
    /// The parameter server of the job: `callgrove pserver`, or `callgrove run --listen`
    #[arg(long, value_name = "URL")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub(crate) struct OptionalServerArgs {
    /// The parameter server of the job
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ReplayArgs {
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    /// How to publish it
    #[arg(long, value_enum, ignore_case = true, default_value_t = ReplayEngine::Sst)]
    pub(crate) engine: ReplayEngine,
    /// Folder of the streams; each has the name of the recorded one
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: PathBuf,
    /// How much faster than recorded, from 0.001 to 1000000; 0 as fast as can be
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) speed: f64,
}

#[derive(Args, Debug)]
#[group(id = "input", required = true, multiple = false)]
pub(crate) struct StreamInput {
    /// A run's folder, one rank's .bp folder, or a pattern such as 'run/*.bp'
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<String>,
    /// Live streams of a running job, each by the name given to TAU (NAME.sst is the contact file), such as
    /// bp/tau-metrics-lmp-{0..3}.bp
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(crate) sst: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct StreamArgs {
    #[command(flatten)]
    pub(crate) input: StreamInput,
    /// Follow BP files that are still being written. Those of ranks that the run states and that are not there yet are waited
    /// for, as far as TRACE names them
    #[arg(long, conflicts_with = "sst")]
    pub(crate) follow: bool,
    /// Give up on live streams that have not appeared after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) connect_timeout: u64,
    /// Number of this program in a workflow of several
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) program: u32,
}

#[derive(Args, Debug)]
pub(crate) struct DetectArgs {
    /// Detector: excess, hbos, sstd or copod [default: excess]
    #[arg(long, value_name = "NAME", conflicts_with = "params")]
    pub(crate) algorithm: Option<String>,
    /// Excess: an execution that is not usual and took so many microseconds longer than usual is an outlier, however many
    /// there are; shorter ones must be less probable [default: 15000]
    #[arg(long, value_name = "US", conflicts_with = "params")]
    pub(crate) severe_us: Option<f64>,
    /// HBOS and COPOD: share of the range of scores above which executions are outliers [default: 0.99]
    #[arg(long, value_name = "SHARE", conflicts_with = "params")]
    pub(crate) threshold: Option<f64>,
    /// SSTD: standard deviations from the mean beyond which executions are outliers [default: 6]
    #[arg(long, value_name = "SIGMA", conflicts_with = "params")]
    pub(crate) sigma: Option<f64>,
    /// HBOS and COPOD: most bins with executions in a histogram, from 65 to 65536; empty ones between them are not counted.
    /// HBOS judges by no more than twice the cube root of the number of executions [default: 200]
    #[arg(long, value_name = "N", conflicts_with = "params")]
    pub(crate) max_bins: Option<usize>,
    /// Detector and its parameters as JSON, with Chimbuko's keys (algorithm, hbos_thres, glob_thres,
    /// hbos_max_bins, sstd_sigma) and excess_severe_us
    #[arg(long, value_name = "FILE.json")]
    pub(crate) params: Option<PathBuf>,
    /// Time that is judged: exclusive or inclusive of what was called
    #[arg(long, default_value = "exclusive")]
    pub(crate) statistic: callgrove_ad::OutlierStatistic,
    /// Thresholds of single functions: [{"fname": NAME, "threshold": NUMBER}, …]
    #[arg(long, value_name = "FILE.json")]
    pub(crate) thresholds: Option<PathBuf>,
    /// Functions that are not judged, one per line
    #[arg(long, value_name = "FILE")]
    pub(crate) ignore: Option<PathBuf>,
    /// Record a sample of the executions of this function as call stack trees, from which the parameter server learns a
    /// tree model (see `callgrove model`); a name or a pattern as for `analyze`, may be given several times
    #[arg(long, value_name = "A")]
    pub(crate) trees: Vec<String>,
    /// Counters that tell the state of the node: [[COUNTER, FIELD], …]
    #[arg(long, value_name = "FILE.json")]
    pub(crate) watchlist: Option<PathBuf>,
    /// Or all counters whose names begin so
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "monitoring: ",
        conflicts_with = "watchlist"
    )]
    pub(crate) monitoring_prefix: String,
    /// Executions before and after an anomaly in its record
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) window: usize,
    /// Count, but do not record, anomalies with less exclusive time than this, in microseconds
    #[arg(long, value_name = "US", default_value_t = 0)]
    pub(crate) min_severity_us: u64,
}

#[derive(Args, Debug)]
pub(crate) struct ProvDbArgs {
    /// Record anomalies here: a folder (made if missing), postgres://… or the URL of `callgrove provdb`;
    /// without it, they are only counted
    #[arg(long, value_name = "FOLDER|URL")]
    pub(crate) provdb: Option<String>,
    /// Files to spread the ranks over, when the database is made
    #[arg(long, value_name = "N", requires = "provdb")]
    pub(crate) shards: Option<u32>,
}

#[derive(Args, Debug)]
pub(crate) struct StatsArgs {
    /// Post the statistics of the run to this URL too, as Chimbuko's visualization takes them; may be given
    /// several times
    #[arg(long, value_name = "URL")]
    pub(crate) post: Vec<String>,
    /// Seconds between two packets of statistics
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    pub(crate) interval: f64,
    /// Begin with the models of this file
    #[arg(long, value_name = "FILE")]
    pub(crate) load_model: Option<PathBuf>,
    /// Save the models at the end
    #[arg(long, value_name = "FILE")]
    pub(crate) save_model: Option<PathBuf>,
    /// Judge by the loaded models and let them learn nothing
    #[arg(long, requires = "load_model")]
    pub(crate) freeze: bool,
}

/// What a server shows to those who connect.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// File with the token that clients must show; or set CALLGROVE_TOKEN. Default: the token of your configuration folder
    /// (~/.config/callgrove/token), made at the first start, which your own commands on this machine find
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Ask for no token: every user of this machine can then read and change everything. On loopback addresses only
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) no_token: bool,
    /// Certificate of the server (PEM), for https
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Its key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Most clients that are connected at the same time, each AD instance one; further ones are refused
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) max_connections: NonZeroUsize,
}

/// What to show to, and expect of, servers.
#[derive(Args, Debug, Default)]
pub(crate) struct ConnectArgs {
    /// File with the token that the servers want; or set CALLGROVE_TOKEN. Default: the token of your configuration folder
    /// (~/.config/callgrove/token), for your own servers on this machine and over https
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Show no token, and use a server on this machine whichever user it belongs to
    #[arg(long, conflicts_with = "token_file")]
    pub(crate) no_token: bool,
    #[command(flatten)]
    pub(crate) ca: CaArgs,
}

#[derive(Args, Debug, Default)]
pub(crate) struct CaArgs {
    /// Certificate (PEM) of the authority that signed those of the servers, if it is not a public one
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SummaryFormat {
    /// For people
    Table,
    /// One JSON object
    Json,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReplayEngine {
    /// Live streams
    Sst,
    /// Files
    Bp4,
    /// Files
    Bp5,
}
