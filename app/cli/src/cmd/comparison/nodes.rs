//! `callgrove nodes`: which hosts were the root of incidents, in how many runs.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use callgrove_model::{DurationNs, ProgramId, RankId};
use callgrove_provdb::{AccessMode, Collection, Query};
use callgrove_query::{Nodes, NodesOfRun};
use callgrove_tables::NodeTable;
use callgrove_watch::RecordedIncident;

use super::super::causes::find;
use super::super::forest::trace_of;
use crate::connect::{credential, store_options};
use crate::output::{Clock, warn};
use crate::platform::is_records;
use crate::table_output::TableDestination;
use callgrove_args::{ConnectArgs, NodesArgs};

pub(crate) fn run(args: &NodesArgs) -> Result<()> {
    let destination = TableDestination::of(&args.listing.table)?;
    let mut clock = Clock::new(args.listing.timings);
    let runs = args.runs.iter();
    let runs = runs.map(|it| nodes_of_run(it, &args.connect, &mut clock));
    let nodes = Nodes::of(&runs.collect::<Result<Vec<_>>>()?);
    let limit = args.listing.limit.unwrap_or(usize::MAX);
    destination.write(|out| {
        out.rows(&NodeTable, nodes.rows().iter().take(limit).cloned())?;
        if destination.is_text() {
            writeln!(out, "\n{}", nodes.sentence())?;
        }
        Ok(())
    })
}

/// Returns the hosts of a run, and those at which its incidents began.
pub(crate) fn nodes_of_run(
    source: &str,
    connect: &ConnectArgs,
    clock: &mut Clock,
) -> Result<NodesOfRun> {
    let nodes = if is_records(Path::new(source)) {
        of_records(source, connect).with_context(|| format!("cannot read {source}"))?
    } else {
        NodesOfRun::of(&find(&trace_of(source, clock)?, clock)?)
    };
    if nodes.hosts.is_empty() {
        warn(&format!("{source} states no hosts"));
    }
    Ok(nodes)
}

/// Returns the hosts of a run in a provenance database.
fn of_records(source: &str, connect: &ConnectArgs) -> Result<NodesOfRun> {
    let options = store_options(
        AccessMode::ReadOnly,
        None,
        credential(connect)?,
        &connect.ca,
    );
    let mut store = callgrove_provdb_stores::open(source, &options)?;
    let identity = store.run()?.unwrap_or_default();
    let mut nodes = NodesOfRun {
        start: identity.start(),
        hosts: identity.hosts().into_iter().map(str::to_owned).collect(),
        incidents: Vec::new(),
    };
    for document in store.find(&Query::all(Collection::Incidents))? {
        let Some(incident) = RecordedIncident::new(&serde_json::from_str(&document)?) else {
            continue;
        };
        let record = incident.record;
        if !NodesOfRun::counts(record.kind, record.confidence.unwrap_or(0)) {
            continue;
        }
        let of_rank = |rank| identity.host(ProgramId(record.pid), RankId(rank));
        let of_rank = record.rid.and_then(of_rank).map(str::to_owned);
        let host = record.host.or(of_rank);
        let delay = DurationNs::from_us(i64::try_from(record.delay).unwrap_or(i64::MAX));
        nodes.incidents.extend(host.map(|host| (host, delay)));
    }
    Ok(nodes)
}
