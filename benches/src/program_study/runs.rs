//! The runs of a program.

use callgrove_trees::Result;

use super::case::LearnedRun;
use crate::programs::SimulatedProgram;

/// Number of clean runs of a program.
pub(super) const NUM_CLEAN: usize = 2;
/// Number of runs with anomalies of a program.
const NUM_INJECTED: usize = 2;

/// Number of pairs of clean runs by which p-values are counted.
const NUM_PAIRS: u64 = 10;
/// Distance of their seeds from those of the other runs.
const SEEDS_OF_PAIRS: u64 = 1_000;

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

/// Returns observed over expected number of p-values at some levels, in pairs of clean runs of a program, of which the
/// first is the reference of the second: those of one run are too few at small levels, since an interruption
/// makes many executions late.
pub(super) fn p_ratios<const N: usize>(
    program: &SimulatedProgram,
    first_seed: u64,
    levels: [f64; N],
) -> Result<[f64; N]> {
    let mut p_values = Vec::new();
    for pair in 0..NUM_PAIRS {
        let seed = first_seed + SEEDS_OF_PAIRS + 2 * pair;
        let reference = LearnedRun::new(program.clean(seed))?.model()?;
        let (_, judged) = LearnedRun::new(program.clean(seed + 1))?.judged(&reference)?;
        p_values.extend(judged.p_values);
    }
    let ratio = |level: f64| {
        let observed = p_values.iter().filter(|&&p| p <= level).count();
        observed as f64 / (level * p_values.len() as f64)
    };
    Ok(levels.map(ratio))
}
