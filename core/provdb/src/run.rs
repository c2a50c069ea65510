//! The run of a database. It is stored as a state, so that releases that do not know it can still read the database.

use callgrove_model::RunIdentity;

use crate::error::ProvDbError;

/// Name of the state.
pub const RUN_STATE: &str = "run";

/// Parses the identity in a stored state; `place` names it in the error.
///
/// # Errors
/// [`ProvDbError::Database`] if it is damaged.
pub fn parse_run(bytes: &[u8], place: &str) -> Result<RunIdentity, ProvDbError> {
    serde_json::from_slice(bytes).map_err(|error| ProvDbError::Database {
        cause: format!("the identity of the run is damaged ({error})"),
        place: place.to_owned(),
    })
}
