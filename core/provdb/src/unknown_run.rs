//! Databases of releases that did not identify their run.

use crate::{Collection, ProvDbError, Query, Store, run};

/// Returns whether a database without a run has documents, which then are of an earlier release. Every writer declares
/// the run first, so this check may precede the lock under which the run is joined.
pub(crate) fn has_unknown_documents(store: &mut dyn Store) -> Result<bool, ProvDbError> {
    if store.state(run::STATE)?.is_some() {
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
