//! Arguments that several commands share.

use std::path::{Path, PathBuf};

use callgrove_export::SinkFormat;
use callgrove_source::PATH_SEPARATOR;
use clap::{Args, ValueEnum};

/// A recorded run.
#[derive(Args, Debug)]
pub struct TraceArgs {
    /// A run's folder, one rank's file or .bp folder, a pattern such as 'run/*.bp', or several of these that belong
    /// together (docs/formats.md lists the formats)
    #[arg(value_name = "TRACE", required = true)]
    paths: Vec<String>,
}

impl TraceArgs {
    /// Returns the run as one source.
    pub fn source(&self) -> String {
        self.paths.join(PATH_SEPARATOR)
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableFormat {
    /// Text for reading
    Table,
    /// One JSON object per line
    Json,
    /// Comma-separated values with a header
    Csv,
    /// Columns with their types, for data frames; needs --out
    Parquet,
}

impl TableFormat {
    fn sink(self) -> SinkFormat {
        match self {
            Self::Table => SinkFormat::Text,
            Self::Json => SinkFormat::Json,
            Self::Csv => SinkFormat::Csv,
            Self::Parquet => SinkFormat::Parquet,
        }
    }
}

/// The format and the file of a command's table.
#[derive(Args, Debug)]
pub struct TableArgs {
    /// Output format [default: as the name of --out ends (.csv, .json, .jsonl, .parquet), otherwise table]
    #[arg(long, value_enum)]
    pub format: Option<TableFormat>,
    /// Write to this file instead of standard output; an existing file is replaced when the new one is complete
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

impl TableArgs {
    /// Returns the requested format, or that of the file's name.
    pub fn format(&self) -> SinkFormat {
        let name = self.out.as_deref().and_then(Path::to_str);
        let of_name = || name.and_then(SinkFormat::of_name);
        let requested = self.format.map(TableFormat::sink);
        requested.or_else(of_name).unwrap_or(SinkFormat::Text)
    }

    /// Returns whether a format or file was requested.
    pub fn is_given(&self) -> bool {
        self.format.is_some() || self.out.is_some()
    }
}

/// Options of a printed list.
#[derive(Args, Debug)]
pub struct ListingArgs {
    /// Print only the first N
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub table: TableArgs,
    /// Print the duration of each stage on standard error
    #[arg(long)]
    pub timings: bool,
}

/// The meaning of the labels in a truth file.
#[derive(Args, Debug)]
pub struct ClassArgs {
    /// Labels of anomalies, each a kind of its own [default: all that are not negative]
    #[arg(long, value_name = "LABELS", value_delimiter = ',')]
    pub positive: Option<Vec<String>>,
    /// Labels of normal executions
    #[arg(
        long,
        value_name = "LABELS",
        value_delimiter = ',',
        default_value = "0,5,normal"
    )]
    pub negative: Vec<String>,
}
