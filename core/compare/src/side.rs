//! The samples of one run, or of a part of it.

use std::collections::BTreeMap;

use callgrove_model::Real;
use serde::{Deserialize, Serialize};

use super::level_test::{median, typical_ns};
use super::paths::{CallStructure, PathId, PathTable, index};

/// The kind of all incidents together.
pub const ALL_INCIDENTS: &str = "any";

/// The calls of one path on one rank in one block of iterations.
#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct BlockSample {
    /// Number of calls.
    pub num_calls: u64,
    /// Their typical own time.
    pub typical_ns: f64,
    /// Their total own time.
    pub total_ns: i64,
}

impl BlockSample {
    /// Returns the sample of these durations, which it reorders.
    pub fn of(durations_ns: &mut [i64]) -> Self {
        Self {
            num_calls: u64::try_from(durations_ns.len()).unwrap_or(u64::MAX),
            typical_ns: typical_ns(durations_ns),
            total_ns: durations_ns
                .iter()
                .fold(0, |sum, it| sum.saturating_add(*it)),
        }
    }
}

/// The samples of a path: those of each block, of all lanes in any order.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct BlockSeries {
    blocks: Vec<Vec<BlockSample>>,
}

impl BlockSeries {
    /// Returns a series of some blocks without calls.
    pub fn new(num_blocks: usize) -> Self {
        Self {
            blocks: vec![Vec::new(); num_blocks],
        }
    }

    /// Adds the calls of a lane in a block.
    pub fn add(&mut self, block: usize, sample: BlockSample) {
        if let Some(of_block) = self.blocks.get_mut(block) {
            of_block.push(sample);
        }
    }

    /// Adds the samples of another series of as many blocks.
    pub fn join(&mut self, other: &Self) {
        for (own, others) in self.blocks.iter_mut().zip(&other.blocks) {
            own.extend_from_slice(others);
        }
    }

    /// Returns the number of calls of all blocks.
    pub fn num_calls(&self) -> u64 {
        let all = self.blocks.iter().flatten().map(|it| it.num_calls);
        all.fold(0, u64::saturating_add)
    }

    /// Returns the total own time of all blocks.
    pub fn total_ns(&self) -> i64 {
        let all = self.blocks.iter().flatten().map(|it| it.total_ns);
        all.fold(0, i64::saturating_add)
    }

    /// Returns the mean duration in each block that has calls.
    pub(crate) fn means(&self) -> Vec<f64> {
        let of_block = |samples: &Vec<BlockSample>| {
            let sample = joined(samples)?;
            Some(sample.total_ns.real() / sample.num_calls.real())
        };
        self.blocks.iter().filter_map(of_block).collect()
    }

    /// Returns the median of the typical durations of the blocks; `None` without calls.
    pub fn level_ns(&self) -> Option<f64> {
        let mut typical = self.typical();
        typical.sort_by(f64::total_cmp);
        (!typical.is_empty()).then(|| median(&typical))
    }

    /// Returns the same with the lanes of each block joined.
    fn condensed(&self) -> Self {
        let joined = |samples: &Vec<BlockSample>| joined(samples).into_iter().collect();
        Self {
            blocks: self.blocks.iter().map(joined).collect(),
        }
    }

    /// Returns the typical duration of each block that has calls.
    pub(crate) fn typical(&self) -> Vec<f64> {
        let of_block = |samples: &Vec<BlockSample>| Some(joined(samples)?.typical_ns);
        self.blocks.iter().filter_map(of_block).collect()
    }

    /// Returns the number of calls of each block.
    pub(crate) fn calls(&self) -> Vec<f64> {
        let of_block = |samples: &Vec<BlockSample>| {
            let num_calls = samples.iter().map(|it| it.num_calls).sum::<u64>();
            num_calls.real()
        };
        self.blocks.iter().map(of_block).collect()
    }

