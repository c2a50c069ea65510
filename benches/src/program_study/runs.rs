//! The runs of a program.

use callgrove_trees::Result;

use super::case::LearnedRun;
use crate::programs::SimulatedProgram;

/// Number of clean runs of a program.
pub(super) const NUM_CLEAN: usize = 2;
/// Number of runs with anomalies of a program.
const NUM_INJECTED: usize = 2;

/// The runs of a program: clean ones, then those with anomalies.
pub(super) struct ProgramCases {
    pub(super) name: &'static str,
    pub(super) cases: Vec<LearnedRun>,
}

impl ProgramCases {
    /// Simulates the runs with seeds from `first_seed` on, and learns from them. The first clean run is the reference.
    pub(super) fn new(program: &SimulatedProgram, first_seed: u64) -> Result<Self> {
        let seeds = first_seed..;
        let clean = seeds
            .clone()
            .take(NUM_CLEAN)
            .map(|seed| program.clean(seed));
        let injected = seeds.skip(NUM_CLEAN).take(NUM_INJECTED);
        let injected = injected.map(|seed| program.injected(seed));
        let cases = clean.chain(injected).map(LearnedRun::new);
        Ok(Self {
            name: program.name,
            cases: cases.collect::<Result<_>>()?,
        })
    }
}
