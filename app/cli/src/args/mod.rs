//! The command line.

mod causes;
mod common;
mod config_file;
mod page;
mod part;
mod pipeline;
mod provdb;
mod relay;

use std::path::PathBuf;

use callgrove_evaluate::evaluate::Method;
use callgrove_judge::active::QueryStrategy;
use clap::{Args, Parser, Subcommand, ValueEnum};

pub(crate) use causes::{CausesArgs, IncidentsArgs, PatternsArgs, TrendsArgs};
pub(crate) use common::TableFormat;
use common::{ClassArgs, TRACE_HELP};
pub(crate) use config_file::ConfigFile;
pub(crate) use page::{ExportArgs, PageArgs};
pub(crate) use part::Part;
use part::PartArgs;
pub(crate) use pipeline::{
    AdArgs, CaArgs, ConnectArgs, DetectArgs, ModelArgs, ModelCommand, ModelEvaluateArgs,
    ProvDbServerArgs, PserverArgs, PublishArgs, QueryArgs, ReplayArgs, ReplayEngine, RunArgs,
    ServeArgs, ServerArgs, StatsArgs, StreamArgs, SummaryFormat,
};
pub(crate) use provdb::{ProvDbCommandArgs, RetainArgs, UpkeepTask};
pub(crate) use relay::RelayArgs;

/// Finds the anomalous executions in traces of parallel programs, shows why, and learns from you.
#[derive(Parser, Debug)]
#[command(name = "callgrove", version, max_term_width = 100)]
pub(crate) struct Cli {
    /// Without one, the window opens and asks
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
    /// How what the program has to say is written to standard error
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// Options of commands, in a file (`callgrove config --print` shows one); those of the command line hold before them
    #[arg(long, global = true, value_name = "FILE.toml")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LogFormat {
    /// A sentence a line
    #[default]
    Plain,
    /// Time (UTC), level, sentence and fields
    Full,
    /// The same as one JSON object a line
    Json,
}

impl CliCommand {
    /// What `callgrove` alone means: a window with nothing open yet.
    pub(crate) fn start() -> Self {
        Self::Open(OpenArgs::default())
    }
}

#[derive(Subcommand, Debug)]
pub(crate) enum CliCommand {
    /// Say what a trace holds, and what is damaged in it
    Info(InfoArgs),
    /// Rank the executions of a function, the most abnormal first
    Analyze(AnalyzeArgs),
    /// Say of each abnormal execution of a function who made it late: which rank, where, and over which others
    Causes(CausesArgs),
    /// List what happened in a run: which rank held up which others, the costliest first
    Incidents(IncidentsArgs),
    /// List what recurs in a run: its iterations, its patterns, and which occurrences took far longer than usual; a table
    /// has the 30 patterns that took most time, unless --limit says how many
    Patterns(PatternsArgs),
    /// List persistent and slow changes of a run: ranks that are slower than their peers throughout, functions that take
    /// longer and longer, and what changed from a moment on
    Trends(TrendsArgs),
    /// Measure how well methods find known anomalies, and how labels help
    Evaluate(EvaluateArgs),
    /// Open a run in a window: its trace, its records, the running job itself, or several of them
    #[command(visible_aliases = ["watch", "monitor"])]
    Open(OpenArgs),
    /// Serve the window as a page to browsers, here or through a tunnel; prints its address
    Serve(PageArgs),
    /// Write a run so that a browser can open it without a server: one file, or a folder with the page
    Export(ExportArgs),
    /// Watch a running job (or a recorded one) on this machine: detectors, parameter server and provenance
    /// database in one process
    Run(RunArgs),
    /// Watch ranks of a job: detect anomalies, record their provenance
    Ad(AdArgs),
    /// Join the models and statistics of all AD instances
    Pserver(PserverArgs),
    /// Serve a provenance database to AD instances and monitors elsewhere; or back it up, compact, trim or upgrade it
    Provdb(ProvDbCommandArgs),
    /// Search a provenance database, while the job runs or after
    Query(QueryArgs),
    /// Tree models of a running job: show, list, publish, roll back, compare
    Model(ModelArgs),
    /// Take the live streams of a job and keep them in files, so that no AD instance can hold up the job
    Relay(RelayArgs),
    /// Publish a recorded trace again, step by step, as TAU would
    Replay(ReplayArgs),
    /// Check the configuration file that --config names
    Config {
        /// Print all options of all commands as a configuration file: those that are set, and as comments the others
        #[arg(long)]
        print: bool,
    },
    /// Open the example trace: LAMMPS on 4 ranks, some of which were stopped now and then
    Demo,
    /// Read a stream to its end and tell nothing: what damage does to ADIOS2, it does to this process
    #[command(hide = true)]
    ReadThrough {
        /// The stream
        stream: PathBuf,
    },
}

