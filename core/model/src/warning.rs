//! Typed warnings: damage in a trace is normal, is counted, and never stops the work.

use std::collections::BTreeMap;
use std::fmt;

use crate::RankId;

/// What was found wrong, and what was done about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum WarningKind {
    /// The communicator has more ranks than the trace.
    MissingRank,
    /// A rank's file could not be read at all; the others were.
    RankUnreadable,
    /// A rank's stream breaks off; the steps before the break were read.
    StreamTruncated,
    /// Steps of a live stream never came: the writer dropped them, or the reader came too late.
    StepMissing,
    /// Rows with an id or a time that nothing explains were left out.
    BadRow,
    /// A name was used that no step announced; it was given a made-up name.
    UnknownName,
    /// An EXIT without its ENTRY was left out.
    ExitWithoutEntry,
    /// An EXIT came while functions called later were still open; they were closed at its time.
    MissingExit,
    /// A function was still open at the end; it was closed at the last event of its thread.
    Unclosed,
    /// A time went back; it was raised to the time before.
    TimeWentBack,
    /// A message was sent to, or came from, a rank that is not in the trace.
    PartnerMissing,
    /// A SEND without a RECV.
    UnmatchedSend,
    /// A RECV without a SEND.
    UnmatchedRecv,
    /// A message arrived before it was sent: the clocks of the two ranks differ.
    RecvBeforeSend,
    /// Sender and receiver state different sizes.
    SizeDiffers,
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MissingRank => "ranks of the communicator are not in the trace",
            Self::RankUnreadable => "rank could not be read and is left out",
            Self::StreamTruncated => "stream breaks off; the steps before were read",
            Self::StepMissing => "steps of a live stream never came",
            Self::BadRow => "rows with impossible values were left out",
            Self::UnknownName => "names used but never announced",
            Self::ExitWithoutEntry => "EXIT without ENTRY, left out",
            Self::MissingExit => "missing EXIT, closed when the caller went on",
            Self::Unclosed => "still open at the end, closed at the last event",
            Self::TimeWentBack => "time went back, raised to the time before",
            Self::PartnerMissing => "messages with a rank that is not in the trace",
            Self::UnmatchedSend => "SEND without RECV",
            Self::UnmatchedRecv => "RECV without SEND",
            Self::RecvBeforeSend => "RECV before its SEND (clocks differ)",
            Self::SizeDiffers => "SEND and RECV state different sizes",
        })
    }
}

/// One kind of damage on one rank, counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What.
    pub kind: WarningKind,
    /// On which rank, if on one.
    pub rank: Option<RankId>,
    /// How often.
    pub count: u64,
    /// Where it was seen first, in words.
    pub first: String,
}

/// Warnings by kind and rank, in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Warnings {
    entries: BTreeMap<(WarningKind, Option<RankId>), (u64, String)>,
}

impl Warnings {
    /// Counts one more; `place` is only asked for the first of its kind on its rank.
    pub fn count(
        &mut self,
        kind: WarningKind,
        rank: Option<RankId>,
        place: impl FnOnce() -> String,
    ) {
        self.count_many(kind, rank, 1, place);
    }

    /// Counts `count` more at once.
    pub fn count_many(
        &mut self,
        kind: WarningKind,
        rank: Option<RankId>,
        count: u64,
        place: impl FnOnce() -> String,
    ) {
        if count > 0 {
            self.entries
                .entry((kind, rank))
                .or_insert_with(|| (0, place()))
                .0 += count;
        }
    }

    /// Takes in the warnings of `other`.
    pub fn join(&mut self, other: Self) {
        for ((kind, rank), (count, first)) in other.entries {
            self.count_many(kind, rank, count, || first);
        }
    }

    /// Whether nothing was found wrong.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All warnings, ordered by kind, then rank.
    pub fn iter(&self) -> impl Iterator<Item = Warning> + '_ {
        self.entries
            .iter()
            .map(|((kind, rank), (count, first))| Warning {
                kind: *kind,
                rank: *rank,
                count: *count,
                first: first.clone(),
            })
    }

    /// How often one kind was counted, over all ranks.
    pub fn total(&self, kind: WarningKind) -> u64 {
        self.iter()
            .filter(|warning| warning.kind == kind)
            .map(|warning| warning.count)
            .sum()
    }
}
