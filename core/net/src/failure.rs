//! Classification of failed calls.

use std::error::Error as _;

use tonic::{Code, Status};

/// Returns whether the connection failed. Then it is unknown whether the server received the request, and a retry may
/// succeed.
pub fn is_connection_failure(status: &Status) -> bool {
    let is_local = status.source().is_some();
    let codes = [
        Code::Unavailable,
        Code::Cancelled,
        Code::Unknown,
        Code::DeadlineExceeded,
    ];
    is_local || codes.contains(&status.code())
}

/// Returns the message of the innermost cause, which is the one of the operating system.
pub fn innermost_cause(status: &Status) -> String {
    let mut message = status.message().to_owned();
    let mut next = status.source();
    while let Some(error) = next {
        message = error.to_string();
        next = error.source();
    }
    message
}
