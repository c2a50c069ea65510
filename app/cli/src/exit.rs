//! Exit codes, in one place.

use std::process::ExitCode;

use callgrove_model::{WarningKind, Warnings};

/// How the program ends. The README of this crate has the table of codes for users; it has the codes of the argument
/// parser and of Rust too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// All is well.
    Success,
    /// Something could not be done; standard error says what.
    Failure,
    /// It was done for a part of what was asked for: ranks could not be read, or not to their ends, a receiver did not
    /// take all packets, or records were judged before the models held everything. Standard error says which.
    Partial,
    /// A second signal ended it at once, as a shell reports a program that Ctrl+C ended.
    Interrupted,
}

impl Exit {
    /// The code for the system.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure => 1,
            Self::Partial => 3,
            Self::Interrupted => 130,
        }
    }

    /// For work on a trace with such damage.
    pub(crate) fn after(warnings: &Warnings) -> Self {
        let lost = [
            WarningKind::RankUnreadable,
            WarningKind::OtherRank,
            WarningKind::StreamTruncated,
        ];
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
        exit.code().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The argument parser's code for wrong usage, and Rust's for a panic.
    const OF_OTHERS: [u8; 2] = [2, 101];

    #[test]
    fn the_table_of_the_readme_has_every_code_once() {
        let readme = include_str!("../README.md");
        let code = |line: &str| line.strip_prefix("| ")?.split_once(" |")?.0.parse().ok();
        let listed: Vec<u8> = readme.lines().filter_map(code).collect();
        // A match, so that a new variant is not forgotten here.
        let next = |exit| match exit {
            Exit::Success => Some(Exit::Failure),
            Exit::Failure => Some(Exit::Partial),
            Exit::Partial => Some(Exit::Interrupted),
            Exit::Interrupted => None,
        };
        let own = std::iter::successors(Some(Exit::Success), |exit| next(*exit));
        let mut codes: Vec<u8> = own.map(Exit::code).chain(OF_OTHERS).collect();
        codes.sort_unstable();
        assert_eq!(listed, codes);
    }
}
