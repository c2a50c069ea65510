//! The runs of one side of a comparison.

use std::borrow::Cow;

use callgrove_model::Real;

use super::change::{ChangeAspect, RunChange};
use super::paths::PathTable;
use super::presence::one_sided;
use super::side::{BlockSeries, RunSamples};

/// The runs of a side.
pub(crate) struct Side<'a> {
    pub(crate) runs: Vec<&'a RunSamples>,
    /// What any run has, with the blocks of all.
    pub(crate) in_any: Cow<'a, RunSamples>,
    /// The paths and structures that all runs have.
    in_all: Cow<'a, RunSamples>,
}

impl<'a> Side<'a> {
    /// There is at least one run.
    pub(crate) fn new(runs: &[&'a RunSamples]) -> Self {
        let (in_any, in_all) = match runs {
            [run] => (Cow::Borrowed(*run), Cow::Borrowed(*run)),
            _ => (
                Cow::Owned(RunSamples::in_any_of(runs)),
                Cow::Owned(RunSamples::in_all_of(runs)),
            ),
        };
        Self {
            runs: runs.to_vec(),
            in_any,
            in_all,
        }
    }

    pub(crate) fn num_runs(&self) -> f64 {
        self.runs.len().max(1).real()
    }

    /// Returns the time of a run.
    pub(crate) fn time_ns(&self) -> f64 {
        self.in_any.total_ns.real() / self.num_runs()
    }

    /// Returns the iterations of all ranks of a run.
    pub(crate) fn num_rank_iterations(&self) -> f64 {
        let all = self.runs.iter().map(|run| run.num_rank_iterations());
        all.sum::<f64>() / self.num_runs()
    }

    /// Returns what all its runs have and no run of the other side has, with the calls and the cost of one run.
    pub(crate) fn alone(
        &self,
        paths: &PathTable,
        other: &Self,
        aspect: ChangeAspect,
    ) -> Vec<RunChange> {
        let mut found = one_sided(paths, &self.in_all, &other.in_any, aspect);
        for change in &mut found {
            change.before /= self.num_runs();
            change.after /= self.num_runs();
            change.cost_ns /= self.num_runs();
        }
        found
    }

    /// Returns the calls of a path in each run, if all runs have some.
    pub(crate) fn series(
        &self,
        of_run: impl Fn(&'a RunSamples) -> Option<&'a BlockSeries>,
    ) -> Option<Vec<Cow<'a, BlockSeries>>> {
        let all = self.runs.iter().map(|run| of_run(run).map(Cow::Borrowed));
        all.collect()
    }

    /// Returns the share of the own time in paths that another side has, too; 1 without any time.
    pub(crate) fn share_of_time_in(&self, other: &Side<'_>) -> f64 {
        let (mut shared, mut all) = (0.0, 0.0);
        for series in self
            .runs
            .iter()
            .flat_map(|run| run.work.iter().chain(&run.waits))
        {
            let time_ns = series.1.total_ns().real();
            all += time_ns;
            if other.in_any.paths.contains_key(series.0) {
                shared += time_ns;
            }
        }
        if all > 0.0 { shared / all } else { 1.0 }
    }
}
