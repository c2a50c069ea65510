//! Typed warnings. Damage in a trace is normal: it is counted, and never stops the work. Properties of the tracer that
//! resemble damage are notes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::RankId;
use crate::time::TimeNs;

/// A kind of damage, and how it was handled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WarningKind {
    /// The communicator has more ranks than the trace.
    MissingRank,
    /// A rank's file could not be read at all; the others were.
    RankUnreadable,
    /// A stream or file has rows of several ranks, processes or programs, of which one was read.
    OtherRank,
    /// A rank's stream or file is truncated; what precedes the break was read.
    StreamTruncated,
    /// Steps of a live stream are missing: the writer dropped them, or the reader joined too late.
    StepMissing,
    /// Steps of a running job were dropped between the job and its files, which had no space for them.
    StepsDropped,
    /// A file of events that the definitions of a run name is missing; the other files were read.
    FileMissing,
    /// A table or list of calls in a file is of a kind that is not read, so its calls are missing.
    TableUnread,
    /// The tracer dropped packets of a recording, so their events are missing.
    PacketsDropped,
    /// Packets refer to names, defaults or clocks that the tracer stated in packets that it dropped. They were left out
    /// until the tracer repeated these.
    StateLost,
    /// Rows, events or chunks that are damaged, or have an invalid id or time, were left out.
    BadRow,
    /// A name was used that no step announced; it got a placeholder name.
    UnknownName,
    /// A name or a metadata value is too long, holds a NUL or is not UTF-8; it was cut, and what is no text replaced.
    TextChanged,
    /// An EXIT without its ENTRY was left out.
    ExitWithoutEntry,
    /// A call without an end, whose length is unknown, was left out.
    EntryWithoutExit,
    /// An EXIT arrived while functions called later were still open; they were closed at its time.
    MissingExit,
    /// An EXIT came on another thread than its ENTRY; it was paired with it.
    ExitOnOtherThread,
    /// A call ends before it begins; it was read as a call of no duration.
    NegativeDuration,
    /// A call that reached beyond another by a microsecond or less was cut: times are rounded.
    CallCut,
    /// Calls of one thread or stream overlap without one being in the other; they are on a lane of their own.
    CallsOverlap,
    /// Calls that overlap more others of their thread or stream than lanes are made for; they were left out.
    OverlapsLeftOut,
    /// Calls in collectives whose communicator the file does not state; they are matched by their order.
    CommunicatorAssumed,
    /// Several processes or threads have tracks of the same id, as in files that were joined. They were read as one.
    TracksShared,
    /// The times of a rank do not overlap those of most others: its clock counts from another time.
    TimesApart,
    /// A file does not state its rank; it follows from its name or its place among the files.
    RankAssumed,
    /// The folder has earlier profiles of the same program, which were not read.
    EarlierProfiles,
    /// A function was still open at the end; it was closed at the last event of its thread.
    Unclosed,
    /// A call stack tree grew over several steps beyond the limit of kept calls; it was not judged.
    TreeTooLarge,
    /// A tree model was trained on trees unlike those of the run; it was put aside.
    TreeModelUnfit,
    /// A time went back. A few rows out of order were sorted; otherwise the time was raised to the one before.
    TimeWentBack,
    /// A time is more than a year away from the other rows, as before the tracer sets its clock. It was replaced by
    /// that of a neighbouring row.
    ImpossibleTime,
    /// A message was sent to, or came from, a rank that is not in the trace.
    PartnerMissing,
    /// A SEND without a RECV.
    UnmatchedSend,
    /// A RECV without a SEND.
    UnmatchedRecv,
    /// A message arrived before it was sent: the clocks of the two ranks differ.
    RecvBeforeSend,
    /// Ranks of the trace have only SENDs, or only RECVs, so that no messages are known.
    OneSideOnly,
    /// A RECV reports another size than its SEND: TAU writes the posted size, not the received one. That of the SEND is
    /// used.
    SizeDiffers,
}

