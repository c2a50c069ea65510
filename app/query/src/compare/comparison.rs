//! Two runs, or the halves of one, and what changed between them.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_compare::{ALL_INCIDENTS, PathTable, RunSamples, SideComparison};
use callgrove_model::{Cancelled, Progress, TimeNs, Trace};
use callgrove_patterns::{Iterations, Patterns};

use super::blocks::{Blocks, ComparedPart};
use super::collect::{collect, is_compared};
use crate::causes::RunCauses;
use crate::patterns::RunPatterns;

/// A run, or a half of it, that is compared with another one.
#[derive(Debug)]
pub struct ComparedRun {
    causes: Arc<RunCauses>,
    iterations: Option<Iterations>,
}

impl ComparedRun {
    /// Finds the iterations and the incidents of a run.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller cancelled.
    pub fn new(trace: &Arc<Trace>, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let patterns = Patterns::find(trace, progress.part(0.0, 0.4))?;
        let iterations = Iterations::find(trace, &patterns, progress.part(0.4, 0.5))?;
        drop(patterns);
        Ok(Self {
            causes: Arc::new(RunCauses::find(trace, progress.part(0.5, 1.0))?),
            iterations,
        })
    }

    /// Returns a run whose incidents and iterations are known.
    pub fn of_known(causes: &Arc<RunCauses>, patterns: &RunPatterns) -> Self {
        Self {
            causes: Arc::clone(causes),
            iterations: patterns.iterations().cloned(),
        }
    }

    /// Returns the causes of its delays.
    pub fn causes(&self) -> &RunCauses {
        &self.causes
    }

    /// Returns the name of its time step loop, if it has one.
    pub fn loop_name(&self) -> Option<String> {
        let iterations = self.iterations.as_ref()?;
        Some(iterations.name(self.causes.trace()))
    }

    /// Returns the start of each iteration on the rank that begins it first; empty without a time step loop.
    pub fn iteration_starts(&self) -> Vec<TimeNs> {
        let Some(iterations) = &self.iterations else {
            return Vec::new();
        };
        let spans = (0..iterations.len()).filter_map(|at| iterations.span(at));
        spans.map(|(start, _)| start).collect()
    }

    /// Collects the samples of a part of the run.
    fn side(
        &self,
        part: ComparedPart,
        paths: &mut PathTable,
        progress: Progress<'_>,
    ) -> Result<ComparedSide, Cancelled> {
        let trace = self.causes.trace();
        let blocks = Blocks::new(trace, self.iterations.as_ref(), part);
        let incidents = self.causes.found().incidents();
        let side = collect(trace, &blocks, incidents, paths, progress)?;
        let mut costliest = BTreeMap::new();
        for incident in incidents.all() {
            let sentence = || self.causes.incident_sentence(incident);
            if is_compared(incident) {
                let kinds = [ALL_INCIDENTS.to_owned(), incident.kind.to_string()];
                for kind in kinds {
                    costliest.entry(kind).or_insert_with(sentence);
                }
            }
        }
        Ok(ComparedSide {
            side,
            costliest,
            has_iterations: blocks.are_iterations(),
        })
    }
}

/// The samples of a side.
#[derive(Debug)]
pub(super) struct ComparedSide {
    pub(super) side: RunSamples,
    /// The costliest incident of each kind, as a sentence.
    pub(super) costliest: BTreeMap<String, String>,
    pub(super) has_iterations: bool,
}

/// The changes between two runs, or between the halves of one.
#[derive(Debug)]
pub struct RunComparison {
    pub(super) paths: PathTable,
    pub(super) before: ComparedSide,
    pub(super) after: ComparedSide,
    pub(super) comparison: SideComparison,
    /// Names of the two sides in sentences.
    pub(super) labels: [&'static str; 2],
}

impl RunComparison {
    /// Compares two runs.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller cancelled.
    pub fn of_runs(
        before: &ComparedRun,
        after: &ComparedRun,
        progress: Progress<'_>,
    ) -> Result<Self, Cancelled> {
        let sides = [(before, ComparedPart::Whole), (after, ComparedPart::Whole)];
        Self::new(sides, ["BEFORE", "AFTER"], progress)
    }

    /// Compares the two halves of a run's iterations.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller cancelled.
    pub fn of_halves(run: &ComparedRun, progress: Progress<'_>) -> Result<Self, Cancelled> {
        let sides = [
            (run, ComparedPart::FirstHalf),
            (run, ComparedPart::SecondHalf),
        ];
        Self::new(sides, ["the first half", "the second half"], progress)
    }

    fn new(
        [before, after]: [(&ComparedRun, ComparedPart); 2],
        labels: [&'static str; 2],
        progress: Progress<'_>,
    ) -> Result<Self, Cancelled> {
        let mut paths = PathTable::default();
        let before = before
            .0
            .side(before.1, &mut paths, progress.part(0.0, 0.45))?;
        let after = after
            .0
            .side(after.1, &mut paths, progress.part(0.45, 0.9))?;
        let comparison = SideComparison::new(&paths, &before.side, &after.side);
        progress.at(1.0)?;
        Ok(Self {
            paths,
            before,
            after,
            comparison,
            labels,
        })
    }

    /// Returns the changes and their number of tests.
    pub fn comparison(&self) -> &SideComparison {
        &self.comparison
    }

    /// Returns one sentence about each fact that limits the comparison.
    pub fn limits(&self) -> Vec<String> {
        let [one, other] = self.labels;
        let mut limits = Vec::new();
        for (side, label) in [(&self.before, one), (&self.after, other)] {
            if !side.has_iterations {
                limits.push(format!(
                    "{label} has no loop of time steps: equal parts of its time are compared instead of iterations"
                ));
            }
        }
        if self.comparison.is_short {
            limits.push(format!(
                "durations and numbers of calls are not compared: that needs {} blocks of iterations a side, and there \
                 are {} and {}",
                callgrove_compare::MIN_BLOCKS,
                self.before.side.num_blocks(),
                self.after.side.num_blocks(),
            ));
        }
        let [before, after] = [&self.before.side, &self.after.side];
        if before.num_ranks != after.num_ranks {
            limits.push(format!(
                "{one} has {} ranks and {other} {}: numbers of calls are compared per rank",
                before.num_ranks, after.num_ranks
            ));
        }
        limits
    }

    /// Returns the number of iterations of each side that is compared; `None` if a side has no iterations.
    pub fn num_iterations(&self) -> Option<[usize; 2]> {
        let has_all = self.before.has_iterations && self.after.has_iterations;
        has_all.then(|| [&self.before, &self.after].map(|it| it.side.num_iterations()))
    }
}
