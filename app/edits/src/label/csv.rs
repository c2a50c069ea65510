//! CSV files about executions: labels, and the ground truth against which methods are measured.

use callgrove_model::{ProgramId, RankId};
use callgrove_query::EventKey;

use super::key::{LabelKey, TreeKey};

/// One row of the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LabelRow {
    /// Line, counted from 1.
    pub line: u64,
    /// The tree or execution.
    pub key: LabelKey,
    /// Its label.
    pub label: String,
}

/// A labels file that cannot be used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LabelCsvError {
    /// The text is not CSV.
    #[error("not a CSV file: {cause}")]
    Malformed {
        /// Error of the parser, with the line.
        cause: String,
    },
    /// A column is missing.
    #[error("no column `{column}`; the header must have rank,index,label")]
    NoColumn {
        /// The column.
        column: &'static str,
    },
    /// Two lines contradict each other.
    #[error(
        "line {line} labels {key} {label}, but an earlier line contradicts it; keep one of them"
    )]
    Contradiction {
        /// The later line, counted from 1.
        line: u64,
        /// Tree or execution of both lines.
        key: String,
        /// Label in the later line.
        label: &'static str,
    },
    /// A field is invalid.
    #[error("line {line}: {column} is `{value}`, expected {expected}")]
    BadField {
        /// Line, counted from 1.
        line: u64,
        /// Column.
        column: &'static str,
        /// Value of the field.
        value: String,
        /// Expected form.
        expected: &'static str,
    },
}

/// Reads CSV with the columns rank, index (or exec) and label, and program and event_id, if present, in any
/// order; other columns are ignored. If a row has no index, its event_id identifies the execution.
///
/// # Errors
/// [`LabelCsvError`] with the line.
pub fn label_rows(text: &[u8]) -> Result<Vec<LabelRow>, LabelCsvError> {
    let malformed = |error: csv::Error| LabelCsvError::Malformed {
        cause: error.to_string(),
    };
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text);
    let header = reader.headers().map_err(malformed)?.clone();
    let column = |name: &str| {
        let is_it = |field: &str| field.eq_ignore_ascii_case(name);
        header.iter().position(is_it)
    };
    let needed = |column, place: Option<usize>| place.ok_or(LabelCsvError::NoColumn { column });
    let rank = needed("rank", column("rank"))?;
    let index = needed("index", column("index").or_else(|| column("exec")))?;
    let label = needed("label", column("label"))?;
    let program = column("program");
    let event = column("event_id");
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(malformed)?;
        let line = record.position().map_or(0, csv::Position::line);
        let number = |at: usize, column| {
            let value = record.get(at).unwrap_or_default();
            value.parse().ok().ok_or_else(|| LabelCsvError::BadField {
                line,
                column,
                value: value.to_owned(),
                expected: "a whole number",
            })
        };
        let program = ProgramId(program.map_or(Ok(0), |at| number(at, "program"))?);
        let event = event.and_then(|at| record.get(at)).unwrap_or_default();
        let has_index = record.get(index).is_some_and(|value| !value.is_empty());
        let key = if has_index || event.is_empty() {
            let rank = RankId(number(rank, "rank")?);
            let index = number(index, "index")?;
            LabelKey::Tree(TreeKey {
                program,
                rank,
                index,
            })
        } else {
            let key = EventKey::parse(program, event);
            LabelKey::Event(key.ok_or_else(|| LabelCsvError::BadField {
                line,
                column: "event_id",
                value: event.to_owned(),
                expected: "rank:step:row",
            })?)
        };
        rows.push(LabelRow {
            line,
            key,
            label: record.get(label).unwrap_or_default().to_owned(),
        });
    }
    Ok(rows)
}
