//! The error of an invalid message.

use callgrove_pserver::PserverError;

pub(super) type Result<T> = std::result::Result<T, PserverError>;

pub(super) fn damaged(cause: &impl ToString) -> PserverError {
    PserverError::Damaged {
        what: "a message of the parameter server's protocol",
        cause: cause.to_string(),
        remedy: "run the same version of callgrove everywhere",
    }
}
