//! The samples of one run, or of a part of it.

use std::collections::BTreeMap;

use callgrove_model::Real;

use super::level_test::typical_ns;
use super::paths::{CallStructure, PathId};

/// The calls of one path on one rank in one block of iterations.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
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
#[derive(Clone, PartialEq, Default, Debug)]
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

    /// Returns the typical duration of each block that has calls: the mean of the lanes', weighted by calls.
    pub(crate) fn typical(&self) -> Vec<f64> {
        let of_block = |samples: &Vec<BlockSample>| {
            let num_calls = samples.iter().map(|it| it.num_calls).sum::<u64>();
            let weighted = samples.iter().map(|it| it.num_calls.real() * it.typical_ns);
            let mut weighted: Vec<f64> = weighted.collect();
            // Sums of doubles depend on their order; that of the ranks must not matter.
            weighted.sort_by(f64::total_cmp);
            (num_calls > 0).then(|| weighted.iter().sum::<f64>() / num_calls.real())
        };
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

/// The occurrences of a path or structure in a run.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
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
}

/// The incidents of one kind.
#[derive(Clone, PartialEq, Default, Debug)]
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
#[derive(Clone, PartialEq, Default, Debug)]
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

impl RunSamples {
    /// Returns the number of blocks.
    pub fn num_blocks(&self) -> usize {
        self.iterations_in_block.len()
    }

    /// Returns the number of iterations.
    pub fn num_iterations(&self) -> usize {
        self.iterations_in_block.iter().sum()
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
