//! `callgrove export`: exports a run as one file, for Callgrove or for other programs, or as a folder with the page for
//! any web server.

mod file_kind;
mod findings;

use std::fs;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use callgrove_export::{TraceExportError, TraceFindings, write_chrome, write_perfetto};
use callgrove_model::Trace;
use callgrove_packed::{EXTENSION, write_trace_file};
use callgrove_server::page;
use callgrove_session::is_session_file;
use callgrove_source::PATH_SEPARATOR;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use file_kind::{ExportKind, ViewerFormat};

use super::forest::trace_of;
use crate::exit::Exit;
use crate::host::NativeHost;
use crate::output::{Clock, warn, with_progress};
use crate::pages;
use callgrove_args::ExportArgs;
use callgrove_headless::{Readers, replace_file, replace_file_with};

/// Level of the compression with gzip: most of the effect in half of the time.
const GZIP_LEVEL: u32 = 4;
/// File name of the run in a folder, without its extension.
const RUN: &str = "run";
/// File name of the session in a folder.
const SESSION: &str = "session.json";

pub(crate) fn run(args: &ExportArgs) -> Result<Exit> {
    if let Some(folder) = &args.web {
        return export_page(args, folder);
    }
    let out = args.out.as_ref().context("nothing to export is given")?;
    let kind = ExportKind::of(out)?;
    let is_input = |it: &String| {
        fs::canonicalize(it).is_ok_and(|it| fs::canonicalize(out).is_ok_and(|out| it == out))
    };
    ensure!(
        !args.sources.iter().any(is_input),
        "{} is the run itself, and an export holds less than it: name another file",
        out.display()
    );
    let source = args.sources.join(PATH_SEPARATOR);
    if let ExportKind::Viewer { format, is_packed } = kind {
        return export_for_viewer(args, &source, out, (format, is_packed));
    }
    ensure!(
        args.function.is_none() && !args.no_findings,
        "{} holds no findings, as the window finds them: leave out --function and --no-findings",
        out.display()
    );
    export_trace(&source, out)
}

fn export_page(args: &ExportArgs, folder: &Path) -> Result<Exit> {
    fs::create_dir_all(folder)
        .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let (mut opened, mut exit) = (Vec::new(), Exit::Success);
    if !args.sources.is_empty() {
        let source = args.sources.join(PATH_SEPARATOR);
        let run = format!("{RUN}.{EXTENSION}");
        let session = saved_session(&source)?;
        let trace = session.as_ref().and_then(|it| it["source"].as_str());
        exit = export_trace(trace.unwrap_or(&source), &folder.join(&run))?;
        opened.push(run.clone());
        if let Some(mut session) = session {
            session["source"] = run.into();
            replace_file(
                &folder.join(SESSION),
                session.to_string().as_bytes(),
                Readers::ByMask,
            )?;
            opened.push(SESSION.to_owned());
        }
    }
    let files = page::folder_files(pages::files(), &opened, args.function.as_deref())?;
    for (name, content) in files {
        let path = folder.join(name);
        replace_file(&path, &content, Readers::ByMask)
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    warn(&format!(
        "serve {0} with any web server, such as: python3 -m http.server --directory {0}",
        folder.display()
    ));
    Ok(exit)
}

/// Returns a saved session, if the source is one.
fn saved_session(source: &str) -> Result<Option<Value>> {
    if !is_session_file(&mut NativeHost::new(Ok(PathBuf::new())), source) {
        return Ok(None);
    }
    let text = fs::read_to_string(source).with_context(|| format!("cannot read {source}"))?;
    let session: Value =
        serde_json::from_str(&text).with_context(|| format!("{source} is not a saved session"))?;
    ensure!(
        session["callgrove_session"].is_u64() && session["source"].is_string(),
        "{source} is not a saved session"
    );
    Ok(Some(session))
}

fn export_trace(source: &str, out: &Path) -> Result<Exit> {
    let trace = trace_of(source, &mut Clock::new(false))?;
    let write = |file: &mut fs::File| {
        with_progress("Writing the file", |progress| {
            write_trace_file(&trace, &mut BufWriter::new(file), progress)
        })
    };
    replace_file_with(out, Readers::ByMask, write)
        .with_context(|| format!("cannot write {}", out.display()))?;
    Ok(Exit::after(&trace.warnings))
}

/// Exports a run with its findings as a trace for other programs.
fn export_for_viewer(
    args: &ExportArgs,
    source: &str,
    out: &Path,
    (format, is_packed): (ViewerFormat, bool),
) -> Result<Exit> {
    let mut clock = Clock::new(args.timings);
    let trace = trace_of(source, &mut clock)?;
    let findings = (!args.no_findings)
        .then(|| findings::find(&trace, args.function.as_deref(), &mut clock))
        .transpose()?;
    let findings = findings.as_ref();
    let write = |file: &mut fs::File| {
        let mut file = BufWriter::new(file);
        if !is_packed {
            return write_for_viewer(&trace, findings, format, &mut file);
        }
        let mut packed = GzEncoder::new(file, Compression::new(GZIP_LEVEL));
        write_for_viewer(&trace, findings, format, &mut packed)?;
        Ok(packed.finish()?.flush()?)
    };
    replace_file_with(out, Readers::ByMask, write)
        .with_context(|| format!("cannot write {}", out.display()))?;
    clock.lap("write");
    Ok(Exit::after(&trace.warnings))
}

fn write_for_viewer(
    trace: &Trace,
    findings: Option<&TraceFindings>,
    format: ViewerFormat,
    out: &mut impl std::io::Write,
) -> Result<(), TraceExportError> {
    with_progress("Writing the file", |progress| match format {
        ViewerFormat::Perfetto => write_perfetto(trace, findings, out, progress),
        ViewerFormat::Chrome => write_chrome(trace, findings, out, progress),
    })
}
