//! The command lines of `callgrove compare`, `check` and `baseline`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use super::common::{ListingArgs, TableArgs};

#[derive(Args, Debug)]
pub struct CompareArgs {
    /// The run to compare with: its folder, a file, or a pattern in quotes
    #[arg(value_name = "BEFORE", required_unless_present = "before_runs")]
    pub before: Option<String>,
    /// The run that may have changed
    #[arg(value_name = "AFTER", required_unless_present_any = ["halves", "before_runs"])]
    pub after: Option<String>,
    /// Several runs to compare with, or a file of `callgrove baseline`. From three runs of a side on, what they differ
    /// by decides
    #[arg(
        long = "before",
        value_name = "RUN",
        num_args = 1..,
        conflicts_with_all = ["before", "halves"],
        requires = "after_runs"
    )]
    pub before_runs: Vec<String>,
    /// One or more runs that may have changed
    #[arg(
        long = "after",
        value_name = "RUN",
        num_args = 1..,
        conflicts_with = "after",
        requires = "before_runs"
    )]
    pub after_runs: Vec<String>,
    /// Compare the two halves of the iterations of one run
    #[arg(long, conflicts_with = "after")]
    pub halves: bool,
    /// Also list changes that may be chance, after the others, with their probability
    #[arg(long)]
    pub possible: bool,
    #[command(flatten)]
    pub listing: ListingArgs,
}

#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The runs to check: each its folder, a file, or a pattern in quotes
    #[arg(value_name = "RUN", required = true, num_args = 1..)]
    pub runs: Vec<String>,
    /// A run in which all is well, or a saved model (`analyze --save-model`). Repeat it for several runs: from three on,
    /// what they differ by decides
    #[arg(long, value_name = "RUN|MODEL", required_unless_present = "baseline")]
    pub reference: Vec<String>,
    /// A file of runs in which all is well (`callgrove baseline add`)
    #[arg(long, value_name = "FILE", conflicts_with = "reference")]
    pub baseline: Option<PathBuf>,
    /// Largest slowdown of a function, an iteration or a wait that passes, in percent
    #[arg(long, value_name = "PERCENT", default_value = "5%")]
    pub max_slowdown: Slowdown,
    /// What fails the check [default: all that the reference allows to check, and of several runs not `abnormal`]
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub fail_on: Vec<CheckKind>,
    /// Root function of the check `abnormal`, as for analyze. Of several references the first is learned from
    #[arg(long, short, value_name = "A")]
    pub function: Option<String>,
    /// Seed of all random numbers; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    #[command(flatten)]
    pub reports: CheckReportArgs,
    /// Print the duration of each stage on standard error
    #[arg(long)]
    pub timings: bool,
}

/// Where the outcome of a check is written, besides standard output.
#[derive(Args, Debug, Default)]
pub struct CheckReportArgs {
    /// Write the outcome as JUnit XML
    #[arg(long, value_name = "FILE.xml")]
    pub junit: Option<PathBuf>,
    /// Write the outcome as Markdown
    #[arg(long, value_name = "FILE.md")]
    pub markdown: Option<PathBuf>,
    /// Write the outcome as JSON
    #[arg(long, value_name = "FILE.json")]
    pub json: Option<PathBuf>,
    /// Write what was found as SARIF, for code scanning
    #[arg(long, value_name = "FILE.sarif")]
    pub sarif: Option<PathBuf>,
    /// Write figures for a metrics report of GitLab
    #[arg(long, value_name = "FILE.txt")]
    pub metrics: Option<PathBuf>,
    /// Print annotations for GitHub Actions, and append the outcome to the summary of the step
    #[arg(long)]
    pub github: bool,
}

/// What `callgrove baseline` does.
#[derive(Subcommand, Debug)]
pub enum BaselineCommand {
    /// Add runs in which all is well to a file, which is created if it is missing
    Add {
        /// The file, such as one in the cache of a continuous integration
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The runs: each its folder, a file, or a pattern in quotes
        #[arg(value_name = "RUN", required = true, num_args = 1..)]
        runs: Vec<String>,
        /// The commit that the runs are of [default: what GITHUB_SHA or CI_COMMIT_SHA names]
        #[arg(long, value_name = "HASH")]
        commit: Option<String>,
        /// Keep only the last N runs
        #[arg(long, value_name = "N", default_value_t = 20)]
        keep: usize,
    },
    /// List the runs of a file
    Show {
        /// The file
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        table: TableArgs,
    },
}

/// Something that a run is checked for.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CheckKind {
    /// More incidents than in the reference, as `compare` counts them; of a model: any incident that is not by design
    Incident,
    /// Abnormal executions, as `analyze --reference` judges them
    Abnormal,
    /// Something that takes longer than in the reference, as `compare` finds it
    Slower,
}

impl CheckKind {
    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Incident => "incident",
            Self::Abnormal => "abnormal",
            Self::Slower => "slower",
        }
    }
}

/// A slowdown as a share: 0.05 is 5 %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slowdown(pub f64);

impl fmt::Display for Slowdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", (self.0 * 1e4).round() / 100.0)
    }
}

impl FromStr for Slowdown {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = text.trim().trim_end_matches('%').trim_end();
        match number.parse::<f64>() {
            Ok(percent) if (0.0..f64::INFINITY).contains(&percent) => Ok(Self(percent / 100.0)),
            _ => Err("expected a percentage of at least 0, such as 5%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowdowns_are_percentages() {
        for (text, share) in [("5%", 0.05), ("5", 0.05), ("12.5 %", 0.125), ("0%", 0.0)] {
            let parsed: Slowdown = text.parse().unwrap();
            assert!((parsed.0 - share).abs() < 1e-12, "{text}");
        }
        for text in ["", "-1%", "nan", "inf%", "five"] {
            assert!(text.parse::<Slowdown>().is_err(), "{text}");
        }
        assert_eq!(Slowdown(0.05).to_string(), "5 %");
    }
}
