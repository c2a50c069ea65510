//! Arguments that several commands share.

use callgrove_source::PATH_SEPARATOR;
use clap::{Args, ValueEnum};

/// A recorded run.
#[derive(Args, Debug)]
pub(crate) struct TraceArgs {
    /// A run's folder, one rank's file or .bp folder, a pattern such as 'run/*.bp', or several of these that belong
    /// together (docs/formats.md lists the formats)
    #[arg(value_name = "TRACE", required = true)]
    paths: Vec<String>,
}

impl TraceArgs {
    /// Returns the paths as they were given.
    pub(crate) fn paths(&self) -> &[String] {
        &self.paths
    }

    /// Returns the run as one source.
    pub(crate) fn source(&self) -> String {
        self.paths.join(PATH_SEPARATOR)
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableFormat {
    /// Aligned columns
    Table,
    /// One JSON object per line
    Json,
    /// Comma-separated values with a header
    Csv,
}

/// Options of a printed list.
#[derive(Args, Debug)]
pub(crate) struct ListingArgs {
    /// Print only the first N
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Output format
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub(crate) format: TableFormat,
    /// Print the duration of each stage on standard error
    #[arg(long)]
    pub(crate) timings: bool,
}

/// The meaning of the labels in a truth file.
#[derive(Args, Debug)]
pub(crate) struct ClassArgs {
    /// Labels of anomalies, each a kind of its own [default: all that are not negative]
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) positive: Option<Vec<String>>,
    /// Labels of normal executions
    #[arg(
        long,
        value_name = "LABELS",
        value_delimiter = ',',
        default_value = "0,5,normal"
    )]
    pub(crate) negative: Vec<String>,
}
