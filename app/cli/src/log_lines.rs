//! What the program says on standard error while it works: sentences for people, or lines with time, level and fields for
//! what collects the logs of servers.

use std::io::{Write as _, stderr};
use std::sync::OnceLock;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer as _, fmt, prelude::*, registry};

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

/// Has what our libraries report printed as well: warnings and errors, in lines with a time also what they note. What other
/// libraries report, such as that of the window, helps none who reads it.
pub(crate) fn start(format: LogFormat) {
    let lines = fmt::layer()
        .with_writer(stderr)
        .with_ansi(false)
        .with_target(false);
    let ours = |level| Targets::new().with_target("callgrove", level);
    // This is the first and only time.
    let is_started = match format {
        LogFormat::Plain => {
            let plain = lines.event_format(PlainLines);
            registry()
                .with(plain.with_filter(ours(Level::WARN)))
                .try_init()
        }
        LogFormat::Full => registry()
            .with(lines.with_filter(ours(Level::INFO)))
            .try_init(),
        LogFormat::Json => {
            let json = lines.json().flatten_event(true).with_current_span(false);
            let json = json.with_span_list(false);
            registry()
                .with(json.with_filter(ours(Level::INFO)))
                .try_init()
        }
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
