//! All changes between two sides.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::Real;

use super::change::{ChangeAspect, ChangeSubject, RunChange};
use super::correction::corrected;
use super::incidents::compare_incidents;
use super::level_test::compare_levels;
use super::paths::{NameId, PathId, PathTable};
use super::presence::one_sided;
use super::side::{BlockSeries, RunSamples};

/// Divisor of a side's time that gives the smallest cost of a change: 1/1000. A path that takes less is not tested.
const MIN_COST_DIVISOR: f64 = 1_000.0;

/// The changes between two sides.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct SideComparison {
    /// The findings, the largest cost or gain first.
    pub changes: Vec<RunChange>,
    /// Changes that may be chance, in the same order.
    pub possible: Vec<RunChange>,
    /// Number of tests that the p-values are corrected for.
    pub num_tests: usize,
    /// True if a side has too few blocks to compare levels.
    pub is_short: bool,
}

impl SideComparison {
    /// Compares two sides that were collected with the same `paths`.
    pub fn new(paths: &PathTable, before: &RunSamples, after: &RunSamples) -> Self {
        let sides = Sides { before, after };
        let mut all = sides.levels(paths);
        all.extend(one_sided(paths, after, before, ChangeAspect::New));
        all.extend(one_sided(paths, before, after, ChangeAspect::Vanished));
        all.extend(compare_incidents(before, after));
        let p_values: Vec<f64> = all.iter().map(|change| change.p_value).collect();
        for (change, corrected_p) in all.iter_mut().zip(corrected(&p_values)) {
            change.corrected_p = corrected_p;
        }
        let num_tests = all.len();
        let min_cost_ns = sides.min_cost_ns();
        let sure: BTreeSet<(ChangeSubject, ChangeAspect)> = all
            .iter()
            .filter(|it| it.is_sure())
            .map(|it| (it.subject.clone(), it.aspect))
            .collect();
        all.retain(|it| it.cost_ns.abs() >= min_cost_ns && !is_part(paths, it, &sure));
        all.sort_by(|one, other| {
            let by_cost = other.cost_ns.abs().total_cmp(&one.cost_ns.abs());
            by_cost.then_with(|| (&one.subject, one.aspect).cmp(&(&other.subject, other.aspect)))
        });
        let is_possible = |it: &RunChange| it.is_separate && it.p_value < 1.0;
        let (changes, others): (Vec<RunChange>, Vec<RunChange>) =
            all.into_iter().partition(RunChange::is_sure);
        Self {
            changes,
            possible: others.into_iter().filter(is_possible).collect(),
            num_tests,
            is_short: compare_levels(
                &vec![0.0; before.num_blocks()],
                &vec![0.0; after.num_blocks()],
            )
            .is_none(),
        }
    }
}

/// Returns whether a change of a path is part of the same change of its function.
fn is_part(
    paths: &PathTable,
    change: &RunChange,
    sure: &BTreeSet<(ChangeSubject, ChangeAspect)>,
) -> bool {
    let ChangeSubject::Path(path) = change.subject else {
        return false;
    };
    let of_function = ChangeSubject::Function(paths.function_of(path));
    change.is_sure() && sure.contains(&(of_function, change.aspect))
}

struct Sides<'a> {
    before: &'a RunSamples,
    after: &'a RunSamples,
}