    /// Returns the total own time of each block, in nanoseconds.
    pub(crate) fn totals(&self) -> Vec<f64> {
        let of_block = |samples: &Vec<BlockSample>| {
            let totals = samples.iter().map(|it| it.total_ns);
            totals.fold(0, i64::saturating_add).real()
        };
        self.blocks.iter().map(of_block).collect()
    }
}

/// Returns the samples of lanes as one: the typical duration is the mean of the lanes', weighted by calls. `None` without
/// calls.
fn joined(samples: &[BlockSample]) -> Option<BlockSample> {
    if let [sample] = samples {
        return Some(*sample).filter(|it| it.num_calls > 0);
    }
    let num_calls = samples
        .iter()
        .map(|it| it.num_calls)
        .fold(0, u64::saturating_add);
    let weighted = samples.iter().map(|it| it.num_calls.real() * it.typical_ns);
    let mut weighted: Vec<f64> = weighted.collect();
    // Sums of doubles depend on their order; that of the ranks must not matter.
    weighted.sort_by(f64::total_cmp);
    (num_calls > 0).then(|| BlockSample {
        num_calls,
        typical_ns: weighted.iter().sum::<f64>() / num_calls.real(),
        total_ns: samples
            .iter()
            .fold(0, |sum, it| sum.saturating_add(it.total_ns)),
    })
}

/// The occurrences of a path or structure in a run.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct FeaturePresence {
    /// For each block, whether it occurs in it.
    pub blocks: Vec<bool>,
    /// Number of ranks on which it occurs outside the iterations.
    pub num_ranks_outside: usize,
    /// Number of calls.
    pub num_calls: u64,
    /// Their time, with all that they call.
    pub inclusive_ns: i64,
}

impl FeaturePresence {
    /// Returns the number of blocks in which it occurs.
    pub fn num_blocks(&self) -> usize {
        self.blocks.iter().filter(|is_in| **is_in).count()
    }

    /// Appends the blocks of a further run, of which `num_before` are before. Calls and time become those of all runs;
    /// outside of the iterations the fewest ranks count.
    fn append(&mut self, of_run: &Self, num_before: usize) {
        let is_first = self.num_calls == 0;
        self.num_ranks_outside = if is_first {
            of_run.num_ranks_outside
        } else {
            self.num_ranks_outside.min(of_run.num_ranks_outside)
        };
        self.blocks.resize(num_before, false);
        self.blocks.extend(&of_run.blocks);
        self.num_calls += of_run.num_calls;
        self.inclusive_ns = self.inclusive_ns.saturating_add(of_run.inclusive_ns);
    }
}

/// The incidents of one kind.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct IncidentSample {
    /// Number of incidents in each block.
    pub in_block: Vec<usize>,
    /// The delay of all ranks by them, in each block.
    pub delay_ns: Vec<i64>,
}

impl IncidentSample {
    /// Returns the number of incidents.
    pub fn num_incidents(&self) -> usize {
        self.in_block.iter().sum()
    }

    /// Returns the delay of all blocks.
    pub(crate) fn total_delay_ns(&self) -> i64 {
        self.delay_ns
            .iter()
            .fold(0, |sum, it| sum.saturating_add(*it))
    }
}

/// The samples of one run, or of a part of it.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
pub struct RunSamples {
    /// Number of iterations in each block; of equal parts of the time if the program has no iterations.
    pub iterations_in_block: Vec<usize>,
    /// Number of ranks.
    pub num_ranks: usize,
    /// Own time of all calls in the blocks.
    pub total_ns: i64,
    /// The durations of iterations, if the program has any.
    pub iterations: BlockSeries,
    /// The calls of each path that works.
    pub work: BTreeMap<PathId, BlockSeries>,
    /// The calls of each path that can wait.
    pub waits: BTreeMap<PathId, BlockSeries>,
    /// The paths that occur anywhere in the part of the run that is compared.
    pub paths: BTreeMap<PathId, FeaturePresence>,
    /// Structures of calls in the blocks.
    pub shapes: BTreeMap<CallStructure, FeaturePresence>,
    /// Incidents by kind.
    pub incidents: BTreeMap<String, IncidentSample>,
}

