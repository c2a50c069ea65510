//! The command line: commands, their arguments with the help, and the configuration file.
#![expect(
    missing_docs,
    reason = "clap prints the comments as help, and a comment of a group of arguments would replace that of its command"
)]

mod causes;
mod cluster;
mod common;
mod compare;
mod config_file;
mod connection;
mod detect;
mod drawing;
mod mcp;
mod page;
mod part;
mod pipeline;
mod provdb;
mod relay;
mod report;
mod token;

use std::ffi::OsString;
use std::path::PathBuf;

use callgrove_evaluate::evaluate::Method;
use callgrove_judge::active::QueryStrategy;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub use causes::{CausesArgs, IncidentsArgs, NodesArgs, PatternsArgs, TrendsArgs};
pub use cluster::{BusArgs, ClusterCommand, ClusterUpArgs};
pub use common::TableArgs;
use common::{ClassArgs, TraceArgs};
pub use compare::{BaselineCommand, CheckArgs, CheckKind, CheckReportArgs, CompareArgs, Slowdown};
pub use config_file::ConfigFile;
pub use connection::{AnnounceArgs, CaArgs, ConnectArgs, ServeArgs};
pub use detect::DetectArgs;
pub use drawing::DrawArgs;
pub use mcp::McpArgs;
pub use page::{ExportArgs, PageArgs};
use part::PartArgs;
pub use part::PartOfRun;
pub use pipeline::{
    AdArgs, MergerArgs, ModelArgs, ModelCommand, ModelEvaluateArgs, ProvDbServerArgs, PserverArgs,
    PublishArgs, QueryArgs, ReplayArgs, ReplayEngine, RunArgs, ServerArgs, StatsArgs, StreamArgs,
    SummaryFormat,
};
pub use provdb::{ProvDbCommandArgs, RetainArgs, UpkeepTask};
pub use relay::RelayArgs;
pub use report::ReportArgs;
pub use token::{RoleArgs, TokenCommand};

