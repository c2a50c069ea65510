//! Databases of releases that did not say which run they are of.

use crate::{Collection, ProvDbError, Query, Store, run};

/// Whether a database that says nothing of its run has documents, which then are of an earlier release. Whoever
/// writes says the run first, so this may be asked before the lock is taken under which the run is joined.
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
