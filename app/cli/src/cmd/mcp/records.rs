//! Records of a provenance database, for an assistant.

use std::ops::ControlFlow;

use anyhow::Result;
use callgrove_provdb::{AccessMode, Filter, Query, check_fields};
use serde_json::Value;

use super::answer::RowAnswer;
use crate::args::ConnectArgs;
use crate::cmd::query::sort_key;
use crate::connect::{credential, store_options};

/// The records that a tool asks for.
pub(super) struct WantedRecords {
    /// The database: its folder, postgres://… or the address of its server.
    pub(super) database: String,
    pub(super) collection: String,
    /// A condition, as of `callgrove query --where`.
    pub(super) filter: Option<String>,
    /// The field to sort by, in descending order.
    pub(super) sort: Option<String>,
    pub(super) limit: usize,
}

/// Returns the records, and the number of those that are left out.
pub(super) fn find(wanted: &WantedRecords) -> Result<Value> {
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
    RowAnswer::of_part(&records, num_all)
}