/// Finds anomalous executions in traces of parallel programs, explains them, and learns from your labels.
#[derive(Parser, Debug)]
#[command(name = "callgrove", version, max_term_width = 100)]
pub struct Cli {
    /// Command; without one, an empty window opens
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    /// Format of messages on standard error
    #[arg(long, global = true, value_enum, default_value_t)]
    pub log_format: LogFormat,
    /// File with options of commands (`callgrove config --print` prints one). Options of the command line take
    /// precedence
    #[arg(long, global = true, value_name = "FILE.toml")]
    pub config: Option<PathBuf>,
    /// File of the background process, to which its exit code is written
    #[arg(long, hide = true, value_name = "FILE")]
    pub process_file: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LogFormat {
    /// One sentence per line
    #[default]
    Plain,
    /// Time (UTC), level, sentence and fields
    Full,
    /// The same fields as one JSON object per line
    Json,
}

impl CliCommand {
    /// Returns the command for `callgrove` without arguments: an empty window.
    pub fn start() -> Self {
        Self::Open(OpenArgs::default())
    }
}

#[derive(Subcommand, Debug)]
pub enum CliCommand {
    /// Show the contents of a trace, and what is damaged in it
    Info(InfoArgs),
    /// Rank the executions of a function, the most abnormal first
    Analyze(AnalyzeArgs),
    /// Show what delayed each abnormal execution of a function: which rank, where, and through which other ranks
    Causes(CausesArgs),
    /// List the incidents of a run: which rank delayed which others, the costliest first
    Incidents(IncidentsArgs),
    /// List the hosts of several runs: in how many of them incidents began at each, and whether chance explains that
    Nodes(NodesArgs),
    /// List recurring patterns of a run: its iterations, its patterns, and the occurrences that took far longer than
    /// usual. The table shows the 30 patterns with the largest total time, unless --limit is given
    Patterns(PatternsArgs),
    /// List persistent and gradual changes of a run: ranks that are slower than their peers throughout, functions that
    /// get slower, and permanent changes at one time
    Trends(TrendsArgs),
    /// Show what changed between two runs, the costliest first: functions, call paths, structures, iterations, waits and
    /// incidents; or between the halves of one run
    Compare(CompareArgs),
    /// Check a run against a reference, for continuous integration: exit code 4 if it has incidents, is abnormal or is
    /// slower
    Check(CheckArgs),
    /// Keep the samples of runs in which all is well in one small file, for `callgrove check --baseline`
    Baseline {
        #[command(subcommand)]
        command: BaselineCommand,
    },
    /// Measure how well methods find known anomalies, and how labels improve them
    Evaluate(EvaluateArgs),
    /// Open a run in a window: its trace, its records, the running job, or several of these
    #[command(visible_aliases = ["watch", "monitor"])]
    Open(OpenArgs),
    /// Draw a view of a run as SVG or PNG, without a window
    Draw(DrawArgs),
    /// Serve the window as a web page for browsers; prints its address
    Serve(PageArgs),
    /// Write a report of a run as one HTML file: incidents, candidates, labels, settings and inputs
    Report(ReportArgs),
    /// Answer an assistant's questions about runs: a server of the model context protocol on standard input and output
    Mcp(McpArgs),
    /// Export a run for browsers without a server: as one file, or as a folder with the page
    Export(ExportArgs),
    /// Analyse a running job, or a recorded one, on this machine: detectors, parameter server and provenance database
    /// in one process
    Run(Box<RunArgs>),
    /// Analyse some ranks of a job: detect anomalies and record their provenance
    Ad(AdArgs),
    /// Join the models and statistics of all AD instances
    Pserver(PserverArgs),
    /// Serve a provenance database to AD instances and monitors; or back it up, compact, trim or upgrade it
    Provdb(ProvDbCommandArgs),
    /// Search a provenance database, during the run or afterwards
    Query(QueryArgs),
    /// Tree models of a running job: show, list, publish, roll back, compare
    Model(ModelArgs),
    /// Start and end the servers of a job in the background
    Cluster {
        #[command(subcommand)]
        command: ClusterCommand,
    },
    /// Manage the tokens by which others may read or change what servers have
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// Run NATS JetStream as the message bus of a job, for more nodes than one parameter server can talk to
    Bus(BusArgs),
    /// Add up the data of a group of AD instances on a message bus, for more instances than one parameter server can read
    Merger(MergerArgs),
    /// Copy the live streams of a job to files, so that no AD instance can delay the job
    Relay(RelayArgs),
    /// Publish a recorded trace again, step by step, as TAU would
    Replay(ReplayArgs),
    /// Check the configuration file given by --config
    Config {
        /// Print all options of all commands as a configuration file: those that are set, and the others as comments
        #[arg(long)]
        print: bool,
    },
    /// Print the completions of the command line for a shell, as its start-up file loads them
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page of the program, or write those of all commands to a folder
    Man {
        /// Folder for one page per command, such as ~/.local/share/man/man1
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Open the example trace: LAMMPS on 4 ranks, some of which were suspended at times
    Demo,
    /// Read a stream to its end without output, so that damage that crashes ADIOS2 crashes this process only
    #[command(hide = true)]
    ReadThrough {
        /// Path of the stream
        stream: PathBuf,
    },
    /// Publish one stream of a replay, whose process asks for each step
    #[command(hide = true)]
    PublishStream {
        /// Arguments of the replay
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

#[derive(Args, Debug)]
pub struct InfoArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    #[command(flatten)]
    pub table: TableArgs,
}

#[derive(Args, Debug)]
pub struct AnalyzeArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Root function: its name without arguments, or the end of its name after a `::`; `*` and `?` are wildcards.
    /// Without it, the most promising function is selected
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    #[command(flatten)]
    pub part: PartArgs,
    /// Labels to learn from, as CSV with the columns rank,index,label (normal or abnormal)
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["model", "reference", "reference_between"])]
    pub labels: Option<PathBuf>,
    #[command(flatten)]
    pub saved: SavedModelArgs,
    /// Learn what is normal from another run, for example one without anomalies
    #[arg(long, value_name = "TRACE", conflicts_with = "model")]
    pub reference: Option<String>,
    /// Learn what is normal from a part of the run (of the reference, if given), such as 0%..20%
    #[arg(long, value_name = "FROM..TO", conflicts_with = "model")]
    pub reference_between: Option<PartOfRun>,
    /// Save the learned model
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub save_model: Option<PathBuf>,
    /// Features that the model learns from
    #[arg(long, value_enum, default_value_t = Mode::Excess)]
    pub mode: Mode,
    /// Accepted share of false alarms among the executions called abnormal, above 0 and below 1: 0.1 accepts about 1
    /// false alarm in 10 [default: 0.1; in paper mode NU alone decides]
    #[arg(long, value_name = "SHARE", conflicts_with = "model")]
    pub false_alarms: Option<f64>,
    /// Expected share of outliers among executions that look normal, above 0 up to 1 [default: 0.01, in paper mode
    /// 0.02]
    #[arg(long, value_name = "NU", conflicts_with = "model")]
    pub nu: Option<f64>,
    /// Factor of the kernel width's rule, from 0.001 to 1000. With a larger factor, two executions must be closer to
    /// count as similar [default: 0.3, in paper mode 1]
    #[arg(long, value_name = "FACTOR", conflicts_with = "model")]
    pub gamma: Option<f64>,
    /// Compare the order of calls, too
    #[arg(long)]
    pub ordered: bool,
    /// Seed of all random numbers; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub table: TableArgs,
    /// Explain each execution. Without it, CSV and JSON explain the abnormal ones
    #[arg(long)]
    pub explain: bool,
    /// Print only the N most abnormal
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    /// Print the duration of each stage on standard error
    #[arg(long)]
    pub timings: bool,
}

