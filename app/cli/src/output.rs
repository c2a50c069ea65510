//! Standard output and standard error.

use std::io::{BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use callgrove_model::Progress;
use serde::Serialize;

/// Says what went wrong on standard error.
pub(crate) fn complain(text: &str) {
    // There is nowhere left to report that standard error cannot be written.
    writeln!(std::io::stderr(), "callgrove: {text}").ok();
}

/// Writes to standard output.
pub(crate) fn print(
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    write(&mut out)?;
    Ok(out.flush()?)
}

/// Writes one JSON object a line.
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

/// Whether an error only says that nobody reads any more.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|io| io.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

/// Runs `work` and shows its progress on standard error, if a person is looking.
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

/// Says on standard error how long each stage took, if asked.
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
            complain(&format!(
                "{stage}: {:.3} s",
                self.start.elapsed().as_secs_f64()
            ));
        }
        self.start = Instant::now();
    }
}

/// A table with aligned columns: numbers to the right, words to the left.
pub(crate) struct TextTable {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table without rows.
    pub(crate) fn new(header: &[&str]) -> Self {
        Self {
            header: header.iter().map(|&name| name.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Appends a row with one cell per column.
    pub(crate) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Whether it has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Prints the table, each line after `indent` spaces.
    pub(crate) fn print(&self, out: &mut dyn Write, indent: usize) -> std::io::Result<()> {
        let is_number =
            |cell: &String| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
        for (at, row) in std::iter::once(&self.header).chain(&self.rows).enumerate() {
            let mut line = " ".repeat(indent);
            for (column, cell) in row.iter().enumerate() {
                let width = self.width(column);
                let to_right = self
                    .rows
                    .iter()
                    .all(|row| is_number(&row[column]) || row[column].is_empty());
                let padding = " ".repeat(width - cell.chars().count());
                let is_last = column + 1 == row.len();
                match (to_right, is_last) {
                    (true, _) => line += &format!("{padding}{cell}"),
                    (false, true) => line += cell,
                    (false, false) => line += &format!("{cell}{padding}"),
                }
                if !is_last {
                    line += "  ";
                }
            }
            writeln!(out, "{}", if at == 0 { line.trim_end() } else { &line })?;
        }
        Ok(())
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[column].chars().count());
        cells
            .chain([self.header[column].chars().count()])
            .max()
            .unwrap_or(0)
    }
}

/// `1234567` as `1,234,567`.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_are_set_to_the_right() {
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
    fn thousands_are_set_apart() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(thousands),
            ["0", "999", "1,000", "1,234,567"]
        );
    }
}
