//! `callgrove info`: the contents of a trace, and what is damaged in it.

use std::io::Write;

use anyhow::Result;
use callgrove_export::SinkFormat;
use callgrove_session::suggest_roots;
use callgrove_tables::{RunContents, RunFunctionTable};

use crate::exit::Exit;
use crate::host::read_trace;
use crate::output::with_progress;
use crate::table_output::TableDestination;
use callgrove_args::InfoArgs;

pub(crate) fn run(args: &InfoArgs) -> Result<Exit> {
    let destination = TableDestination::of(&args.table)?;
    let trace = with_progress("Reading the trace", |progress| {
        read_trace(&args.trace.source(), progress)
    })?;
    let contents = RunContents {
        source: &args.trace.source(),
        trace: &trace,
        suggestions: &suggest_roots(&trace),
    };
    destination.write(|out| match destination.format() {
        SinkFormat::Text => Ok(contents.print(out)?),
        SinkFormat::Json => Ok(writeln!(out, "{}", contents.to_json())?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            out.rows(&RunFunctionTable::default(), contents.functions())
        }
    })?;
    Ok(Exit::after(&trace.warnings))
}
