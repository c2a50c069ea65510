//! Exit codes, in one place.

use std::process::ExitCode;

/// How the program ends. Wrong usage ends with 2, which the argument parser sees to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// All is well.
    Success,
    /// Something could not be done; standard error says what.
    Failure,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Failure => Self::FAILURE,
        }
    }
}
