//! The arguments of detection in a running job.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub struct DetectArgs {
    /// Detector: excess, hbos, sstd or copod [default: excess]
    #[arg(long, value_name = "NAME", conflicts_with = "params")]
    pub algorithm: Option<String>,
    /// Excess: an unusual execution that took this many microseconds longer than usual is an outlier, however frequent.
    /// With a smaller excess it must be less probable [default: 15000]
    #[arg(
        long,
        alias = "severe-us",
        value_name = "US",
        conflicts_with = "params"
    )]
    pub min_excess_us: Option<f64>,
    /// HBOS and COPOD: share of the range of scores above which executions are outliers [default: 0.99]
    #[arg(long, value_name = "SHARE", conflicts_with = "params")]
    pub threshold: Option<f64>,
    /// SSTD: standard deviations from the mean beyond which executions are outliers [default: 6]
    #[arg(long, value_name = "SIGMA", conflicts_with = "params")]
    pub sigma: Option<f64>,
    /// HBOS and COPOD: maximum number of non-empty bins in a histogram, from 65 to 65536. HBOS uses at most twice the
    /// cube root of the number of executions [default: 200]
    #[arg(long, value_name = "N", conflicts_with = "params")]
    pub max_bins: Option<usize>,
    /// Detector and its parameters as JSON, with Chimbuko's keys (algorithm, hbos_thres, glob_thres,
    /// hbos_max_bins, sstd_sigma) and excess_severe_us
    #[arg(long, value_name = "FILE.json")]
    pub params: Option<PathBuf>,
    /// Time that is judged: exclusive, or inclusive of called functions
    #[arg(long, default_value = "exclusive")]
    pub statistic: callgrove_ad::OutlierStatistic,
    /// Thresholds of single functions: [{"fname": NAME, "threshold": NUMBER}, …]
    #[arg(long, value_name = "FILE.json")]
    pub thresholds: Option<PathBuf>,
    /// File with functions to ignore, one per line
    #[arg(long, value_name = "FILE")]
    pub ignore: Option<PathBuf>,
    /// Record a sample of the executions of this function as call stack trees, from which the parameter server learns a
    /// tree model (see `callgrove model`). A name or a pattern, as for `analyze`; may be given several times
    #[arg(long, value_name = "A")]
    pub trees: Vec<String>,
    /// Counters that describe the state of the node: [[COUNTER, FIELD], …]
    #[arg(long, value_name = "FILE.json")]
    pub watchlist: Option<PathBuf>,
    /// Use all counters with this prefix instead
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "monitoring: ",
        conflicts_with = "watchlist"
    )]
    pub monitoring_prefix: String,
    /// Number of executions before and after an anomaly in its record
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub window: usize,
    /// Minimum exclusive time of recorded anomalies, in microseconds; shorter ones are only counted
    #[arg(long, value_name = "US", default_value_t = 0)]
    pub min_severity_us: u64,
    /// Budget for the database: the documents per second of the job's time that all ranks of the program together
    /// record; each rank has an equal share. Less severe anomalies and trees, and normal executions, that exceed it are
    /// only counted. Without it, everything is recorded
    #[arg(long, value_name = "N")]
    pub max_documents_per_second: Option<NonZeroU32>,
}