/// Maximum number of blocks of stored samples: more than any release cuts a run into.
const MAX_STORED_BLOCKS: usize = 1 << 10;
/// Maximum number of iterations, ranks or calls of stored samples, so that sums cannot overflow.
const MAX_STORED_COUNT: u64 = 1 << 48;

impl RunSamples {
    /// Returns the samples with the ids of another table; `own` has that of each path. Lanes are joined, which changes
    /// nothing but the size.
    #[must_use]
    pub fn with_ids(&self, own: &[PathId]) -> Self {
        let id = |path: PathId| own[index(path)];
        let series = |all: &BTreeMap<PathId, BlockSeries>| {
            let all = all.iter().map(|(path, it)| (id(*path), it.condensed()));
            all.collect()
        };
        let shapes = self.shapes.iter().map(|(shape, it)| {
            let mut callees: Vec<PathId> = shape.callees.iter().map(|callee| id(*callee)).collect();
            callees.sort_unstable();
            let path = id(shape.path);
            (CallStructure { path, callees }, it.clone())
        });
        Self {
            iterations_in_block: self.iterations_in_block.clone(),
            num_ranks: self.num_ranks,
            total_ns: self.total_ns,
            iterations: self.iterations.condensed(),
            work: series(&self.work),
            waits: series(&self.waits),
            paths: self
                .paths
                .iter()
                .map(|(path, it)| (id(*path), it.clone()))
                .collect(),
            shapes: shapes.collect(),
            incidents: self.incidents.clone(),
        }
    }