impl WarningKind {
    /// Returns whether it is a property of the tracer and not damage.
    pub fn is_note(self) -> bool {
        matches!(
            self,
            Self::SizeDiffers
                | Self::OneSideOnly
                | Self::CallCut
                | Self::RankAssumed
                | Self::EarlierProfiles
                | Self::CommunicatorAssumed
        )
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MissingRank => "ranks of the communicator are not in the trace",
            Self::RankUnreadable => "rank could not be read and is left out",
            Self::OtherRank => "rows of other ranks or processes among those of this rank, left out",
            Self::StreamTruncated => "stream is truncated; what precedes the break was read",
            Self::StepMissing => "steps of a live stream are missing",
            Self::StepsDropped => "steps that a relay dropped, because its files had no space for them",
            Self::FileMissing => "files of events are missing; the others were read",
            Self::TableUnread => {
                "tables of calls of a kind that is not read, whose calls are missing"
            }
            Self::PacketsDropped => {
                "places where the tracer dropped packets, whose events are missing: record with a larger buffer"
            }
            Self::StateLost => {
                "packets left out, since the names or clocks that they refer to were in dropped packets: record with a \
                 larger buffer"
            }
            Self::BadRow => "events that are damaged or have impossible values, left out",
            Self::UnknownName => "names used but never announced",
            Self::TextChanged => "names or values that are too long, hold a NUL or are not UTF-8, changed",
            Self::ExitWithoutEntry => "EXIT without ENTRY, left out",
            Self::EntryWithoutExit => "calls without an end, left out",
            Self::MissingExit => "missing EXIT, closed when the caller continued",
            Self::ExitOnOtherThread => "EXIT on another thread than its ENTRY, paired with it",
            Self::NegativeDuration => {
                "calls that end before they begin, read as calls of no duration"
            }
            Self::CallCut => {
                "calls that reach beyond another by up to 1 us, cut: times are rounded"
            }
            Self::CallsOverlap => {
                "calls that overlap others of their thread, shown on a lane of their own"
            }
            Self::OverlapsLeftOut => {
                "calls that overlap too many others of their thread, left out"
            }
            Self::CommunicatorAssumed => {
                "calls in collectives of an unstated communicator, matched by their order: with several communicators, \
                 waits may be matched wrongly"
            }
            Self::TracksShared => {
                "tracks of several processes or threads with the same id, as in joined files, read as one: give each file"
            }
            Self::TimesApart => {
                "ranks whose times overlap with no other: their clocks count from different times, so delays across them \
                 mean nothing"
            }
            Self::RankAssumed => {
                "files that do not state their rank: taken from their names or their order"
            }
            Self::EarlierProfiles => {
                "earlier profiles in this folder, not read: the newest was; give the folder of one to read it"
            }
            Self::Unclosed => "still open at the end, closed at the last event",
            Self::TreeTooLarge => "trees too large to be kept until their end, not judged",
            Self::TreeModelUnfit => "tree models that do not fit the run, put aside",
            Self::TimeWentBack => "time went back: sorted, or raised to the previous time",
            Self::ImpossibleTime => "times years away from the others: replaced by the nearest one",
            Self::PartnerMissing => "messages with a rank that is not in the trace",
            Self::UnmatchedSend => "SEND without RECV",
            Self::UnmatchedRecv => "RECV without SEND",
            Self::RecvBeforeSend => "RECV before its SEND (clocks differ)",
            Self::OneSideOnly => {
                "messages of which the tracer recorded one side only: none is drawn or followed"
            }
            Self::SizeDiffers => {
                "receives report another size than their sends, such as that of the posted buffer; that of the send is used"
            }
        })
    }
}

/// The first occurrence of a warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeen {
    /// The place as text.
    pub place: String,
    /// The time, if known.
    pub time: Option<TimeNs>,
}

impl FirstSeen {
    /// Returns an occurrence with a time.
    pub(crate) fn at(time: TimeNs, place: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            time: Some(time),
        }
    }

    /// Returns the occurrence as text, with the time since the start of the run, or since the epoch if that is unknown.
    pub fn since(&self, start: Option<TimeNs>) -> String {
        let time = self.time.map(|time| match start {
            Some(start) => format!("{} into the run", time.since(start)),
            None => format!("at {} us", time.as_us()),
        });
        match time {
            None => self.place.clone(),
            Some(time) if self.place.is_empty() => time,
            Some(time) => format!("{}, {time}", self.place),
        }
    }
}

impl From<String> for FirstSeen {
    fn from(place: String) -> Self {
        Self { place, time: None }
    }
}

