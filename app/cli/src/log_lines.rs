//! What the program says on standard error while it works: sentences for people, or lines with time, level and fields for
//! what collects the logs of servers.

use std::io::{Write as _, stderr};
use std::sync::OnceLock;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::{fmt, registry::LookupSpan};

use crate::args::LogFormat;

/// An event as a sentence with its fields.
struct PlainLines;

impl<S, N> FormatEvent<S, N> for PlainLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> std::fmt::Result {
        writer.write_str("callgrove: ")?;
        context
            .field_format()
            .format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}

static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Has all that the libraries report printed as well: warnings and errors, in lines with a time also what they note.
pub(crate) fn start(format: LogFormat) {
    let lines = fmt()
        .with_writer(stderr)
        .with_ansi(false)
        .with_target(false);
    // This is the first and only time.
    let is_started = match format {
        LogFormat::Plain => lines
            .with_max_level(Level::WARN)
            .event_format(PlainLines)
            .try_init(),
        LogFormat::Full => lines.with_max_level(Level::INFO).try_init(),
        LogFormat::Json => lines
            .with_max_level(Level::INFO)
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .try_init(),
    };
    debug_assert!(is_started.is_ok());
    FORMAT.get_or_init(|| format);
}

/// Says a text of one or more lines.
pub(crate) fn say(level: Level, text: &str) {
    for line in text.lines() {
        if FORMAT
            .get()
            .is_none_or(|format| *format == LogFormat::Plain)
        {
            // There is nowhere left to report that standard error cannot be written.
            writeln!(stderr(), "callgrove: {line}").ok();
        } else if level == Level::ERROR {
            tracing::error!("{line}");
        } else if level == Level::WARN {
            tracing::warn!("{line}");
        } else {
            tracing::info!("{line}");
        }
    }
}
