//! How many documents of a rank were left out of its database, as a document of that database.

use std::collections::BTreeMap;

use callgrove_model::{ProgramId, RankId};
use callgrove_provdb::{Collection, Document, Filter, MetadataRecord, ProvDbError, Query, Store};

/// The `descr` of the document in the collection `metadata`.
pub const LEFT_OUT: &str = "documents left out";

/// Returns the document that states how many documents of a rank were left out, by the names of functions.
///
/// # Errors
/// [`ProvDbError::BadDocument`] never occurs today: names and counts can be written as JSON.
pub fn left_out_document(
    program: ProgramId,
    rank: RankId,
    by_function: &BTreeMap<&str, u64>,
) -> Result<Document, ProvDbError> {
    Document::metadata(&MetadataRecord {
        descr: LEFT_OUT.to_owned(),
        pid: program.0,
        rid: rank.0,
        tid: 0,
        value: serde_json::json!(by_function).to_string(),
    })
}

/// Returns whether documents of a rank were left out of a database.
///
/// # Errors
/// The database cannot be read.
pub fn has_left_out(
    store: &mut dyn Store,
    program: ProgramId,
    rank: RankId,
) -> Result<bool, ProvDbError> {
    let of_rank = format!("rid = {rank} and pid = {program} and descr = '{LEFT_OUT}'");
    let query = Query {
        filter: Some(Filter::parse(&of_rank)?),
        limit: Some(1),
        ..Query::all(Collection::Metadata)
    };
    Ok(!store.find_ids(&query)?.is_empty())
}
