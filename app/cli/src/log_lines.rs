//! Messages on standard error: sentences for people, or lines with time, level and fields for log collectors.

use std::io::{Write as _, stderr};
use std::sync::OnceLock;

use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer as _, fmt, prelude::*, registry};

use callgrove_args::LogFormat;

/// The format of an event as a sentence with its fields.
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

/// The format of the messages, once it is set.
static FORMAT: OnceLock<LogFormat> = OnceLock::new();

/// Prints warnings and errors of our libraries, too; in the formats with a time also their info messages. Messages of
/// other libraries, such as those of the window, are left out, since they do not help users.
pub(crate) fn start(format: LogFormat) {
    let lines = fmt::layer()
        .with_writer(stderr)
        .with_ansi(false)
        .with_target(false);
    let ours = |level| Targets::new().with_target("callgrove", level);
    // The subscriber is set here only, so this cannot fail.
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

/// Writes a text of one or more lines.
pub(crate) fn write_line(level: Level, text: &str) {
    for line in text.lines() {
        if FORMAT
            .get()
            .is_none_or(|format| *format == LogFormat::Plain)
        {
            // An error of standard error cannot be reported anywhere.
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
