//! The report of `callgrove check`: on standard output, as JUnit XML and as Markdown.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};
use callgrove_export::{markdown_text, printable, write_junit, write_markdown_table};

use super::outcome::Outcomes;
use callgrove_headless::{Readers, replace_file_with};

/// Maximum number of findings of a check that a report lists.
const NUM_FOUND: usize = 20;

impl Outcomes {
    /// Writes the report as text.
    pub(super) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        for (kind, outcome) in &self.all {
            let (name, summary) = (outcome.name(), printable(outcome.summary()));
            writeln!(out, "{}: {name}: {summary}", kind.name())?;
            for sentence in listed(outcome.found()) {
                writeln!(out, "  {}", printable(&sentence))?;
            }
        }
        Ok(())
    }

    /// Writes the report as Markdown.
    fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "## Callgrove: {} compared with {}\n",
            markdown_text(&self.run),
            markdown_text(&self.reference)
        )?;
        let rows = self.all.iter().map(|(kind, outcome)| {
            let cells = [kind.name(), outcome.name(), outcome.summary()];
            cells.map(str::to_owned).to_vec()
        });
        let rows: Vec<Vec<String>> = rows.collect();
        write_markdown_table(out, &["check", "outcome", "reason"], &rows)?;
        for (kind, outcome) in &self.all {
            if outcome.found().is_empty() {
                continue;
            }
            writeln!(out, "\n### {}\n", kind.name())?;
            for sentence in listed(outcome.found()) {
                writeln!(out, "* {}", markdown_text(&sentence))?;
            }
        }
        Ok(())
    }

    /// Writes the requested files.
    pub(super) fn write_files(&self, junit: Option<&Path>, markdown: Option<&Path>) -> Result<()> {
        let write = |path: &Path, write: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
            replace_file_with(path, Readers::ByMask, |file| write(file))
                .with_context(|| format!("cannot write {}", path.display()))
        };
        if let Some(path) = junit {
            write(path, &|out| {
                write_junit(out, "callgrove check", &self.junit())
            })?;
        }
        if let Some(path) = markdown {
            write(path, &|out| self.write_markdown(out))?;
        }
        Ok(())
    }
}

/// Returns the first findings, and how many more there are.
fn listed(found: &[String]) -> Vec<String> {
    let mut listed: Vec<String> = found.iter().take(NUM_FOUND).cloned().collect();
    if let Some(more) = found.len().checked_sub(NUM_FOUND).filter(|more| *more > 0) {
        listed.push(format!("and {more} more"));
    }
    listed
}
