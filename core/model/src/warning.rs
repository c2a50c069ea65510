//! Typed warnings: damage in a trace is normal, is counted, and never stops the work. Habits of the
//! tracer that look like damage are notes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{RankId, TimeNs};

/// What was found wrong, and what was done about it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WarningKind {
    /// The communicator has more ranks than the trace.
    MissingRank,
    /// A rank's file could not be read at all; the others were.
    RankUnreadable,
    /// A stream has rows of several ranks or programs, of which one was read.
    OtherRank,
    /// A rank's stream breaks off; the steps before the break were read.
    StreamTruncated,
    /// Steps of a live stream never came: the writer dropped them, or the reader came too late.
    StepMissing,
    /// Rows with an id or a time that nothing explains were left out.
    BadRow,
    /// A name was used that no step announced; it was given a made-up name.
    UnknownName,
    /// A name or a metadata value is too long or holds a NUL; it was cut, and the NUL became a question mark.
    TextChanged,
    /// An EXIT without its ENTRY was left out.
    ExitWithoutEntry,
    /// An EXIT came while functions called later were still open; they were closed at its time.
    MissingExit,
    /// An EXIT came on another thread than its ENTRY; it was paired with it.
    ExitOnOtherThread,
    /// A function was still open at the end; it was closed at the last event of its thread.
    Unclosed,
    /// A call stack tree grew over several steps beyond what is kept of one; it was not judged.
    TreeTooLarge,
    /// A tree model was trained on trees unlike those of the run; it was put aside.
    TreeModelUnfit,
    /// A time went back. A few rows out of order were sorted; else it was raised to the time before.
    TimeWentBack,
    /// A time is more than a year off those of the other rows, as before the tracer's clock was set; it became that of a
    /// row beside it.
    ImpossibleTime,
    /// A message was sent to, or came from, a rank that is not in the trace.
    PartnerMissing,
    /// A SEND without a RECV.
    UnmatchedSend,
    /// A RECV without a SEND.
    UnmatchedRecv,
    /// A message arrived before it was sent: the clocks of the two ranks differ.
    RecvBeforeSend,
    /// A RECV states another size than its SEND: TAU writes what was posted, not what arrived.
    SizeDiffers,
}

impl WarningKind {
    /// Whether it is a habit of the tracer, and nothing is damaged.
    pub fn is_note(self) -> bool {
        self == Self::SizeDiffers
    }
}

impl fmt::Display for WarningKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MissingRank => "ranks of the communicator are not in the trace",
            Self::RankUnreadable => "rank could not be read and is left out",
            Self::OtherRank => "rows of other ranks in the stream of this one, left out",
            Self::StreamTruncated => "stream breaks off; the steps before were read",
            Self::StepMissing => "steps of a live stream never came",
            Self::BadRow => "rows with impossible values were left out",
            Self::UnknownName => "names used but never announced",
            Self::TextChanged => "names or values too long to keep, or with a NUL, were changed",
            Self::ExitWithoutEntry => "EXIT without ENTRY, left out",
            Self::MissingExit => "missing EXIT, closed when the caller went on",
            Self::ExitOnOtherThread => "EXIT on another thread than its ENTRY, paired with it",
            Self::Unclosed => "still open at the end, closed at the last event",
            Self::TreeTooLarge => "trees too large to be kept until they ended, not judged",
            Self::TreeModelUnfit => "tree models that do not fit the run, put aside",
            Self::TimeWentBack => "time went back: sorted, or raised to the time before",
            Self::ImpossibleTime => "times years off the others: replaced by the nearest one",
            Self::PartnerMissing => "messages with a rank that is not in the trace",
            Self::UnmatchedSend => "SEND without RECV",
            Self::UnmatchedRecv => "RECV without SEND",
            Self::RecvBeforeSend => "RECV before its SEND (clocks differ)",
            Self::SizeDiffers => {
                "received messages state the size of the posted buffer; what was sent counts"
            }
        })
    }
}

/// Where something was seen first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstSeen {
    /// In words.
    pub place: String,
    /// When, if it has a time.
    pub time: Option<TimeNs>,
}

impl FirstSeen {
    /// Something with a time.
    pub(crate) fn at(time: TimeNs, place: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            time: Some(time),
        }
    }

    /// In words, the time counted from the start of the run; from the epoch if that is not known.
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

/// One kind of damage on one rank, counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What.
    pub kind: WarningKind,
    /// On which rank, if on one.
    pub rank: Option<RankId>,
    /// How often.
    pub count: u64,
    /// Where it was seen first.
    pub first: FirstSeen,
}

/// Warnings by kind and rank, in that order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Warning>", into = "Vec<Warning>")]
pub struct Warnings {
    entries: BTreeMap<(WarningKind, Option<RankId>), (u64, FirstSeen)>,
}

impl Warnings {
    /// Counts one more; `place` is only asked for the first of its kind on its rank.
    pub fn count<F: Into<FirstSeen>>(
        &mut self,
        kind: WarningKind,
        rank: Option<RankId>,
        place: impl FnOnce() -> F,
    ) {
        self.count_many(kind, rank, 1, place);
    }

    /// Counts `count` more at once.
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

    /// Forgets what was counted of one kind on one rank.
    pub(crate) fn forget(&mut self, kind: WarningKind, rank: RankId) {
        self.entries.remove(&(kind, Some(rank)));
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

    /// What is damaged, ordered by kind, then rank.
    pub fn damage(&self) -> impl Iterator<Item = Warning> + '_ {
        self.iter().filter(|warning| !warning.kind.is_note())
    }

    /// What is a habit of the tracer, each kind once: how often over all ranks.
    pub fn notes(&self) -> BTreeMap<WarningKind, u64> {
        let mut notes = BTreeMap::new();
        for note in self.iter().filter(|warning| warning.kind.is_note()) {
            *notes.entry(note.kind).or_default() += note.count;
        }
        notes
    }

    /// How often one kind was counted, over all ranks.
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
    fn the_first_is_told_in_the_time_of_the_run() {
        let first = FirstSeen::at(TimeNs(1_795_231_715_233_994_000), "rank 0 to rank 3");
        let start = TimeNs(1_795_231_714_000_000_000);
        assert_eq!(
            first.since(Some(start)),
            "rank 0 to rank 3, 1.234 s into the run"
        );
        let raw = "rank 0 to rank 3, at 1795231715233994 us";
        assert_eq!(
            first.since(None),
            raw,
            "as the records of the pipeline have it"
        );
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
    fn habits_of_the_tracer_are_counted_once_and_are_no_damage() {
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
