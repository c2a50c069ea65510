//! The exit codes.

use std::process::ExitCode;

use callgrove_model::{WarningKind, Warnings};

/// The outcome of the program. `docs/guide.md` has the table of codes for users, including those of the argument parser
/// and of Rust.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// Everything was done.
    Success,
    /// Something failed; standard error says what.
    Failure,
    /// Only a part was done: some ranks could not be read, or not to their ends, a receiver did not accept all packets,
    /// or records were judged before the models were complete. Standard error says which.
    Partial,
    /// `callgrove check` found what must not be; its report says what.
    Failed,
    /// `callgrove check` could not judge; its report says why.
    Unchecked,
    /// A second signal stopped the program at once, with the code that a shell reports after Ctrl+C.
    Interrupted,
}

impl Exit {
    /// Returns the exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Partial => 3,
            Self::Failed => 4,
            Self::Unchecked => 5,
            Self::Interrupted => 130,
        }
    }

    /// Returns the outcome of work on a trace with these warnings.
    pub(crate) fn after(warnings: &Warnings) -> Self {
        let lost = [
            WarningKind::RankUnreadable,
            WarningKind::OtherRank,
            WarningKind::StreamTruncated,
            WarningKind::StepsDropped,
            WarningKind::FileMissing,
        ];
        if warnings.damage().any(|it| lost.contains(&it.kind)) {
            Self::Partial
        } else {
            Self::Success
        }
    }

    /// Combines the outcomes of two operations.
    pub(crate) fn and(self, other: Self) -> Self {
        if self == Self::Success { other } else { self }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        exit.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The argument parser's code for wrong usage, and Rust's code for a panic.
    const OTHER_CODES: [u8; 2] = [2, 101];

    #[test]
    fn the_guide_lists_every_code_once() {
        let guide = include_str!("../../../docs/guide.md");
        let code = |line: &str| line.strip_prefix("| ")?.split_once(" |")?.0.parse().ok();
        let listed: Vec<u8> = guide.lines().filter_map(code).collect();
        // An exhaustive match, so that a new variant has to be added here.
        let next = |exit| match exit {
            Exit::Success => Some(Exit::Failure),
            Exit::Failure => Some(Exit::Partial),
            Exit::Partial => Some(Exit::Failed),
            Exit::Failed => Some(Exit::Unchecked),
            Exit::Unchecked => Some(Exit::Interrupted),
            Exit::Interrupted => None,
        };
        let own = std::iter::successors(Some(Exit::Success), |exit| next(*exit));
        let mut codes: Vec<u8> = own.map(Exit::code).chain(OTHER_CODES).collect();
        codes.sort_unstable();
        assert_eq!(listed, codes);
    }
}
