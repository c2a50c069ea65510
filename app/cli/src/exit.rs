//! Exit codes, in one place.

use std::process::ExitCode;

use callgrove_model::{WarningKind, Warnings};

/// How the program ends. Wrong usage ends with 2, which the argument parser sees to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// All is well.
    Success,
    /// Something could not be done; standard error says what.
    Failure,
    /// It was done for a part of what was asked for: ranks could not be read, or not to their ends, or a receiver did not
    /// take all packets. Standard error says which.
    Partial,
}

impl Exit {
    /// For work on a trace with such damage.
    pub(crate) fn after(warnings: &Warnings) -> Self {
        let lost = [WarningKind::RankUnreadable, WarningKind::StreamTruncated];
        if warnings.damage().any(|it| lost.contains(&it.kind)) {
            Self::Partial
        } else {
            Self::Success
        }
    }

    /// For two things that were done.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == Self::Success { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => Self::SUCCESS,
            Exit::Failure => Self::FAILURE,
            Exit::Partial => Self::from(3),
        }
    }
}