impl Sides<'_> {
    /// Returns the smallest cost of a change.
    fn min_cost_ns(&self) -> f64 {
        self.after.total_ns.real() / MIN_COST_DIVISOR
    }

    /// Returns the comparisons of all levels.
    fn levels(&self, paths: &PathTable) -> Vec<RunChange> {
        let mut all = Vec::new();
        let iterations = (&self.before.iterations, &self.after.iterations);
        all.extend(duration(ChangeSubject::Iterations, iterations));
        let work = common(&self.before.work, &self.after.work);
        let mut of_functions: BTreeMap<NameId, Vec<(PathId, &BlockSeries, &BlockSeries)>> =
            BTreeMap::new();
        for (path, one, other) in work {
            let function = paths.function_of(path);
            of_functions
                .entry(function)
                .or_default()
                .push((path, one, other));
        }
        for (function, of_paths) in of_functions {
            if let [(path, one, other)] = of_paths[..] {
                all.extend(self.work(&ChangeSubject::Path(path), one, other));
                continue;
            }
            let [mut one, mut other] =
                [self.before, self.after].map(|side| BlockSeries::new(side.num_blocks()));
            for (path, of_one, of_other) in of_paths {
                one.join(of_one);
                other.join(of_other);
                all.extend(self.work(&ChangeSubject::Path(path), of_one, of_other));
            }
            all.extend(self.work(&ChangeSubject::Function(function), &one, &other));
        }
        for (path, one, other) in common(&self.before.waits, &self.after.waits) {
            all.extend(self.waiting(ChangeSubject::Path(path), one, other));
        }
        all
    }

    /// Returns whether a path takes enough time on a side for a change of it to matter.
    fn matters(&self, one: &BlockSeries, other: &BlockSeries) -> bool {
        let is_large = |side: &RunSamples, series: &BlockSeries| {
            series.total_ns().real() >= side.total_ns.real() / MIN_COST_DIVISOR
        };
        is_large(self.before, one) || is_large(self.after, other)
    }

    fn work(
        &self,
        subject: &ChangeSubject,
        one: &BlockSeries,
        other: &BlockSeries,
    ) -> Vec<RunChange> {
        if !self.matters(one, other) {
            return Vec::new();
        }
        let duration = duration(subject.clone(), (one, other));
        let calls = [(self.before, one), (self.after, other)]
            .map(|(side, series)| side.per_iteration(&series.calls()));
        let own_ns = other.total_ns().real() / other.num_calls().max(1).real();
        let of_call = self.after.num_rank_iterations() * own_ns;
        let frequency = change(subject.clone(), ChangeAspect::Frequency, &calls, of_call);
        duration.into_iter().chain(frequency).collect()
    }

    fn waiting(
        &self,
        subject: ChangeSubject,
        one: &BlockSeries,
        other: &BlockSeries,
    ) -> Option<RunChange> {
        if !self.matters(one, other) {
            return None;
        }
        let values = [(self.before, one), (self.after, other)]
            .map(|(side, series)| side.per_iteration(&series.totals()));
        change(
            subject,
            ChangeAspect::Waiting,
            &values,
            self.after.num_rank_iterations(),
        )
    }
}

/// Returns the comparison of the typical durations.
fn duration(
    subject: ChangeSubject,
    (one, other): (&BlockSeries, &BlockSeries),
) -> Option<RunChange> {
    let values = [one.typical(), other.typical()];
    change(
        subject,
        ChangeAspect::Duration,
        &values,
        other.num_calls().real(),
    )
}

/// Returns the comparison of the blocks' values, each unit of which costs `ns_of_one` in the second run.
fn change(
    subject: ChangeSubject,
    aspect: ChangeAspect,
    [before, after]: &[Vec<f64>; 2],
    ns_of_one: f64,
) -> Option<RunChange> {
    let test = compare_levels(before, after)?;
    Some(RunChange {
        subject,
        aspect,
        before: test.before,
        after: test.after,
        ratio: test.ratio,
        interval: test.interval,
        cost_ns: (test.after - test.before) * ns_of_one,
        p_value: test.p_value,
        corrected_p: 1.0,
        is_separate: test.is_separate,
        blocks: None,
    })
}

/// Returns the series that both sides have.
fn common<'a>(
    before: &'a BTreeMap<PathId, BlockSeries>,
    after: &'a BTreeMap<PathId, BlockSeries>,
) -> Vec<(PathId, &'a BlockSeries, &'a BlockSeries)> {
    let both = before.iter();
    both.filter_map(|(path, one)| Some((*path, one, after.get(path)?)))
        .collect()
}
