//! The injections of a run.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Number of kernels, from the first, of an execution of the root function in which something may be injected.
const NUM_SITES: usize = 2;
/// Number of injections of a run: 6 slow ones, 6 stalls and 9 changes of structure.
const NUM_INJECTIONS: usize = 21;

/// A lane, and the number of an execution of the root function on it.
pub(super) type LaneUnit = (usize, usize);

/// An injected fault in an execution of the root function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Injection {
    /// The index of the affected kernel.
    pub(super) site: usize,
    pub(super) kind: InjectionKind,
}

/// The kind of an injected fault.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum InjectionKind {
    /// All of its calls take longer by this factor.
    Slow(f64),
    /// Its lane stalls once for this time, in microseconds.
    Stall(f64),
    /// It calls a different function.
    Replaced,
    /// It is not called.
    Missing,
    /// It makes this number of calls of a function that is called nowhere else.
    Extra(usize),
}

/// Draws the injections of a run whose lanes have `num_units` executions of the root function each, which usually take
/// `usual_us`: slow calls and stalls from hardly noticeable to severe. The first and last twentieth of a run have none.
pub(super) fn draw(
    seed: u64,
    num_lanes: usize,
    num_units: usize,
    usual_us: f64,
) -> BTreeMap<LaneUnit, Injection> {
    // A stream of random numbers that no lane has.
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 0x1a7e_c7ed);
    let margin = num_units / 20;
    let mut injections = BTreeMap::new();
    while injections.len() < NUM_INJECTIONS {
        let place = (
            rng.random_range(0..num_lanes),
            rng.random_range(margin..num_units - margin),
        );
        let kind = match injections.len() % 7 {
            0 | 1 => InjectionKind::Slow(rng.random_range(3.0..9.0)),
            // From half of the usual time to eight times it, uniform in the logarithm.
            2 | 3 => InjectionKind::Stall(usual_us * 2_f64.powf(rng.random_range(-1.0..3.0))),
            4 => InjectionKind::Replaced,
            5 => InjectionKind::Missing,
            _ => InjectionKind::Extra(rng.random_range(2..6)),
        };
        let site = rng.random_range(0..NUM_SITES);
        injections.entry(place).or_insert(Injection { site, kind });
    }
    injections
}
