//! The file formats of tables.

use std::io::{Result, Write};

use crate::sink::{CsvSink, JsonSink, RowSink, TextSink};
use crate::table::ResultTable;

/// A format that tables are written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SinkFormat {
    /// Aligned text.
    Text,
    /// One JSON object per line.
    Json,
    /// Comma-separated values with a header.
    Csv,
    /// Typed columns.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl SinkFormat {
    /// All formats.
    pub const ALL: &[Self] = &[
        Self::Csv,
        #[cfg(feature = "parquet")]
        Self::Parquet,
        Self::Json,
        Self::Text,
    ];

    /// Returns the extensions of file names, without the dot; the usual one first.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["txt"],
            Self::Json => &["jsonl", "json", "ndjson"],
            Self::Csv => &["csv"],
            #[cfg(feature = "parquet")]
            Self::Parquet => &["parquet"],
        }
    }

    /// Returns the format of a file by the extension of its name; `None` without a known extension.
    pub fn of_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        let is_of = |format: &Self| {
            let mut known = format.extensions().iter();
            known.any(|known| extension.eq_ignore_ascii_case(known))
        };
        Self::ALL.iter().copied().find(is_of)
    }

    /// Returns a sink for the rows of a table.
    ///
    /// # Errors
    /// Those of the output.
    pub fn sink<'a, T: ResultTable>(
        self,
        table: &'a T,
        out: impl Write + Send + 'a,
    ) -> Result<Box<dyn RowSink<T> + 'a>> {
        Ok(match self {
            Self::Text => Box::new(TextSink::new(table, out)),
            Self::Json => Box::new(JsonSink::new(table, out)?),
            Self::Csv => Box::new(CsvSink::new(table, out)?),
            #[cfg(feature = "parquet")]
            Self::Parquet => Box::new(crate::parquet_file::ParquetSink::new(table, out)?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_a_format() {
        assert_eq!(SinkFormat::of_name("waits.CSV"), Some(SinkFormat::Csv));
        assert_eq!(SinkFormat::of_name("a/b.jsonl"), Some(SinkFormat::Json));
        assert_eq!(SinkFormat::of_name("a.txt"), Some(SinkFormat::Text));
        assert_eq!(SinkFormat::of_name("csv"), None);
        assert_eq!(SinkFormat::of_name("a.xlsx"), None);
    }
}