#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    /// How to print
    #[arg(long, value_enum, default_value_t = InfoFormat::Table)]
    pub(crate) format: InfoFormat,
}

#[derive(Args, Debug)]
pub(crate) struct AnalyzeArgs {
    /// A run's folder, one rank's .bp folder, a pattern such as 'run/*.bp', or FILE.jsonl with trees of
    /// any kind (docs/formats.md has the format)
    pub(crate) trace: String,
    /// Root function: its name without arguments, or the end of it from a `::` on; `*` and `?` are
    /// wildcards. Without it, the most promising function is taken
    #[arg(long, short, value_name = "A")]
    pub(crate) function: Option<String>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// Labels to learn from: CSV with the columns rank,index,label (normal or abnormal)
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["model", "reference", "reference_between"])]
    pub(crate) labels: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) saved: SavedModelArgs,
    /// Learn what is normal from another run, say one that is known to be clean
    #[arg(long, value_name = "TRACE", conflicts_with = "model")]
    pub(crate) reference: Option<String>,
    /// Learn what is normal from a part of the run (of the reference, if there is one), such as 0%..20%
    #[arg(long, value_name = "FROM..TO", conflicts_with = "model")]
    pub(crate) reference_between: Option<Part>,
    /// Save the learned model
    #[arg(long, value_name = "FILE", conflicts_with = "model")]
    pub(crate) save_model: Option<PathBuf>,
    /// What the model learns from
    #[arg(long, value_enum, default_value_t = Mode::Excess)]
    pub(crate) mode: Mode,
    /// Share of the executions called abnormal that may be so by chance, above 0 below 1: 0.1 means that
    /// about 1 in 10 alarms may be false [default: 0.1; paper mode decides by NU alone]
    #[arg(long, value_name = "SHARE", conflicts_with = "model")]
    pub(crate) false_alarms: Option<f64>,
    /// Expected share of outliers among executions that look normal, above 0 up to 1
    /// [default: 0.01, in paper mode 0.02]
    #[arg(long, value_name = "NU", conflicts_with = "model")]
    pub(crate) nu: Option<f64>,
    /// Kernel width as a factor of its rule, from 0.001 to 1000: the larger, the nearer two executions must be to count as
    /// alike [default: 0.3, in paper mode 1]
    #[arg(long, value_name = "FACTOR", conflicts_with = "model")]
    pub(crate) gamma: Option<f64>,
    /// Count the order of calls too, not only which there are
    #[arg(long)]
    pub(crate) ordered: bool,
    /// Seed of everything random; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How to print
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub(crate) format: TableFormat,
    /// Say why each stands out. Without it, CSV and JSON do so for the abnormal ones
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print only the N most abnormal
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Say on standard error how long each stage took
    #[arg(long)]
    pub(crate) timings: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SavedModelArgs {
    /// Judge by a model that was saved before; one that is not made for these executions is refused
    #[arg(long, value_name = "FILE", conflicts_with_all = ["mode", "ordered", "seed"])]
    pub(crate) model: Option<PathBuf>,
    /// Judge by a model or reference that does not fit all the same
    #[arg(long)]
    pub(crate) force: bool,
    /// Take from the model or reference its structures and labels only, and from this run how rare an
    /// excess is: for a machine or input whose noise is another
    #[arg(long)]
    pub(crate) recalibrate: bool,
}

