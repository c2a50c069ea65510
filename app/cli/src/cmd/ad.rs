//! `callgrove ad`: analyses some ranks of a job.

use std::time::Instant;

use anyhow::Result;
use callgrove_ad::{AdOptions, Instance, LEFT_OUT, Status};
use callgrove_local::host_name;
use callgrove_model::{WarningKind, count_of, thousands};
use callgrove_pipeline::{OpenedStreams, open_store, state_of_one_instance};
use callgrove_provdb::{AccessMode, Store};
use callgrove_pserver::ModelExchange;
use callgrove_pserver_net::{ExchangeOptions, connect, connect_to_bus};
use serde_json::json;

use crate::ad_settings::{instance_options, open_streams};
use crate::connect::{credential, store_options};
use crate::exit::Exit;
use crate::output::{Problems, print, print_damage, warn};
use crate::stop::StopSignal;
use callgrove_args::{AdArgs, SummaryFormat};

pub(crate) fn run(args: &AdArgs) -> Result<Exit> {
    let stop = StopSignal::listen()?;
    let credential = credential(&args.connect)?;
    let options = instance_options(&args.streams, &args.detect)?;
    let exchange_options = |address: &String| ExchangeOptions {
        credential: credential.clone(),
        ca_file: args.connect.ca.ca_file.clone(),
        group: args.group,
        ..ExchangeOptions::new(address)
    };
    let exchange: Box<dyn ModelExchange> = match (&args.pserver, &args.bus) {
        (None, None) => Box::new(state_of_one_instance().session()),
        (Some(address), _) => Box::new(connect(exchange_options(address))?),
        (None, Some(address)) => Box::new(connect_to_bus(exchange_options(address))?),
    };
    let store = match &args.provdb.provdb {
        None => None,
        Some(url) => {
            let options = store_options(
                AccessMode::ReadWrite,
                args.provdb.shards,
                credential,
                &args.connect.ca,
            );
            Some(open_store(url, &options, &warn)?)
        }
    };
    let start = Instant::now();
    let opened = open_streams(&args.streams, &stop)?;
    let status = follow(opened, options, exchange, store, &stop, &|_| Vec::new())?;
    summarize(&status, start, args.format)?;
    Ok(exit_of(&status))
}

/// Follows the streams to their ends, or until asked to stop. Reports each problem once; `others` returns the problems
/// of other parts of this process.
pub(super) fn follow(
    opened: OpenedStreams,
    options: AdOptions,
    exchange: Box<dyn ModelExchange>,
    store: Option<Box<dyn Store>>,
    stop: &StopSignal,
    others: &dyn Fn(&Status) -> Vec<String>,
) -> Result<Status> {
    let name = instance_name();
    let OpenedStreams {
        streams,
        late,
        warnings,
    } = opened;
    let mut instance = Instance::start(streams, options, exchange, store, &name)?;
    if let Some(late) = late {
        instance = instance.with_late_streams(late);
    }
    let mut problems = Problems::default();
    let mut status = instance.run(|status| {
        let own = [&status.link_down, &status.stored.refusal];
        let own = own.into_iter().flatten();
        let own = own.map(|what| format!("{what}; detection continues, and its results are kept"));
        let not_stored = status.stored.first_unfit.iter();
        let not_stored = not_stored.map(|why| format!("a record is not stored: {why}"));
        let trees = status.tree_trouble.iter();
        let trees = trees
            .map(|why| format!("{why}; the previous version stays in force, if there was one"));
        let awaited = status.awaited.iter();
        let awaited =
            awaited.map(|what| format!("{what}; waiting for them before judging the run"));
        let opening = status.opening.iter().cloned();
        let also = not_stored.chain(trees).chain(awaited).chain(opening);
        problems.report(own.chain(also).chain(others(status)).collect());
        stop.flow()
    })?;
    status.warnings.join(warnings);
    for rule in &status.idle_rules {
        warn(&format!(
            "note: no function matches {rule} (--ignore, --thresholds)"
        ));
    }
    if let Some(first) = status.absent.first() {
        warn(&format!(
            "no instance read {} other ranks of the program, the first is {first}: their normal behaviour is unknown",
            status.absent.len()
        ));
    }
    if status.is_judged_early {
        warn(
            "the records were judged before the models were complete. Once all instances have ended, `callgrove run --rejudge \
             DATABASE` judges those of a live run again; of a recorded run, start the instances again",
        );
    }
    report_left_out(&status);
    if stop.is_set() {
        warn("stopped before the end: the results cover the time until then");
    }
    for (kind, count) in status.warnings.notes() {
        warn(&format!("note: {kind} ({})", count_of(count, "time")));
    }
    print_damage(&status.warnings);
    Ok(status)
}

/// Prints how many documents the budget left out.
fn report_left_out(status: &Status) {
    if let Some((function, most)) = status.left_out.first() {
        warn(&format!(
            "{} left out by --max-documents-per-second, {} of them of {function}. `callgrove query DATABASE metadata \
             --where \"descr = '{LEFT_OUT}'\"` has the numbers by rank and function",
            count_of(status.num_left_out, "document"),
            thousands(*most),
        ));
    }
}

/// Returns the outcome of an instance's run.
pub(super) fn exit_of(status: &Status) -> Exit {
    let is_partial = status.is_judged_early || status.warnings.total(WarningKind::MissingRank) > 0;
    let judged = if is_partial {
        Exit::Partial
    } else {
        Exit::Success
    };
    Exit::after(&status.warnings).and(judged)
}

/// Returns the name of an instance in this process.
pub(super) fn instance_name() -> String {
    format!("{}-{}", host(), std::process::id())
}

/// Returns a name for this machine and time, so that no two processes have the same name.
fn host() -> String {
    let name = host_name().unwrap_or_else(|| "host".to_owned());
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    format!("{name}-{:x}", since.map_or(0, |since| since.as_millis()))
}

/// Prints a summary of the instance's work.
pub(super) fn summarize(status: &Status, start: Instant, format: SummaryFormat) -> Result<()> {
    let seconds = start.elapsed().as_secs_f64();
    print(|out| match format {
        SummaryFormat::Json => {
            let summary = json!({
                "steps": status.num_steps,
                "known_steps": status.num_known_steps,
                "function_events": status.num_events,
                "executions": status.num_executions,
                "anomalies": status.num_anomalies,
                "trees": status.num_trees,
                "abnormal_trees": status.num_abnormal_trees,
                "documents": status.stored.num_documents,
                "document_bytes": status.stored.num_bytes,
                "documents_left_out": status.num_left_out,
                "seconds": seconds,
            });
            writeln!(out, "{summary}")
        }
        SummaryFormat::Table => writeln!(
            out,
            "{}{}, {}, {}, {}{}; {} ({:.1} MB) in {seconds:.2} s",
            count_of(status.num_steps, "step"),
            match status.num_known_steps {
                0 => String::new(),
                known => format!(" ({} recorded before)", thousands(known)),
            },
            count_of(status.num_events, "function event"),
            count_of(status.num_executions, "execution"),
            match status.num_anomalies {
                1 => "1 anomaly".to_owned(),
                several => format!("{} anomalies", thousands(several)),
            },
            match (status.num_trees, status.num_abnormal_trees) {
                (0, _) => String::new(),
                (all, abnormal) => format!(
                    ", {} of {} trees abnormal",
                    thousands(abnormal),
                    thousands(all)
                ),
            },
            count_of(status.stored.num_documents, "document"),
            status.stored.num_bytes as f64 / 1e6,
        ),
    })
}
