//! The run of a database. It is stored as a state, so that releases that do not know it can still read the database.

use callgrove_model::RunIdentity;

use crate::ProvDbError;

/// Name of the state.
pub(crate) const STATE: &str = "run";

/// Parses the identity in a stored state.
pub(crate) fn parse(bytes: &[u8], place: &str) -> Result<RunIdentity, ProvDbError> {
    serde_json::from_slice(bytes).map_err(|error| ProvDbError::Database {
        cause: format!("the identity of the run is damaged ({error})"),
        place: place.to_owned(),
    })
}

/// Returns the identity of a database with the `stored` one after `run` has joined, and the identity to store if it
/// differs.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) fn join(
    stored: Option<&[u8]>,
    has_documents: bool,
    run: &RunIdentity,
    place: &str,
) -> Result<(RunIdentity, Option<Vec<u8>>), ProvDbError> {
    let known = stored.map(|bytes| parse(bytes, place)).transpose()?;
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
