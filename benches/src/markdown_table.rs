//! Tables in Markdown.

use std::fmt::Display;
use std::io::{Result, Write};

/// A table with a title and a legend.
pub struct MarkdownTable {
    title: String,
    legend: String,
    /// The header comes first.
    rows: Vec<Vec<String>>,
}

impl MarkdownTable {
    /// Creates a table without rows.
    pub fn new(title: &str, legend: &str, header: Vec<String>) -> Self {
        Self {
            title: title.to_owned(),
            legend: legend.to_owned(),
            rows: vec![header],
        }
    }

    /// Adds a row, with a cell for each column of the header.
    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Writes it as Markdown.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(&self, out: &mut impl Write) -> Result<()> {
        writeln!(out, "### {}\n\n{}\n", self.title, self.legend)?;
        for (place, row) in self.rows.iter().enumerate() {
            writeln!(out, "| {} |", row.join(" | "))?;
            if place == 0 {
                writeln!(out, "|{}", "---|".repeat(row.len()))?;
            }
        }
        writeln!(out)
    }
}

/// Returns a row or header from values of several types.
pub fn texts(cells: &[&dyn Display]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

/// Returns a fraction with three digits and no leading zero; a dash for `None`.
pub fn share(value: Option<f64>) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| format!("{value:.3}").trim_start_matches('0').to_owned(),
    )
}
