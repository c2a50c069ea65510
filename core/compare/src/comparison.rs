//! All changes between two sides.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::Real;

use super::change::{ChangeAspect, ChangeSubject, FALSE_DISCOVERIES, RunChange};
use super::correction::corrected;
use super::incidents::compare_incidents;
use super::level_test::{MIN_BLOCKS, compare_levels, median};
use super::paths::{NameId, PathId, PathTable};
use super::run_test::{ROUNDING, RunLevels, compare_runs};
use super::runs_of_side::Side;
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
    /// The unit of the tests of levels.
    pub unit: ComparisonUnit,
    /// True if a side has too few blocks to compare levels.
    pub is_short: bool,
    /// The share of the first side's time that is in call paths of the second side, too: low for another program.
    pub shared_time: f64,
    /// The increase that would just be found, as a ratio: of the duration of an iteration, or else of the own time of
    /// the path that takes most. `None` if no level was compared.
    pub smallest_visible: Option<f64>,
}

/// What is assumed to be independent in the tests of levels.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum ComparisonUnit {
    /// Blocks of iterations: of one run a side.
    #[default]
    Blocks,
    /// Runs: of [`MIN_RUNS`] and more of a side.
    Runs,
}

/// Minimum number of runs of a side from which runs are the unit.
pub const MIN_RUNS: usize = 3;

impl SideComparison {
    /// Compares two sides of one run, or of one run and [`MIN_RUNS`] or more, that were collected with the same
    /// `paths`. Of several runs where neither side has as many, the first of each side counts.
    pub fn new(paths: &PathTable, before: &[&RunSamples], after: &[&RunSamples]) -> Self {
        let unit = if before.len().max(after.len()) >= MIN_RUNS {
            ComparisonUnit::Runs
        } else {
            ComparisonUnit::Blocks
        };
        let runs = [before, after].map(|runs| match unit {
            ComparisonUnit::Runs => runs,
            ComparisonUnit::Blocks => &runs[..runs.len().min(1)],
        });
        if runs.iter().any(|it| it.is_empty()) {
            return Self {
                is_short: true,
                ..Self::default()
            };
        }
        Self::of_sides(paths, &runs.map(Side::new), unit)
    }

