//! Tables in Markdown.

use std::fmt::Display;
use std::io::{Result, Write};

/// A table under its title, with what its cells mean.
pub struct MarkdownTable {
    title: String,
    legend: String,
    /// The header comes first.
    rows: Vec<Vec<String>>,
}

impl MarkdownTable {
    /// A table without rows yet.
    pub fn new(title: &str, legend: &str, header: Vec<String>) -> Self {
        Self {
            title: title.to_owned(),
            legend: legend.to_owned(),
            rows: vec![header],
        }
    }

    /// Adds a row, with a cell for each of the header.
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

/// A row or header from things of several types.
pub fn texts(cells: &[&dyn Display]) -> Vec<String> {
    cells.iter().map(ToString::to_string).collect()
}

/// A share of 1 with three digits and no leading zero; a dash for none.
pub fn share(value: Option<f64>) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |value| format!("{value:.3}").trim_start_matches('0').to_owned(),
    )
}
