//! Standard output and standard error.

use std::borrow::Cow;
use std::io::{BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use callgrove_model::{Progress, Warnings};
use serde::Serialize;
use tracing::Level;

use crate::log_lines::write_line;

pub(crate) use callgrove_pipeline::thousands;

/// Error texts of libraries that users cannot interpret, and their remedies.
const REMEDIES: [(&str, &str); 2] = [
    (
        "CaUsedAsEndEntity",
        "the server's certificate is that of an authority, as `openssl req -x509` makes it; add `-addext \
         basicConstraints=critical,CA:FALSE` and `-addext subjectAltName=…` there",
    ),
    (
        "frame with invalid size",
        "the server may require https; use an https:// address, with --ca-file",
    ),
];

/// Prints a warning on standard error.
pub(crate) fn warn(text: &str) {
    write_line(Level::WARN, &with_remedy(text));
}

/// Adds a remedy to lines with an error text of a library that users cannot interpret.
pub(crate) fn with_remedy(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let remedy = REMEDIES.iter().find(|(text, _)| line.contains(text));
        let remedy = remedy.map_or_else(String::new, |(_, remedy)| format!(" ({remedy})"));
        format!("{}{remedy}", shown(line))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The current problems; each is reported when it begins.
#[derive(Default)]
pub(crate) struct Problems(Vec<String>);

impl Problems {
    /// Reports the problems that are new since the last call.
    pub(crate) fn report(&mut self, now: Vec<String>) {
        for problem in now.iter().filter(|it| !self.0.contains(it)) {
            warn(problem);
        }
        self.0 = now;
    }
}

/// Prints the damage of a trace on standard error.
pub(crate) fn print_damage(warnings: &Warnings) {
    for warning in warnings.damage() {
        let rank = warning
            .rank
            .map_or_else(String::new, |rank| format!("rank {rank}: "));
        warn(&format!(
            "{rank}{} ({} times; first {})",
            warning.kind,
            thousands(warning.count as usize),
            warning.first.since(None)
        ));
    }
}

/// Writes to standard output.
pub(crate) fn print(
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    write(&mut out)?;
    Ok(out.flush()?)
}

/// Writes one JSON object per line.
pub(crate) fn json_lines<T: Serialize>(
    out: &mut dyn Write,
    rows: impl IntoIterator<Item = T>,
) -> std::io::Result<()> {
    for row in rows {
        serde_json::to_writer(&mut *out, &row)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// Writes comma-separated values with a header.
pub(crate) fn csv_lines<T: Serialize>(
    out: &mut dyn Write,
    rows: impl IntoIterator<Item = T>,
) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    for row in rows {
        writer.serialize(row).map_err(std::io::Error::other)?;
    }
    writer.flush()
}

/// Returns whether an error only means that the reader has closed the pipe.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// Runs `work` and shows its progress on standard error, if that is a terminal.
pub(crate) fn with_progress<T>(stage: &str, work: impl FnOnce(Progress<'_>) -> T) -> T {
    let is_watched = std::io::stderr().is_terminal();
    let shown = AtomicU32::new(u32::MAX);
    let sink = |fraction: f32| {
        let percent = (fraction * 100.0) as u32;
        if is_watched && shown.swap(percent, Ordering::Relaxed) != percent {
            write!(std::io::stderr(), "\r\x1b[2K{stage}… {percent} %").ok();
        }
        ControlFlow::Continue(())
    };
    let result = work(Progress::new(&sink));
    if is_watched {
        write!(std::io::stderr(), "\r\x1b[2K").ok();
    }
    result
}

/// Prints the duration of each stage on standard error, if enabled.
pub(crate) struct Clock {
    is_on: bool,
    start: Instant,
}

impl Clock {
    /// Starts the first stage.
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            start: Instant::now(),
        }
    }

    /// Ends a stage.
    pub(crate) fn lap(&mut self, stage: &str) {
        if self.is_on {
            warn(&format!(
                "{stage}: {:.3} s",
                self.start.elapsed().as_secs_f64()
            ));
        }
        self.start = Instant::now();
    }
}

/// A table with aligned columns: numbers right-aligned, text left-aligned.
pub(crate) struct TextTable {
    columns: Vec<Column>,
    /// The text of all cells, row by row.
    text: String,
    /// End of each cell in `text`.
    ends: Vec<usize>,
}

struct Column {
    name: String,
    /// Width of the widest cell.
    num_chars: usize,
    /// True if all cells are numbers.
    is_numeric: bool,
}

impl TextTable {
    /// A table without rows.
    pub(crate) fn new(header: &[&str]) -> Self {
        let column = |name: &&str| Column {
            name: shown(name).into_owned(),
            num_chars: shown(name).chars().count(),
            is_numeric: true,
        };
        Self {
            columns: header.iter().map(column).collect(),
            text: String::new(),
            ends: Vec::new(),
        }
    }

    /// Appends a row with one cell per column.
    pub(crate) fn push(&mut self, row: impl IntoIterator<Item = String>) {
        for (cell, column) in row.into_iter().zip(&mut self.columns) {
            let cell = shown(&cell);
            column.num_chars = column.num_chars.max(cell.chars().count());
            column.is_numeric &= cell.is_empty() || is_number(&cell);
            self.text.push_str(&cell);
            self.ends.push(self.text.len());
        }
    }

    /// Returns whether the table has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Prints the table, each line after `indent` spaces.
    pub(crate) fn print(&self, out: &mut dyn Write, indent: usize) -> std::io::Result<()> {
        let mut header = String::new();
        for (at, column) in self.columns.iter().enumerate() {
            self.set(&mut header, at, &column.name);
        }
        let margin = " ".repeat(indent);
        writeln!(out, "{margin}{}", header.trim_end())?;
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let mut cells = starts
            .zip(&self.ends)
            .map(|(start, end)| &self.text[start..*end]);
        let mut line = String::new();
        for _ in 0..self.ends.len() / self.columns.len().max(1) {
            line.clear();
            for (at, cell) in (0..self.columns.len()).zip(&mut cells) {
                self.set(&mut line, at, cell);
            }
            writeln!(out, "{margin}{line}")?;
        }
        Ok(())
    }

    /// Appends a cell to a line.
    fn set(&self, line: &mut String, at: usize, cell: &str) {
        let column = &self.columns[at];
        let padding = column.num_chars - cell.chars().count();
        let is_last = at + 1 == self.columns.len();
        if column.is_numeric {
            line.extend(std::iter::repeat_n(' ', padding));
        }
        line.push_str(cell);
        if !column.is_numeric && !is_last {
            line.extend(std::iter::repeat_n(' ', padding));
        }
        if !is_last {
            line.push_str("  ");
        }
    }
}

fn is_number(cell: &str) -> bool {
    cell.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+')
}

/// Returns a text that is safe for a terminal: control characters and direction overrides are escaped.
fn shown(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| {
        !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let spell = |c: char| match c {
        c if is_plain(c) => c.to_string(),
        c => c.escape_default().to_string(),
    };
    Cow::Owned(text.chars().map(spell).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numeric_columns_are_right_aligned() {
        let mut table = TextTable::new(&["name", "calls"]);
        table.push(vec!["a".into(), "1,024".into()]);
        table.push(vec!["long".into(), "7".into()]);
        let mut text = Vec::new();
        table.print(&mut text, 1).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            " name  calls\n a     1,024\n long      7\n"
        );
    }

    #[test]
    fn control_characters_in_cells_are_escaped() {
        let mut table = TextTable::new(&["name", "next"]);
        table.push(vec!["a\r\n\u{1b}[31mred\u{202e}é".into(), "x".into()]);
        let mut text = Vec::new();
        table.print(&mut text, 0).unwrap();
        let cell = "a\\r\\n\\u{1b}[31mred\\u{202e}é";
        let expected = format!("{:27}  next\n{cell}  x\n", "name");
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
