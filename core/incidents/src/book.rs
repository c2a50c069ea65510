//! The incidents of a run: the open steps of its programs, and what of them is saved.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use callgrove_model::{ExecLabel, ProgramId, pairs};
use serde::{Deserialize, Serialize};

use crate::document::IncidentDocument;
use crate::names::FunctionNames;
use crate::open_steps::{OpenSteps, RankProgress};
use crate::saved_reports::{ReportsPart, SavedReports};
use crate::stall_summary::{StallSummary, StallSummaryKey};

/// The documents that are due.
#[derive(Debug, Default)]
pub struct DueIncidents {
    /// Those that the database lacks, in the order of their programs and identifiers.
    pub documents: Vec<IncidentDocument>,
    /// The identifiers of all incidents of a recorded program whose ranks are judged. The database may have others, of
    /// an incomplete set: they are to be removed.
    pub final_ids: BTreeMap<ProgramId, BTreeSet<ExecLabel>>,
}

/// The incidents of a run.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncidentBook {
    #[serde(with = "pairs")]
    programs: BTreeMap<ProgramId, OpenSteps>,
    reports: SavedReports,
}

impl IncidentBook {
    /// Processes the reports of the ranks. A step that a rank already reported is ignored.
    pub fn take_in(
        &mut self,
        stall_summaries: BTreeMap<StallSummaryKey, StallSummary>,
        functions: &dyn FunctionNames,
    ) {
        for ((program, step, rank), summary) in stall_summaries {
            let open = self.programs.entry(program).or_default();
            if open.add(step, rank, summary) {
                self.reports.add((program, step, rank));
                if open.bound(program, functions) {
                    self.save_again();
                }
            }
        }
    }

    /// Returns the book to save without its reports, and those that no saved part has.
    pub fn begin_save(&mut self) -> (Self, ReportsPart) {
        if self.reports.are_many() {
            self.save_again();
        }
        let programs = self.programs.iter();
        let unsaved = self.reports.unsaved().filter_map(|key| {
            let open = self.programs.get(&key.0)?;
            Some((key, open.reports().get(&(key.1, key.2))?.clone()))
        });
        let part = ReportsPart {
            reports: unsaved.collect(),
        };
        let book = Self {
            programs: programs
                .map(|(&program, open)| (program, open.without_reports()))
                .collect(),
            reports: self.reports.begin(),
        };
        (book, part)
    }

    /// Returns the numbers of the parts with the reports of this book.
    pub fn parts(&self) -> Range<u64> {
        self.reports.parts()
    }

    /// Returns the numbers of parts that the database may have and needs no more.
    pub fn obsolete_parts(&self) -> Range<u64> {
        self.reports.obsolete()
    }

    /// Records that the database has a book with these parts, the last one of which has `num_reports` new reports.
    pub fn confirm_save(&mut self, parts: &Range<u64>, num_reports: usize) {
        self.reports.confirm(parts, num_reports);
    }

    /// Adds the reports of a saved part.
    pub fn restore(&mut self, part: ReportsPart) {
        for ((program, step, rank), summary) in part.reports {
            let open = self.programs.entry(program).or_default();
            open.restore(step, rank, summary);
        }
        self.reports.note_restored();
    }

    #[cfg(test)]
    pub(crate) fn has_reports_of(&self, other: &Self) -> bool {
        let reports = |book: &Self| -> Vec<_> {
            let programs = book.programs.iter();
            let of_program = |(&program, open): (&ProgramId, &OpenSteps)| {
                (program, open.reports().clone(), open.without_reports())
            };
            programs.map(of_program).collect()
        };
        reports(self) == reports(other)
    }

    fn save_again(&mut self) {
        let keys = self.programs.iter().flat_map(|(&program, open)| {
            let keys = open.reports().keys();
            keys.map(move |&(step, rank)| (program, step, rank))
        });
        self.reports.begin_again(keys);
    }

    /// Returns the documents of incidents that are complete, timed out or reported before. Those of a recorded run come
    /// from the reports of all its ranks, so that identifiers do not depend on the order of reports.
    pub fn due(&mut self, progress: &RankProgress, functions: &dyn FunctionNames) -> DueIncidents {
        let num_reports = |book: &Self| -> usize {
            let programs = book.programs.values();
            programs.map(|open| open.reports().len()).sum()
        };
        let num_before = num_reports(self);
        let mut due = DueIncidents::default();
        for (&program, open) in &mut self.programs {
            let (documents, final_ids) = open.documents(program, progress, functions);
            due.documents.extend(documents);
            due.final_ids.extend(final_ids.map(|ids| (program, ids)));
        }
        if num_reports(self) < num_before {
            self.save_again();
        }
        due
    }

    /// Returns the number of reported incidents of each program, without those withdrawn or joined to others.
    pub fn counts(&self) -> impl Iterator<Item = (ProgramId, u64)> {
        let programs = self.programs.iter();
        programs.map(|(&program, open)| (program, open.num_reported()))
    }

    /// Records that the database has all `documents` that were due.
    pub fn confirm(&mut self, documents: &[IncidentDocument]) {
        for document in documents {
            if let Some(open) = self.programs.get_mut(&document.program) {
                open.confirm(document.id, document.hash);
            }
        }
        for open in self.programs.values_mut() {
            open.confirm_all();
        }
    }
}