    /// Checks samples from a file.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(&self, paths: &PathTable) -> Result<(), &'static str> {
        let of_shapes = self
            .shapes
            .keys()
            .flat_map(|it| it.callees.iter().chain([&it.path]));
        let ids = self
            .work
            .keys()
            .chain(self.waits.keys())
            .chain(self.paths.keys());
        if ids.chain(of_shapes).any(|id| index(*id) >= paths.len()) {
            return Err("a sample is of an unknown call path");
        }
        let num_blocks = self.num_blocks();
        let series = self.work.values().chain(self.waits.values());
        let series = series.chain([&self.iterations]);
        let presences = self.paths.values().chain(self.shapes.values());
        let are_whole = num_blocks <= MAX_STORED_BLOCKS
            && series.clone().all(|it| it.blocks.len() == num_blocks)
            && presences.clone().all(|it| it.blocks.len() == num_blocks)
            && self
                .incidents
                .values()
                .all(|it| it.in_block.len() == num_blocks && it.delay_ns.len() == num_blocks);
        if !are_whole {
            return Err("the samples have different numbers of blocks");
        }
        let whole = |num: usize| u64::try_from(num).unwrap_or(u64::MAX);
        let incidents = self.incidents.values().flat_map(|it| &it.in_block);
        let counts = self.iterations_in_block.iter().chain(incidents);
        let counts = counts.chain([&self.num_ranks]).map(|num| whole(*num));
        let samples = series.flat_map(|it| it.blocks.iter().flatten());
        let samples = samples.map(|it| it.num_calls);
        let presences = presences.flat_map(|it| [it.num_calls, whole(it.num_ranks_outside)]);
        if counts
            .chain(samples)
            .chain(presences)
            .any(|num| num > MAX_STORED_COUNT)
        {
            return Err("a number of the samples is too large");
        }
        Ok(())
    }

    /// Returns the number of blocks.
    pub fn num_blocks(&self) -> usize {
        self.iterations_in_block.len()
    }

    /// Returns the number of iterations.
    pub fn num_iterations(&self) -> usize {
        self.iterations_in_block.iter().sum()
    }

    /// Returns what any of some runs has, with the blocks of all of them, one run after another. Levels are left out:
    /// those of runs are not comparable block by block.
    pub(crate) fn in_any_of(runs: &[&Self]) -> Self {
        let mut all = Self {
            num_ranks: runs.iter().map(|run| run.num_ranks).max().unwrap_or(0),
            ..Self::default()
        };
        for run in runs {
            let num_before = all.num_blocks();
            all.iterations_in_block.extend(&run.iterations_in_block);
            let num_blocks = all.num_blocks();
            all.total_ns = all.total_ns.saturating_add(run.total_ns);
            for (path, presence) in &run.paths {
                let joined = all.paths.entry(*path).or_default();
                joined.append(presence, num_before);
            }
            for (shape, presence) in &run.shapes {
                let joined = all.shapes.entry(shape.clone()).or_default();
                joined.append(presence, num_before);
            }
            for (kind, sample) in &run.incidents {
                let joined = all.incidents.entry(kind.clone()).or_default();
                joined.in_block.resize(num_before, 0);
                joined.in_block.extend(&sample.in_block);
                joined.delay_ns.resize(num_before, 0);
                joined.delay_ns.extend(&sample.delay_ns);
            }
            let presences = all.paths.values_mut().chain(all.shapes.values_mut());
            presences.for_each(|it| it.blocks.resize(num_blocks, false));
            for joined in all.incidents.values_mut() {
                joined.in_block.resize(num_blocks, 0);
                joined.delay_ns.resize(num_blocks, 0);
            }
        }
        all
    }

    /// Returns the same as [`in_any_of`](Self::in_any_of), with only those paths and structures that each run has.
    pub(crate) fn in_all_of(runs: &[&Self]) -> Self {
        let mut all = Self::in_any_of(runs);
        let is_in_all = |has: &dyn Fn(&Self) -> bool| runs.iter().all(|run| has(run));
        all.paths
            .retain(|path, _| is_in_all(&|run| run.paths.contains_key(path)));
        all.shapes
            .retain(|shape, _| is_in_all(&|run| run.shapes.contains_key(shape)));
        all
    }

    /// Returns the number of incidents of a kind, or of all.
    pub(crate) fn num_incidents(&self, kind: &str) -> usize {
        let of_kinds = self.incidents.iter();
        let of_kinds = of_kinds.filter(|(it, _)| kind == ALL_INCIDENTS || *it == kind);
        of_kinds.map(|(_, it)| it.num_incidents()).sum()
    }

    /// Returns the incidents of all kinds.
    pub fn all_incidents(&self) -> IncidentSample {
        let mut all = IncidentSample {
            in_block: vec![0; self.num_blocks()],
            delay_ns: vec![0; self.num_blocks()],
        };
        for sample in self.incidents.values() {
            for (sum, num) in all.in_block.iter_mut().zip(&sample.in_block) {
                *sum += num;
            }
            for (sum, delay_ns) in all.delay_ns.iter_mut().zip(&sample.delay_ns) {
                *sum = sum.saturating_add(*delay_ns);
            }
        }
        all
    }

    /// Returns values of blocks per iteration and rank.
    pub(crate) fn per_iteration(&self, of_blocks: &[f64]) -> Vec<f64> {
        let num_ranks = self.num_ranks.max(1).real();
        let scaled = of_blocks.iter().zip(&self.iterations_in_block);
        scaled
            .map(|(value, num)| value / ((*num).max(1).real() * num_ranks))
            .collect()
    }

    /// Returns the iterations of all ranks together.
    pub(crate) fn num_rank_iterations(&self) -> f64 {
        self.num_iterations().real() * self.num_ranks.real()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_ranks_does_not_matter() {
        let samples = [0.1, 0.7, 1e9, 3.3].map(|typical_ns| BlockSample {
            num_calls: 3,
            typical_ns,
            total_ns: 7,
        });
        let [mut one, mut other] = [BlockSeries::new(1), BlockSeries::new(1)];
        for at in 0..4 {
            one.add(0, samples[at]);
            other.add(0, samples[3 - at]);
        }
        assert_eq!(one.typical(), other.typical());
        assert_eq!((one.num_calls(), one.total_ns()), (12, 28));
    }
}
