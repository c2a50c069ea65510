//! Arguments of the commands that say who did it, and what recurs.

use clap::Args;

use super::common::{TRACE_HELP, TableFormat};

#[derive(Args, Debug)]
pub(crate) struct CausesArgs {
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    /// Function, as for analyze
    #[arg(long, short, value_name = "A")]
    pub(crate) function: Option<String>,
    /// All executions, not only the abnormal ones; nothing is learned
    #[arg(long)]
    pub(crate) all: bool,
    /// Print only the first N
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// How to print
    #[arg(long, value_enum, default_value_t = TableFormat::Table)]
    pub(crate) format: TableFormat,
    /// Seed of everything random; the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Say on standard error how long each stage took
    #[arg(long)]
    pub(crate) timings: bool,
}

#[derive(Args, Debug)]
pub(crate) struct IncidentsArgs {
    #[arg(help = TRACE_HELP)]
    pub(crate) trace: String,
    /// Only incidents that hit executions of a function; these are counted
    #[arg(long, short, value_name = "A")]
    pub(crate) function: Option<String>,
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
