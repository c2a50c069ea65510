//! A run without its trace.

use std::collections::BTreeMap;

use callgrove_model::DurationNs;
use serde::{Deserialize, Serialize};

use super::paths::PathTable;
use super::side::RunSamples;

/// What a comparison needs of a run, or of a half of it, without the trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "UncheckedRun")]
pub struct SampledRun {
    /// Its call paths.
    pub paths: PathTable,
    /// The samples.
    pub side: RunSamples,
    /// The costliest incident of each kind, as a sentence.
    pub costliest: BTreeMap<String, String>,
    /// Whether its blocks consist of iterations of a loop of time steps.
    pub has_iterations: bool,
}

/// A run from a file.
#[derive(Deserialize)]
struct UncheckedRun {
    paths: PathTable,
    side: RunSamples,
    costliest: BTreeMap<String, String>,
    has_iterations: bool,
}

impl TryFrom<UncheckedRun> for SampledRun {
    type Error = &'static str;

    fn try_from(run: UncheckedRun) -> Result<Self, Self::Error> {
        run.side.check(&run.paths)?;
        Ok(Self {
            paths: run.paths,
            side: run.side,
            costliest: run.costliest,
            has_iterations: run.has_iterations,
        })
    }
}

impl SampledRun {
    /// Returns the run with the ids of `paths`, to which its paths are added. Its own table is empty then.
    #[must_use]
    pub fn with_paths(&self, paths: &mut PathTable) -> Self {
        let own = paths.add_all(&self.paths);
        Self {
            paths: PathTable::default(),
            side: self.side.with_ids(&own),
            costliest: self.costliest.clone(),
            has_iterations: self.has_iterations,
        }
    }

    /// Returns its number of ranks.
    pub fn num_ranks(&self) -> usize {
        self.side.num_ranks
    }

    /// Returns the number of iterations that are compared; 0 without a loop of time steps.
    pub fn num_iterations(&self) -> usize {
        if self.has_iterations {
            self.side.num_iterations()
        } else {
            0
        }
    }

    /// Returns the typical duration of an iteration; `None` without a loop of time steps.
    pub fn iteration(&self) -> Option<DurationNs> {
        let level_ns = self.side.iterations.level_ns()?;
        Some(DurationNs::nearest(level_ns))
    }

    /// Returns the run as it is kept in a file: smaller, for the same results.
    #[must_use]
    pub fn condensed(&self) -> Self {
        let mut paths = PathTable::default();
        let run = self.with_paths(&mut paths);
        Self { paths, ..run }
    }
}
