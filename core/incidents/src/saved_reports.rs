//! Which reports of the ranks the database has. They never change once they are here, so those that are new are saved
//! as another part, next to the parts saved before; the rest of the state names its parts.

use std::collections::VecDeque;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::stall_summary::{StallSummary, StallSummaryKey};

/// Number of parts from which on all are saved again as one, so that a quiet run does not have one for each save.
const MAX_PARTS: u64 = 64;

/// Stall summaries that are saved together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReportsPart {
    /// Each with its key.
    pub reports: Vec<(StallSummaryKey, StallSummary)>,
}

/// The parts of a saved state, and what is in none of them yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedReports {
    /// The numbers of the parts that belong to the state.
    parts: Range<u64>,
    /// The numbers of the parts that the database may have.
    #[serde(skip)]
    stored: Range<u64>,
    /// The keys of reports in none of the parts, in the order of arrival.
    #[serde(skip)]
    unsaved: VecDeque<StallSummaryKey>,
}

impl SavedReports {
    /// Notes a report that arrived.
    pub(crate) fn add(&mut self, key: StallSummaryKey) {
        self.unsaved.push_back(key);
    }

    /// Lets all reports be saved again, after some were removed.
    pub(crate) fn begin_again(&mut self, keys: impl Iterator<Item = StallSummaryKey>) {
        // Not the number of a part that is being saved.
        let next = self.parts.end + 1;
        self.parts = next..next;
        self.unsaved = keys.collect();
    }

    /// Returns whether there are enough parts to save them again as one.
    pub(crate) fn are_many(&self) -> bool {
        self.parts.end - self.parts.start >= MAX_PARTS
    }

    /// Returns the numbers of the parts that belong to the state.
    pub(crate) fn parts(&self) -> Range<u64> {
        self.parts.clone()
    }

    /// Returns the keys in none of the parts.
    pub(crate) fn unsaved(&self) -> impl Iterator<Item = StallSummaryKey> {
        self.unsaved.iter().copied()
    }

    /// Begins to save, with one more part if there is anything for it. Returns what the saved state says.
    pub(crate) fn begin(&mut self) -> Self {
        let num_new = u64::from(!self.unsaved.is_empty());
        let parts = self.parts.start..self.parts.end + num_new;
        self.stored.end = self.stored.end.max(parts.end);
        Self {
            parts,
            ..Self::default()
        }
    }

    /// Returns the numbers of parts that the database may have and that do not belong to the state.
    pub(crate) fn obsolete(&self) -> Range<u64> {
        self.stored.start..self.parts.start.min(self.stored.end)
    }

    /// Notes that the database has the state with parts up to `parts`, the last one of which has `num_reports` new ones.
    pub(crate) fn confirm(&mut self, parts: &Range<u64>, num_reports: usize) {
        self.stored = parts.clone();
        // Otherwise reports were removed in the meantime, and all are to be saved again.
        if parts.start == self.parts.start {
            self.parts.end = parts.end;
            self.unsaved.drain(..num_reports.min(self.unsaved.len()));
        }
    }

    /// Notes that all is saved, after reading it back.
    pub(crate) fn note_restored(&mut self) {
        self.stored = self.parts.clone();
        self.unsaved.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callgrove_model::{ExecLabel, FuncId, ProgramId, RankId, StepId, ThreadId};
    use proptest::prelude::*;

    use super::*;
    use crate::book::IncidentBook;
    use crate::names::FunctionNames;
    use crate::stall_summary::StallEntry;

    struct NoNames;

    impl FunctionNames for NoNames {
        fn name(&self, _: FuncId) -> &'static str {
            "f"
        }
    }

    /// What happens to a book, or to the database.
    #[derive(Clone, Debug)]
    enum Event {
        /// A rank reports its next step, with a number of stalls.
        Report(u32, usize),
        /// All is saved in one transaction.
        Save,
        /// It is saved, but the answer is lost.
        SaveUnanswered,
        SaveFailed,
        /// It is saved; before the answer a rank reports its next step, which may close older steps.
        SaveDuringReport(u32, usize),
        /// The server is killed, and continues from the database.
        Restart,
    }

