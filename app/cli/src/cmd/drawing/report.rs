//! `callgrove report`: what was found in a run, as one HTML file.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use callgrove_gui::export::report_html;
use callgrove_query::{NodeRow, Nodes, NodesOfRun};
use callgrove_report::{CandidateChoice, IncidentChoice, ReportOrigin, ReportRequest};

use super::super::comparison::nodes::nodes_of_run;
use super::session_wait::{JournalUse, open_session};
use crate::exit::Exit;
use crate::guard::registry;
use crate::output::{Clock, with_progress};
use crate::report_origin::origin;
use crate::stop::StopSignal;
use callgrove_args::{ConnectArgs, ReportArgs};
use callgrove_headless::{Readers, input_files, replace_file};
use callgrove_session::Snapshot;

/// Number of incidents if none are chosen.
const MAX_INCIDENTS: usize = 5;

pub(crate) fn run(args: &ReportArgs) -> Result<Exit> {
    let source = args.trace.source();
    let extension = args.out.extension().unwrap_or_default();
    ensure!(
        extension == "html" || extension == "htm",
        "{} needs another extension: name it {}",
        args.out.display(),
        args.out.with_extension("html").display()
    );
    let opened = open_session(
        &source,
        args.function.as_deref(),
        JournalUse::Read,
        &StopSignal::listen()?,
    )?;
    let inputs = with_progress("Hashing the inputs", |progress| {
        input_files(&registry(), &source, !args.no_hashes, progress)
    })?;
    let nodes = nodes(&args.nodes, opened.session.snapshot())?;
    let request = ReportRequest {
        incidents: if args.incident.is_empty() {
            IncidentChoice::Costliest {
                at_most: MAX_INCIDENTS,
            }
        } else {
            IncidentChoice::Numbers(args.incident.clone())
        },
        candidates: CandidateChoice::MostAbnormal {
            at_most: args.candidates,
        },
        with_labels: args.labels,
        nodes,
        origin: ReportOrigin {
            command: command_line(),
            ..origin()
        },
        inputs,
    };
    let snapshot = Arc::clone(opened.session.snapshot());
    let html = with_progress("Drawing", |progress| {
        report_html(&snapshot, &request, progress)
    })?;
    replace_file(&args.out, html.as_bytes(), Readers::ByMask)
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    let trace = snapshot.trace().context("the trace was closed")?;
    Ok(Exit::after(&trace.warnings))
}

/// Returns the hosts of the reported run and of others, a sentence each; none if no others are named.
fn nodes(others: &[String], snapshot: &Snapshot) -> Result<Vec<String>> {
    let Some(causes) = snapshot.causes().filter(|_| !others.is_empty()) else {
        return Ok(Vec::new());
    };
    let mut clock = Clock::new(false);
    let others = others.iter();
    let others = others.map(|it| nodes_of_run(it, &ConnectArgs::default(), &mut clock));
    let mut runs = others.collect::<Result<Vec<_>>>()?;
    runs.push(NodesOfRun::of(causes));
    let nodes = Nodes::of(&runs);
    let hosts = nodes.rows().iter().map(NodeRow::sentence);
    Ok(std::iter::once(nodes.sentence()).chain(hosts).collect())
}

/// Returns the command line as a shell takes it.
fn command_line() -> String {
    let arguments: Vec<String> = std::env::args().skip(1).map(|it| quoted(&it)).collect();
    format!("callgrove {}", arguments.join(" "))
}

/// Returns an argument as a shell takes it.
fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_command_again() {
        assert_eq!(quoted("run/a.bp"), "run/a.bp");
        assert_eq!(quoted("a b*"), "'a b*'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
