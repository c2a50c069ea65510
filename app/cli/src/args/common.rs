//! What arguments of several commands have in common.

use clap::{Args, ValueEnum};

pub(super) const TRACE_HELP: &str =
    "A run's folder, one rank's .bp folder, or a pattern such as 'run/*.bp'";

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableFormat {
    /// Aligned columns
    Table,
    /// One JSON object per line
    Json,
    /// Comma-separated values with a header
    Csv,
}

/// What is printed of a list, and how.
#[derive(Args, Debug)]
pub(crate) struct ListingArgs {
    /// Print only the first N
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// How to print
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub(crate) format: TableFormat,
    /// Say on standard error how long each stage took
    #[arg(long)]
    pub(crate) timings: bool,
}

/// What the labels of a truth mean.
#[derive(Args, Debug)]
pub(crate) struct ClassArgs {
    /// Labels that mean an anomaly, each a kind of its own [default: all that are not negative]
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub(crate) positive: Option<Vec<String>>,
    /// Labels that mean that all is well
    #[arg(
        long,
        value_name = "LABELS",
        value_delimiter = ',',
        default_value = "0,5,normal"
    )]
    pub(crate) negative: Vec<String>,
}
