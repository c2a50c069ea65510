//! Two runs, or the halves of one, and what changed between them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callgrove_compare::{ALL_INCIDENTS, PathTable, RunSamples, SampledRun, SideComparison};
use callgrove_model::{Cancelled, Progress, TimeNs, Trace};
use callgrove_patterns::{Iterations, Patterns};

use super::blocks::{Blocks, ComparedPart};
use super::collect::{collect, is_compared};
use crate::causes::RunCauses;
use crate::patterns::RunPatterns;

/// The names of the sides of a comparison in sentences.
pub const COMPARED_SIDES: [&str; 2] = ["BEFORE", "AFTER"];
/// Minimum share of the time of the first side in call paths that the second has, too. What does less of its work in
/// the same places is another program.
const MIN_SHARED_TIME: f64 = 0.5;

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

    /// Returns what a comparison needs of it.
    ///
    /// # Errors
    /// [`Cancelled`] if the caller cancelled.
    pub fn samples(&self, progress: Progress<'_>) -> Result<SampledRun, Cancelled> {
        self.samples_of(ComparedPart::Whole, progress)
    }

    fn samples_of(
        &self,
        part: ComparedPart,
        progress: Progress<'_>,
    ) -> Result<SampledRun, Cancelled> {
        let trace = self.causes.trace();
        let blocks = Blocks::new(trace, self.iterations.as_ref(), part);
        let incidents = self.causes.found().incidents();
        let mut paths = PathTable::default();
        let side = collect(trace, &blocks, incidents, &mut paths, progress)?;
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
        Ok(SampledRun {
            paths,
            side,
            costliest,
            has_iterations: blocks.are_iterations(),
        })
    }
}

/// The changes between two runs, between several runs a side, or between the halves of one.
#[derive(Debug)]
pub struct RunComparison {
    pub(super) paths: PathTable,
    /// The runs of each side.
    pub(super) sides: [Vec<SampledRun>; 2],
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
        Self::of_parts(sides, COMPARED_SIDES, progress)
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
        Self::of_parts(sides, ["the first half", "the second half"], progress)
    }

    /// Compares one run a side, or [`callgrove_compare::MIN_RUNS`] and more of at least one. `labels` are the names of the
    /// sides in sentences.
    pub fn of_samples(sides: [&[&SampledRun]; 2], labels: [&'static str; 2]) -> Self {
        Self::new(sides, labels)
    }

    fn of_parts(
        [before, after]: [(&ComparedRun, ComparedPart); 2],
        labels: [&'static str; 2],
        progress: Progress<'_>,
    ) -> Result<Self, Cancelled> {
        let before = before.0.samples_of(before.1, progress.part(0.0, 0.45))?;
        let after = after.0.samples_of(after.1, progress.part(0.45, 0.9))?;
        let compared = Self::new([&[&before], &[&after]], labels);
        progress.at(1.0)?;
        Ok(compared)
    }

    fn new(sides: [&[&SampledRun]; 2], labels: [&'static str; 2]) -> Self {
        let mut paths = PathTable::default();
        let sides = sides.map(|runs| -> Vec<SampledRun> {
            runs.iter().map(|run| run.with_paths(&mut paths)).collect()
        });
        let [before, after] = sides
            .each_ref()
            .map(|runs| runs.iter().map(|it| &it.side).collect::<Vec<_>>());
        let comparison = SideComparison::new(&paths, &before, &after);
        Self {
            paths,
            sides,
            comparison,
            labels,
        }
    }

    /// Returns the changes and their number of tests.
    pub fn comparison(&self) -> &SideComparison {
        &self.comparison
    }

    /// Returns one sentence about each fact that limits the comparison.
    pub fn limits(&self) -> Vec<String> {
        let [one, other] = self.labels;
        let mut limits = Vec::new();
        for (runs, label) in self.sides.iter().zip(self.labels) {
            if runs.iter().any(|it| !it.has_iterations) {
                limits.push(format!(
                    "{label} has no loop of time steps: equal parts of its time are compared instead of iterations"
                ));
            }
        }
        let all = self
            .sides
            .each_ref()
            .map(|runs| runs.iter().map(|it| &it.side));
        if self.comparison.is_short {
            let [before, after] = all
                .clone()
                .map(|runs| runs.map(RunSamples::num_blocks).min().unwrap_or(0));
            limits.push(format!(
                "durations and numbers of calls are not compared: that needs {} blocks of iterations a side, and there \
                 are {before} and {after}",
                callgrove_compare::MIN_BLOCKS,
            ));
        }
        if self.comparison.shared_time < MIN_SHARED_TIME {
            limits.push(format!(
                "{one} is of another program, or of another version of it: only {:.0} % of its time is in call paths that \
                 {other} has, too",
                self.comparison.shared_time * 100.0
            ));
        }
        let [before, after] = all.map(|runs| {
            let ranks: BTreeSet<usize> = runs.map(|it| it.num_ranks).collect();
            let ranks: Vec<String> = ranks.iter().map(ToString::to_string).collect();
            ranks.join(" or ")
        });
        if before != after {
            limits.push(format!(
                "{one} has {before} ranks and {other} {after}: numbers of calls are compared per rank"
            ));
        }
        limits
    }

    /// Returns whether the first side says enough about the second to judge it: most of its time is in call paths of both.
    pub fn is_of_one_program(&self) -> bool {
        self.comparison.shared_time >= MIN_SHARED_TIME
    }

    /// Returns the smallest slowdown that would be found, as a share, and of what: an iteration, or else the call path that
    /// takes most of the time. `None` if no duration was compared.
    pub fn smallest_visible(&self) -> Option<(f64, &'static str)> {
        let share = self.comparison.smallest_visible? - 1.0;
        let subject = match self.num_iterations() {
            Some(_) => "an iteration",
            None => "the costliest call path",
        };
        share.is_finite().then_some((share, subject))
    }

    /// Returns the number of runs of each side.
    pub fn num_runs(&self) -> [usize; 2] {
        self.sides.each_ref().map(Vec::len)
    }

    /// Returns the number of iterations of each side that are compared; `None` if a run has no iterations.
    pub fn num_iterations(&self) -> Option<[usize; 2]> {
        let mut runs = self.sides.iter().flatten();
        runs.all(|it| it.has_iterations)
            .then(|| [0, 1].map(|side| self.num_iterations_of(side)))
    }

    /// Returns the iterations of all runs of a side.
    pub(super) fn num_iterations_of(&self, side: usize) -> usize {
        let runs = self.sides[side].iter();
        runs.map(|it| it.side.num_iterations()).sum()
    }
}