    fn of_sides(paths: &PathTable, sides: &[Side<'_>; 2], unit: ComparisonUnit) -> Self {
        let [before, after] = sides;
        let levels = levels(paths, sides, unit);
        let mut others = after.alone(paths, before, ChangeAspect::New);
        others.extend(before.alone(paths, after, ChangeAspect::Vanished));
        others.extend(compare_incidents(before, after));
        let mut all = match unit {
            ComparisonUnit::Blocks => levels.iter().filter_map(Level::by_blocks).collect(),
            ComparisonUnit::Runs => by_runs(&levels, others.len()),
        };
        let smallest_visible = smallest_visible(&all);
        all.extend(others.into_iter().map(|it| (it, 1.0)));
        let p_values: Vec<f64> = all
            .iter()
            .map(|(it, weight)| (it.p_value / weight).min(1.0))
            .collect();
        let mut all: Vec<RunChange> = all.into_iter().map(|it| it.0).collect();
        for (change, corrected_p) in all.iter_mut().zip(corrected(&p_values)) {
            change.corrected_p = corrected_p;
        }
        let num_tests = all.len();
        let min_cost_ns = after.time_ns() / MIN_COST_DIVISOR;
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
        let fewest = sides.iter().flat_map(|it| it.runs.iter());
        let fewest = fewest.map(|run| run.num_blocks()).min().unwrap_or(0);
        Self {
            changes,
            possible: others.into_iter().filter(is_possible).collect(),
            num_tests,
            unit,
            is_short: match unit {
                ComparisonUnit::Blocks => fewest < MIN_BLOCKS,
                ComparisonUnit::Runs => fewest == 0,
            },
            shared_time: before.share_of_time_in(after),
            smallest_visible,
        }
    }

    /// Returns the slowdowns that are findings where only slowdowns count: where runs are the unit, the
    /// test is then one-sided.
    pub fn slowdowns(&self) -> impl Iterator<Item = &RunChange> {
        let one_sided = match self.unit {
            ComparisonUnit::Blocks => 1.0,
            ComparisonUnit::Runs => 2.0,
        };
        let is_sure = move |it: &&RunChange| {
            it.is_separate && it.corrected_p <= one_sided * FALSE_DISCOVERIES
        };
        let is_of_time = |it: &&RunChange| {
            matches!(it.aspect, ChangeAspect::Duration | ChangeAspect::Waiting) && it.cost_ns > 0.0
        };
        let all = self.changes.iter().chain(&self.possible);
        all.filter(is_sure).filter(is_of_time)
    }
}

/// Returns the smallest visible ratio of the iterations, or else of the path that takes most of the time.
fn smallest_visible(all: &[(RunChange, f64)]) -> Option<f64> {
    let durations = all
        .iter()
        .filter(|(it, _)| it.aspect == ChangeAspect::Duration);
    let most = durations.max_by(|(one, _), (other, _)| one.share.total_cmp(&other.share));
    most.and_then(|(it, _)| it.smallest_visible)
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

/// The calls of a subject in each run of both sides.
type SeriesOfSides<'a> = [Vec<Cow<'a, BlockSeries>>; 2];

/// A level of both sides: the values of the blocks of each run.
struct Level {
    subject: ChangeSubject,
    aspect: ChangeAspect,
    values: [Vec<Vec<f64>>; 2],
    /// The cost of one unit of the value in a run of the second side.
    ns_of_one: f64,
    /// Its share of the time.
    share: f64,
}

/// Returns the levels that both sides have.
fn levels(paths: &PathTable, sides: &[Side<'_>; 2], unit: ComparisonUnit) -> Vec<Level> {
    let mut all = Vec::new();
    let iterations = of_sides(sides, |run| {
        (run.iterations.num_calls() > 0).then_some(&run.iterations)
    });
    all.extend(iterations.map(|it| of_iterations(&it, unit)));
    let mut of_functions: BTreeMap<NameId, Vec<(PathId, SeriesOfSides<'_>)>> = BTreeMap::new();
    for &path in sides[0]
        .runs
        .iter()
        .flat_map(|run| run.work.keys())
        .collect::<BTreeSet<_>>()
    {
        if let Some(series) = of_sides(sides, |run| run.work.get(&path)) {
            let function = paths.function_of(path);
            of_functions
                .entry(function)
                .or_default()
                .push((path, series));
        }
    }
    for (function, of_paths) in of_functions {
        let joined = (of_paths.len() > 1).then(|| joined(sides, &of_paths));
        for (path, series) in &of_paths {
            all.extend(work(sides, &ChangeSubject::Path(*path), series));
        }
        all.extend(
            joined
                .iter()
                .flat_map(|it| work(sides, &ChangeSubject::Function(function), it)),
        );
    }
    for &path in sides[0]
        .runs
        .iter()
        .flat_map(|run| run.waits.keys())
        .collect::<BTreeSet<_>>()
    {
        if let Some(series) = of_sides(sides, |run| run.waits.get(&path)) {
            all.extend(waiting(sides, ChangeSubject::Path(path), &series));
        }
    }
    all
}

fn of_sides<'a>(
    sides: &[Side<'a>; 2],
    of_run: impl Fn(&'a RunSamples) -> Option<&'a BlockSeries>,
) -> Option<SeriesOfSides<'a>> {
    Some([sides[0].series(&of_run)?, sides[1].series(&of_run)?])
}

/// Returns the calls of a function under all its paths.
fn joined<'a>(
    sides: &[Side<'_>; 2],
    of_paths: &[(PathId, SeriesOfSides<'_>)],
) -> SeriesOfSides<'a> {
    [0, 1].map(|side: usize| {
        let runs = sides[side].runs.iter().enumerate();
        let of_run = runs.map(|(at, run)| {
            let mut joined = BlockSeries::new(run.num_blocks());
            for (_, series) in of_paths {
                joined.join(&series[side][at]);
            }
            Cow::Owned(joined)
        });
        of_run.collect()
    })
}

/// Returns the largest share of a side's time that a subject takes, if a change of it can matter.
fn share_of_time(sides: &[Side<'_>; 2], series: &SeriesOfSides<'_>) -> Option<f64> {
    let shares = sides.iter().zip(series).map(|(side, series)| {
        let time_ns: f64 = series.iter().map(|it| it.total_ns().real()).sum();
        time_ns / side.in_any.total_ns.max(1).real()
    });
    let share = shares.fold(0.0, f64::max);
    (share >= 1.0 / MIN_COST_DIVISOR).then_some(share)
}

fn work(sides: &[Side<'_>; 2], subject: &ChangeSubject, series: &SeriesOfSides<'_>) -> Vec<Level> {
    let Some(share) = share_of_time(sides, series) else {
        return Vec::new();
    };
    let of_after = &series[1];
    let num_calls: f64 = of_after.iter().map(|it| it.num_calls().real()).sum();
    let time_ns: f64 = of_after.iter().map(|it| it.total_ns().real()).sum();
    let frequency = Level {
        subject: subject.clone(),
        aspect: ChangeAspect::Frequency,
        values: per_iteration(sides, series, BlockSeries::calls),
        ns_of_one: sides[1].num_rank_iterations() * time_ns / num_calls.max(1.0),
        share,
    };
    vec![duration(subject.clone(), series, share), frequency]
}

fn waiting(
    sides: &[Side<'_>; 2],
    subject: ChangeSubject,
    series: &SeriesOfSides<'_>,
) -> Option<Level> {
    Some(Level {
        subject,
        aspect: ChangeAspect::Waiting,
        values: per_iteration(sides, series, BlockSeries::totals),
        ns_of_one: sides[1].num_rank_iterations(),
        share: share_of_time(sides, series)?,
    })
}

/// Returns the level of the typical durations.
fn duration(subject: ChangeSubject, series: &SeriesOfSides<'_>, share: f64) -> Level {
    let of_after = &series[1];
    let num_calls: f64 = of_after.iter().map(|it| it.num_calls().real()).sum();
    Level {
        subject,
        aspect: ChangeAspect::Duration,
        values: [0, 1].map(|side: usize| series[side].iter().map(|it| it.typical()).collect()),
        ns_of_one: num_calls / of_after.len().max(1).real(),
        share,
    }
}

/// Returns the level of the iterations. Where runs are the unit it is that of their means, which have the time of all that
/// happens in them, also between calls and in the rarer ones of unlike iterations: what disturbs one is in the noise from
/// run to run.
fn of_iterations(series: &SeriesOfSides<'_>, unit: ComparisonUnit) -> Level {
    let level = duration(ChangeSubject::Iterations, series, 1.0);
    match unit {
        ComparisonUnit::Blocks => level,
        ComparisonUnit::Runs => Level {
            values: [0, 1].map(|side: usize| series[side].iter().map(|it| it.means()).collect()),
            ..level
        },
    }
}

fn per_iteration(
    sides: &[Side<'_>; 2],
    series: &SeriesOfSides<'_>,
    values: impl Fn(&BlockSeries) -> Vec<f64>,
) -> [Vec<Vec<f64>>; 2] {
    [0, 1].map(|side: usize| {
        let runs = sides[side].runs.iter().zip(&series[side]);
        let of_runs = runs.map(|(run, series)| run.per_iteration(&values(series)));
        of_runs.collect()
    })
}

impl Level {
    /// Returns the comparison of the blocks of one run a side, with the weight of its p-value; `None` if they are too few.
    fn by_blocks(&self) -> Option<(RunChange, f64)> {
        let [before, after] = &self.values;
        let test = compare_levels(before.first()?, after.first()?)?;
        let change = RunChange {
            ratio: test.ratio,
            interval: test.interval,
            smallest_visible: test.smallest_visible,
            ..self.change([test.before, test.after], test.p_value, test.is_separate)
        };
        Some((change, 1.0))
    }

    /// Returns one value for each run, if all are positive and not all are equal: what is the same in all runs, such as
    /// most numbers of calls, cannot be a change, and its test would only weaken the others.
    fn of_runs(&self) -> Option<RunLevels> {
        let of_run = |blocks: &Vec<f64>| {
            let mut blocks = blocks.clone();
            blocks.sort_by(f64::total_cmp);
            Some(median(&blocks)).filter(|it| *it > 0.0)
        };
        let of_side =
            |side: usize| -> Option<Vec<f64>> { self.values[side].iter().map(of_run).collect() };
        let values = [of_side(0)?, of_side(1)?];
        let (least, most) = values
            .iter()
            .flatten()
            .fold((f64::INFINITY, 0.0_f64), |(least, most), it| {
                (least.min(*it), most.max(*it))
            });
        let is_constant = most <= least * (1.0 + ROUNDING);
        (!is_constant).then_some(RunLevels {
            values,
            share: self.share,
        })
    }

    fn change(&self, [before, after]: [f64; 2], p_value: f64, is_separate: bool) -> RunChange {
        RunChange {
            subject: self.subject.clone(),
            aspect: self.aspect,
            before,
            after,
            ratio: None,
            interval: None,
            cost_ns: (after - before) * self.ns_of_one,
            share: self.share,
            p_value,
            corrected_p: 1.0,
            is_separate,
            smallest_visible: None,
            blocks: None,
        }
    }
}

/// Compares levels of which each run has one value, each with the weight of its p-value. What differs alike from run to
/// run is compared together. There are `num_others` other tests.
fn by_runs(levels: &[Level], num_others: usize) -> Vec<(RunChange, f64)> {
    let levels = levels.iter();
    let levels: Vec<(&Level, RunLevels)> =
        levels.filter_map(|it| Some((it, it.of_runs()?))).collect();
    let num_tests = levels.len() + num_others;
    let aspects = [
        ChangeAspect::Duration,
        ChangeAspect::Frequency,
        ChangeAspect::Waiting,
    ];
    let mut all = Vec::new();
    for aspect in aspects {
        let of_aspect = levels.iter().filter(|it| it.0.aspect == aspect);
        let (levels, values): (Vec<&Level>, Vec<RunLevels>) = of_aspect.cloned().unzip();
        let tests = compare_runs(&values, num_tests);
        all.extend(levels.into_iter().zip(tests).map(|(level, test)| {
            let is_separate = test.p_value <= FALSE_DISCOVERIES;
            let change = RunChange {
                ratio: Some(test.levels[1] / test.levels[0]),
                interval: Some(test.interval),
                smallest_visible: Some(test.smallest_visible),
                ..level.change(test.levels, test.p_value, is_separate)
            };
            (change, test.weight)
        }));
    }
    all
}