#[derive(Args, Debug)]
pub struct SavedModelArgs {
    /// Use a saved model; a model that does not fit these executions is refused
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mode", "ordered", "seed"])]
    pub model: Option<PathBuf>,
    /// Use a model or reference even if it does not fit
    #[arg(long)]
    pub force: bool,
    /// Take only structures and labels from the model or reference, and learn from this run how rare an excess is: for
    /// a machine or input with different noise
    #[arg(long)]
    pub recalibrate: bool,
}

#[derive(Args, Debug)]
pub struct EvaluateArgs {
    #[command(flatten)]
    pub trace: TraceArgs,
    /// Root function, as for analyze
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    #[command(flatten)]
    pub part: PartArgs,
    /// True labels of the executions, as CSV with the columns rank,index,label (or `exec` instead of `index`). Labels
    /// are numbers or words; an empty label is ignored
    #[arg(long, value_name = "FILE.csv")]
    pub truth: PathBuf,
    #[command(flatten)]
    pub classes: ClassArgs,
    /// Methods to compare: ours, paper, a rule (duration, class-ratio, ratio+rarity, largest), or a
    /// baseline (lof, knn, mean-knn, hbos, copod, ecod, ocsvm, iforest, clusters, svm), alone or after `stack2vec+` or `time+`
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "ours,paper,duration,class-ratio,ratio+rarity,largest,stack2vec+lof,knn,lof,iforest,hbos,copod,ecod,time+lof,svm"
    )]
    pub methods: Vec<Method>,
    /// How the simulated user chooses the next tree to label; several strategies, separated by commas, give a curve
    /// each
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "automatic"
    )]
    pub strategy: Vec<Strategy>,
    /// Maximum number of labels that the simulated user gives; 0 for none
    #[arg(long, alias = "labels-max", value_name = "N", default_value_t = 100)]
    pub max_labels: usize,
    /// Numbers of labels at which to measure
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "0,1,2,5,10,20,50,100"
    )]
    pub checkpoints: Vec<usize>,
    /// Seed of all random numbers; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub table: TableArgs,
    /// Plot the quality against the number of labels
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub plot: Option<PathBuf>,
    /// Print the duration of each stage on standard error
    #[arg(long)]
    pub timings: bool,
}

#[derive(Args, Debug, Default)]
pub struct OpenArgs {
    /// Sources of the run: its trace (a folder, files, or a pattern in quotes), its provenance
    /// database (a folder or postgres://…), the server of the running job (its URL or address file), or a saved session.
    /// Without any, an empty window opens
    #[arg(value_name = "TRACE|FOLDER|URL|FILE.address")]
    pub sources: Vec<String>,
    /// Root function, as for analyze
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    #[command(flatten)]
    pub connect: ConnectArgs,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// The most abnormal until one is confirmed as abnormal, then the most uncertain
    Automatic,
    /// The most abnormal tree without a label
    MostAnomalous,
    /// The tree with the score closest to 0
    MostUncertain,
    /// A tree close to the threshold and unlike all labelled ones
    Diverse,
}

impl Strategy {
    /// Returns the strategy of the learning code.
    pub fn query(self) -> QueryStrategy {
        match self {
            Self::Automatic => QueryStrategy::Automatic,
            Self::MostAnomalous => QueryStrategy::MostAnomalous,
            Self::MostUncertain => QueryStrategy::MostUncertain,
            Self::Diverse => QueryStrategy::Diverse,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Excess time of each subtree over the usual time for its structure, and rarity of the structure
    Excess,
    /// The settings of the paper: stack2vec, C = 0.02 n, a narrow kernel
    Paper,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_valid() {
        Cli::command().debug_assert();
    }
}
