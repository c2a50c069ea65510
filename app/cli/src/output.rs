//! Standard output and standard error.

use std::io::{BufWriter, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use callgrove_export::{CsvSink, JsonSink, ResultTable, RowSink, TextSink, printable};
use callgrove_model::{Progress, Warnings, thousands};
use tracing::Level;

use crate::args::TableFormat;
use crate::log_lines::write_line;

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
        format!("{}{remedy}", printable(line))
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
            thousands(warning.count),
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

/// Prints rows as a table of the requested format.
pub(crate) fn print_rows<T: ResultTable>(
    format: TableFormat,
    table: &T,
    rows: impl IntoIterator<Item = T::Row>,
) -> anyhow::Result<()> {
    print_table(format, table, |sink| {
        Ok(rows.into_iter().try_for_each(|row| sink.write(&row))?)
    })
}

/// Prints the rows that `write` passes to the sink, as a table of the requested format.
pub(crate) fn print_table<T: ResultTable>(
    format: TableFormat,
    table: &T,
    write: impl FnOnce(&mut dyn RowSink<T>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut sink: Box<dyn RowSink<T> + '_> = match format {
        TableFormat::Table => Box::new(TextSink::new(table, &mut out)),
        TableFormat::Json => Box::new(JsonSink::new(table, &mut out)?),
        TableFormat::Csv => Box::new(CsvSink::new(table, &mut out)?),
    };
    write(&mut *sink)?;
    sink.finish()?;
    Ok(out.flush()?)
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
