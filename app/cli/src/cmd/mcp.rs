//! `callgrove mcp`: a server of the model context protocol, with the runs and databases that this program can open.

use std::ops::ControlFlow;

use anyhow::Result;
use callgrove_headless::{HeadlessSession, default_folder};
use callgrove_mcp::{FoundRecords, RunAccess, ServerSettings, WantedRecords, serve_stdio};
use callgrove_model::Progress;
use callgrove_provdb::{AccessMode, Filter, Query, check_fields};
use callgrove_query::RunComparison;
use callgrove_session::Host as _;
use serde_json::Value;

use super::comparison::sides;
use super::drawing::session_wait::{JournalUse, open_session};
use super::query::sort_key;
use crate::connect::{credential, store_options};
use crate::host::NativeHost;
use crate::output::Clock;
use crate::stop::StopSignal;
use callgrove_args::{ConnectArgs, McpArgs};

pub(crate) fn run(args: &McpArgs) -> Result<()> {
    let stop = StopSignal::listen()?;
    let journal = if args.labels {
        JournalUse::Written
    } else {
        JournalUse::Read
    };
    let access = NativeAccess {
        journal,
        stop: stop.clone(),
    };
    let settings = ServerSettings {
        sources: args.sources.clone(),
        allowed: args.allow.clone(),
        function: args.function.clone(),
        may_label: args.labels,
    };
    serve_stdio(Box::new(access), settings, || stop.is_set())
}

/// Runs and databases as for the other commands.
struct NativeAccess {
    journal: JournalUse,
    stop: StopSignal,
}

impl RunAccess for NativeAccess {
    fn open_session(&self, source: &str, function: Option<&str>) -> Result<HeadlessSession> {
        open_session(source, function, self.journal, &self.stop)
    }

    fn compare(&self, before: &str, after: &str) -> Result<RunComparison> {
        let mut clock = Clock::new(false);
        let [(before, _), (after, _)] = [
            sides::read(before, &mut clock)?,
            sides::read(after, &mut clock)?,
        ];
        Ok(RunComparison::of_runs(&before, &after, Progress::none())?)
    }

    fn records(&self, wanted: &WantedRecords) -> Result<FoundRecords> {
        find_records(wanted)
    }

    fn user(&self) -> Option<String> {
        NativeHost::new(default_folder()).user()
    }
}

/// Returns the first records, and the number of all.
fn find_records(wanted: &WantedRecords) -> Result<FoundRecords> {
    let connect = ConnectArgs::default();
    let options = store_options(
        AccessMode::ReadOnly,
        None,
        credential(&connect)?,
        &connect.ca,
    );
    let mut store = callgrove_provdb_stores::open(&wanted.database, &options)?;
    let mut query = Query::all(wanted.collection.parse()?);
    query.filter = wanted.filter.as_deref().map(Filter::parse).transpose()?;
    check_fields(store.as_mut(), &query, &[])?;
    let num_all = usize::try_from(store.count(&query)?)?;
    let sort = wanted.sort.as_deref();
    query.sort = sort.map(|field| sort_key(field, true)).transpose()?;
    query.limit = Some(wanted.limit.try_into()?);
    let mut records: Vec<Value> = Vec::new();
    let mut result = Ok(());
    store.find_each(&query, &mut |json| match serde_json::from_str(&json) {
        Ok(record) => {
            records.push(record);
            ControlFlow::Continue(())
        }
        Err(error) => {
            result = Err(error);
            ControlFlow::Break(())
        }
    })?;
    result?;
    Ok(FoundRecords { records, num_all })
}
