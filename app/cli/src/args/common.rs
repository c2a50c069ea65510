//! What arguments of several commands have in common.

use clap::ValueEnum;

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
