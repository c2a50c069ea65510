//! The runs of a program.

use callgrove_trees::Result;

use super::case::LearnedRun;
use crate::programs::SimulatedProgram;

/// Number of clean runs of a program.
pub(super) const NUM_CLEAN: usize = 2;
/// Seeds of the clean runs of a program; the first is the reference.
const CLEAN_SEEDS: [u64; NUM_CLEAN] = [31, 32];
/// Seeds of its runs with anomalies.
const INJECTED_SEEDS: [u64; 2] = [33, 34];
/// The runs of a program: clean ones, then those with anomalies.
pub(super) struct ProgramCases {
    pub(super) name: &'static str,
    pub(super) cases: Vec<LearnedRun>,
}

impl ProgramCases {
    /// Simulates the runs and learns from them.
    pub(super) fn new(program: &SimulatedProgram) -> Result<Self> {
        let clean = CLEAN_SEEDS.iter().map(|&seed| program.clean(seed));
        let injected = INJECTED_SEEDS.iter().map(|&seed| program.injected(seed));
        let cases = clean.chain(injected).map(LearnedRun::new);
        Ok(Self {
            name: program.name,
            cases: cases.collect::<Result<_>>()?,
        })
    }
}
