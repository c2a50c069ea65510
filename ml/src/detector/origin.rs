//! Where a forest comes from, as models say it.

use std::collections::BTreeSet;

use callgrove_model::{Forest, Metadata, TreeIdx};

/// Where a forest comes from.
pub(super) struct Origin {
    /// Names of the programs' files, ascending; empty if the trace does not say.
    pub(super) programs: Vec<String>,
    /// Names of the root functions.
    pub(super) functions: Vec<String>,
    pub(super) num_ranks: usize,
    /// Of the trees, nanoseconds.
    pub(super) median_duration_ns: i64,
}

impl Origin {
    pub(super) fn of(forest: &Forest) -> Self {
        let trace = forest.trace();
        let is_program = |entry: &&Metadata| entry.key == "Executable";
        let programs: BTreeSet<String> = trace
            .metadata
            .iter()
            .filter(is_program)
            .map(|entry| {
                entry
                    .value
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect();
        let names = forest
            .functions()
            .iter()
            .map(|&func| trace.names.name(func));
        let trees = (0..forest.len()).map(TreeIdx::from_index);
        let ranks: BTreeSet<_> = trees
            .clone()
            .map(|tree| forest.lane_of(tree))
            .map(|lane| (lane.program, lane.rank))
            .collect();
        let mut durations: Vec<i64> = trees.map(|tree| forest.tree(tree).duration().0).collect();
        durations.sort_unstable();
        Self {
            programs: programs.into_iter().collect(),
            functions: names.map(str::to_owned).collect(),
            num_ranks: ranks.len(),
            median_duration_ns: durations.get(durations.len() / 2).copied().unwrap_or(0),
        }
    }
}
