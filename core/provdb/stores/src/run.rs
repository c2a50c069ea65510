//! The run of a database: joining it, and databases of releases that did not identify theirs.

use callgrove_model::RunIdentity;
use callgrove_provdb::{Collection, ProvDbError, Query, RUN_STATE, Store, parse_run};

/// Returns whether a database without a run has documents, which then are of an earlier release. Every writer declares
/// the run first, so this check may precede the lock under which the run is joined.
pub(crate) fn has_unknown_documents(store: &mut dyn Store) -> Result<bool, ProvDbError> {
    if store.state(RUN_STATE)?.is_some() {
        return Ok(false);
    }
    for collection in Collection::ALL {
        let first = Query {
            limit: Some(1),
            ..Query::all(collection)
        };
        if !store.find(&first)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the identity of a database with the `stored` one after `run` has joined, and the identity to store if it
/// differs.
pub(crate) fn join(
    stored: Option<&[u8]>,
    has_documents: bool,
    run: &RunIdentity,
    place: &str,
) -> Result<(RunIdentity, Option<Vec<u8>>), ProvDbError> {
    let known = stored.map(|bytes| parse_run(bytes, place)).transpose()?;
    if known.is_none() && has_documents {
        return Err(ProvDbError::UnknownRun(place.to_owned()));
    }
    let mut joined = known.clone().unwrap_or_default();
    joined.join(run).map_err(|mismatch| ProvDbError::OtherRun {
        mismatch,
        place: place.to_owned(),
    })?;
    if known.as_ref() == Some(&joined) {
        return Ok((joined, None));
    }
    let bytes = serde_json::to_vec(&joined).map_err(|error| ProvDbError::Database {
        cause: error.to_string(),
        place: place.to_owned(),
    })?;
    Ok((joined, Some(bytes)))
}