    fn event() -> impl Strategy<Value = Event> {
        let num_stalls = || prop_oneof![9 => 0..4_usize, 1 => Just(70_000)];
        prop_oneof![
            6 => (0..3_u32, num_stalls()).prop_map(|(rank, num)| Event::Report(rank, num)),
            3 => Just(Event::Save),
            1 => Just(Event::SaveUnanswered),
            1 => Just(Event::SaveFailed),
            1 => (0..3_u32, num_stalls()).prop_map(|(rank, num)| Event::SaveDuringReport(rank, num)),
            1 => Just(Event::Restart),
        ]
    }

    /// The book as text, and the text of each part.
    #[derive(Default)]
    struct Database {
        book: String,
        parts: BTreeMap<u64, String>,
    }

    impl Database {
        /// Saves a book that has begun to save.
        fn take(&mut self, book: &IncidentBook, part: &ReportsPart, obsolete: Range<u64>) {
            self.book = serde_json::to_string(book).expect("finite");
            if !part.reports.is_empty() {
                let json = serde_json::to_string(part).expect("finite");
                self.parts.insert(book.parts().end - 1, json);
            }
            self.parts.retain(|number, _| !obsolete.contains(number));
            let numbers: Vec<u64> = self.parts.keys().copied().collect();
            assert_eq!(numbers, book.parts().collect::<Vec<_>>(), "no part is left");
        }

        fn restored(&self) -> IncidentBook {
            let Ok(mut book) = serde_json::from_str::<IncidentBook>(&self.book) else {
                return IncidentBook::default();
            };
            for number in book.parts() {
                book.restore(serde_json::from_str(&self.parts[&number]).expect("a part"));
            }
            book
        }
    }

    fn report(book: &mut IncidentBook, steps: &mut [u32; 3], rank: u32, num_stalls: usize) {
        let step = &mut steps[rank as usize];
        let stall = |row: usize| StallEntry {
            label: ExecLabel {
                rank: RankId(rank),
                step: StepId(*step),
                row: u32::try_from(row).expect("small"),
            },
            fid: FuncId(0),
            thread: ThreadId(0),
            from_us: 0,
            to_us: 0,
            is_anomaly: false,
            entry_us: 0,
            exit_us: 0,
        };
        let summary = StallSummary {
            stalls: (0..num_stalls).map(stall).collect(),
            ..StallSummary::default()
        };
        let key = (ProgramId(0), StepId(*step), RankId(rank));
        book.take_in(BTreeMap::from([(key, summary)]), &NoNames);
        *step += 1;
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_restored_book_has_the_reports_of_the_saved_one(
            events in proptest::collection::vec(event(), 1..60)
        ) {
            let mut database = Database::default();
            let (mut book, mut steps) = (IncidentBook::default(), [0; 3]);
            let (mut saved, mut saved_steps) = (book.clone(), steps);
            for event in events {
                if let Event::Report(rank, num_stalls) = event {
                    report(&mut book, &mut steps, rank, num_stalls);
                    continue;
                }
                if matches!(event, Event::Restart) {
                    book = database.restored();
                    steps = saved_steps;
                    prop_assert!(book.has_reports_of(&saved));
                    continue;
                }
                let (to_save, part) = book.begin_save();
                if matches!(event, Event::SaveFailed) {
                    continue;
                }
                database.take(&to_save, &part, book.obsolete_parts());
                (saved, saved_steps) = (book.clone(), steps);
                if let Event::SaveDuringReport(rank, num_stalls) = event {
                    report(&mut book, &mut steps, rank, num_stalls);
                }
                if !matches!(event, Event::SaveUnanswered) {
                    book.confirm_save(&to_save.parts(), part.reports.len());
                }
            }
            prop_assert!(database.restored().has_reports_of(&saved));
        }
    }
}