#[derive(Args, Debug)]
pub(crate) struct EvaluateArgs {
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    /// Root function, as for analyze
    #[arg(long, short, value_name = "A")]
    pub(crate) function: Option<String>,
    #[command(flatten)]
    pub(crate) part: PartArgs,
    /// What the executions are: CSV with the columns rank,index,label (`exec` will do for `index`);
    /// labels are numbers or words, an empty one says nothing
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) truth: PathBuf,
    #[command(flatten)]
    pub(crate) classes: ClassArgs,
    /// Methods to compare: ours, paper, a rule (duration, class-ratio, ratio+rarity, largest), or a
    /// baseline (lof, knn, mean-knn, hbos, copod, ecod, ocsvm, iforest, clusters, svm), alone or after `stack2vec+` or `time+`
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "ours,paper,duration,class-ratio,ratio+rarity,largest,stack2vec+lof,knn,lof,iforest,hbos,copod,ecod,time+lof,svm"
    )]
    pub(crate) methods: Vec<Method>,
    /// How the simulated person chooses the next tree to label; several, separated by commas, give
    /// a curve each
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "automatic"
    )]
    pub(crate) strategy: Vec<Strategy>,
    /// Most labels that the simulated person gives; 0 for none
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) labels_max: usize,
    /// Numbers of labels at which to measure
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "0,1,2,5,10,20,50,100"
    )]
    pub(crate) checkpoints: Vec<usize>,
    /// Seed of everything random; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// How to print
    #[arg(long, value_enum, default_value_t = EvaluateFormat::Table)]
    pub(crate) format: EvaluateFormat,
    /// Draw the quality over the labels given
    #[arg(long, value_name = "FILE.svg|FILE.png")]
    pub(crate) plot: Option<PathBuf>,
    /// Say on standard error how long each stage took
    #[arg(long)]
    pub(crate) timings: bool,
}

#[derive(Args, Debug, Default)]
pub(crate) struct OpenArgs {
    /// What there is of the run: its trace (a folder of .bp folders, one .bp folder, or a pattern in quotes), its
    /// provenance database (a folder or postgres://…), the server of the running job (http://…), or a saved
    /// session. Without any, the window asks
    #[arg(value_name = "TRACE|FOLDER|URL")]
    pub(crate) sources: Vec<String>,
    /// Root function, as for analyze
    #[arg(long, short, value_name = "A")]
    pub(crate) function: Option<String>,
    #[command(flatten)]
    pub(crate) connect: ConnectArgs,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InfoFormat {
    /// For people
    Table,
    /// One JSON object
    Json,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EvaluateFormat {
    /// For people
    Table,
    /// One JSON object per line
    Json,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Strategy {
    /// The most abnormal until one of them is abnormal indeed, then the most uncertain
    Automatic,
    /// The most abnormal tree without a label
    MostAnomalous,
    /// The tree whose score is nearest to 0
    MostUncertain,
    /// A tree near the threshold and unlike all that has a label
    Diverse,
}

impl Strategy {
    /// The same for the learning code.
    pub(crate) fn query(self) -> QueryStrategy {
        match self {
            Self::Automatic => QueryStrategy::Automatic,
            Self::MostAnomalous => QueryStrategy::MostAnomalous,
            Self::MostUncertain => QueryStrategy::MostUncertain,
            Self::Diverse => QueryStrategy::Diverse,
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Excess time of every subtree over what is usual for its structure, and rarity of structure
    Excess,
    /// The settings of the paper: stack2vec, C = 0.02 n, a narrow kernel
    Paper,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
