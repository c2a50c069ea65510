//! What a failed call means.

use std::error::Error as _;

use tonic::{Code, Status};

/// Whether it is unknown if the server got the request, so that waiting may help.
pub fn is_break(status: &Status) -> bool {
    let is_local = status.source().is_some();
    let codes = [
        Code::Unavailable,
        Code::Cancelled,
        Code::Unknown,
        Code::DeadlineExceeded,
    ];
    is_local || codes.contains(&status.code())
}

/// The innermost cause, which has the system's words.
pub fn innermost_cause(status: &Status) -> String {
    let mut words = status.message().to_owned();
    let mut next = status.source();
    while let Some(error) = next {
        words = error.to_string();
        next = error.source();
    }
    words
}
