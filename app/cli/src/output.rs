//! Standard output and standard error.

use std::error::Error;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use callgrove_export::printable;
use callgrove_model::{Progress, Warnings, count_of};
use tracing::Level;

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
            "{rank}{} ({}; first {})",
            warning.kind,
            count_of(warning.count, "time"),
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

/// Returns whether an error only means that the reader has closed the pipe, also if another error wraps it.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(is_of_closed_pipe)
}

/// Returns whether an error is that of a closed pipe or wraps it where [`Error::source`] does not show it.
fn is_of_closed_pipe(error: &(dyn Error + 'static)) -> bool {
    if let Some(io) = error.downcast_ref::<io::Error>() {
        let inner = io.get_ref().map(|it| it as &(dyn Error + 'static));
        return io.kind() == ErrorKind::BrokenPipe || inner.is_some_and(is_of_closed_pipe);
    }
    if let Some(json) = error.downcast_ref::<serde_json::Error>() {
        return json.io_error_kind() == Some(ErrorKind::BrokenPipe);
    }
    error.source().is_some_and(is_of_closed_pipe)
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

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use callgrove_export::write_json_line;

    use super::*;

    /// An output whose reader has closed the pipe.
    struct ClosedPipe;

    impl Write for ClosedPipe {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_recognized_in_every_error_that_wraps_it() {
        let io = || io::Error::from(ErrorKind::BrokenPipe);
        let json = || serde_json::to_writer(ClosedPipe, &1).unwrap_err();
        let wrapped: [anyhow::Error; 6] = [
            io().into(),
            io::Error::other(io()).into(),
            json().into(),
            io::Error::other(json()).into(),
            write_json_line(&mut ClosedPipe, &1).unwrap_err().into(),
            Err::<(), _>(json()).context("cannot print").unwrap_err(),
        ];
        for error in &wrapped {
            assert!(is_broken_pipe(error), "{error:?}");
        }
        let other = io::Error::other(io::Error::from(ErrorKind::StorageFull));
        assert!(!is_broken_pipe(&other.into()));
    }
}