/// One kind of damage on one rank, with its count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The kind.
    pub kind: WarningKind,
    /// The rank, if it concerns one.
    pub rank: Option<RankId>,
    /// Number of occurrences.
    pub count: u64,
    /// The first occurrence.
    pub first: FirstSeen,
}

/// Warnings by kind and rank, in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Warning>", into = "Vec<Warning>")]
pub struct Warnings {
    entries: BTreeMap<(WarningKind, Option<RankId>), (u64, FirstSeen)>,
}

impl Warnings {
    /// Counts one occurrence; `place` is only called for the first of its kind on its rank.
    pub fn count<F: Into<FirstSeen>>(
        &mut self,
        kind: WarningKind,
        rank: Option<RankId>,
        place: impl FnOnce() -> F,
    ) {
        self.count_many(kind, rank, 1, place);
    }

    /// Counts `count` occurrences.
    pub fn count_many<F: Into<FirstSeen>>(
        &mut self,
        kind: WarningKind,
        rank: Option<RankId>,
        count: u64,
        place: impl FnOnce() -> F,
    ) {
        if count > 0 {
            self.entries
                .entry((kind, rank))
                .or_insert_with(|| (0, place().into()))
                .0 += count;
        }
    }

    /// Removes the count of one kind on one rank.
    pub(crate) fn remove(&mut self, kind: WarningKind, rank: RankId) {
        self.entries.remove(&(kind, Some(rank)));
    }

    /// Adds the warnings of `other`.
    pub fn join(&mut self, other: Self) {
        for ((kind, rank), (count, first)) in other.entries {
            self.count_many(kind, rank, count, || first);
        }
    }

    /// Returns whether there are no warnings.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns all warnings, ordered by kind, then rank.
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

    /// Returns the warnings that are damage, ordered by kind, then rank.
    pub fn damage(&self) -> impl Iterator<Item = Warning> + '_ {
        self.iter().filter(|warning| !warning.kind.is_note())
    }

    /// Returns the notes, each with its count over all ranks.
    pub fn notes(&self) -> BTreeMap<WarningKind, u64> {
        let mut notes = BTreeMap::new();
        for note in self.iter().filter(|warning| warning.kind.is_note()) {
            *notes.entry(note.kind).or_default() += note.count;
        }
        notes
    }

    /// Returns the count of one kind over all ranks.
    pub fn total(&self, kind: WarningKind) -> u64 {
        self.iter()
            .filter(|warning| warning.kind == kind)
            .map(|warning| warning.count)
            .sum()
    }
}

impl From<Vec<Warning>> for Warnings {
    fn from(all: Vec<Warning>) -> Self {
        let mut warnings = Self::default();
        for one in all {
            warnings.count_many(one.kind, one.rank, one.count, || one.first);
        }
        warnings
    }
}

impl From<Warnings> for Vec<Warning> {
    fn from(warnings: Warnings) -> Self {
        warnings.iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_occurrence_is_shown_in_time_of_the_run() {
        let first = FirstSeen::at(TimeNs(1_795_231_715_233_994_000), "rank 0 to rank 3");
        let start = TimeNs(1_795_231_714_000_000_000);
        assert_eq!(
            first.since(Some(start)),
            "rank 0 to rank 3, 1.234 s into the run"
        );
        let raw = "rank 0 to rank 3, at 1795231715233994 us";
        assert_eq!(first.since(None), raw, "as in the records of the pipeline");
        assert_eq!(
            FirstSeen::at(start, "").since(Some(start)),
            "0 ns into the run"
        );
        assert_eq!(
            FirstSeen::from("step 3".to_owned()).since(Some(start)),
            "step 3"
        );
    }

    #[test]
    fn properties_of_the_tracer_are_notes_and_not_damage() {
        let mut warnings = Warnings::default();
        for rank in [0, 1] {
            let place = || "rank 0 to rank 1".to_owned();
            warnings.count_many(WarningKind::SizeDiffers, Some(RankId(rank)), 3_440, place);
        }
        assert_eq!(warnings.damage().count(), 0);
        let notes: Vec<_> = warnings.notes().into_iter().collect();
        assert_eq!(notes, [(WarningKind::SizeDiffers, 6_880)]);
    }
}
