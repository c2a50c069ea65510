//! A simulated program and its runs.

use std::collections::BTreeMap;
use std::sync::Arc;

use callgrove_evaluate::evaluate::Class;
use callgrove_model::Forest;

use super::injection::{Injection, LaneUnit, draw};
use super::simulation::Simulation;
use super::truth::compare;

/// A program that can be simulated.
#[derive(Clone, Copy, Debug)]
pub struct SimulatedProgram {
    /// The name of its kind.
    pub name: &'static str,
    /// The function whose executions are judged.
    pub root: &'static str,
    /// Number of ranks.
    pub(super) num_ranks: usize,
    /// Number of threads or GPU streams of a rank, including the first thread.
    pub(super) num_threads: usize,
    /// Number of executions of the root function on each lane that has any.
    pub(super) num_units: usize,
    /// Approximate duration of an execution of the root function.
    pub(super) usual_us: f64,
    /// Relative standard deviation of its calls.
    pub(super) spread: f64,
    pub(super) run: fn(&mut Simulation<'_>, usize),
}

/// A simulated run.
#[derive(Debug)]
pub struct SimulatedRun {
    /// The executions of the root function.
    pub forest: Forest,
    /// The class of each execution, shape `[n_trees]`; all negative in a clean run. The kinds are
    /// [`KINDS`](super::KINDS).
    pub classes: Vec<Class>,
    /// The duration of each as a multiple of its twin's, shape `[n_trees]`: 1 in a clean run, NaN without a twin.
    pub ratios: Vec<f64>,
}

impl SimulatedProgram {
    /// Returns the program with `num_units` executions of the root function, 20 or more, on each lane that has any.
    #[must_use]
    pub fn with_units(self, num_units: usize) -> Self {
        Self { num_units, ..self }
    }

    /// Simulates the program without anomalies. The same seed gives the same run.
    pub fn clean(&self, seed: u64) -> SimulatedRun {
        let forest = self.simulate(seed, &BTreeMap::new());
        SimulatedRun {
            classes: vec![Class::Negative; forest.len()],
            ratios: vec![1.0; forest.len()],
            forest,
        }
    }

    /// Simulates the program with anomalies, in 21 executions of the root function and in those that wait for them.
    pub fn injected(&self, seed: u64) -> SimulatedRun {
        let num_lanes = self.num_ranks * self.num_threads;
        let injections = draw(seed, num_lanes, self.num_units, self.usual_us);
        let forest = self.simulate(seed, &injections);
        let twin = self.simulate(seed, &BTreeMap::new());
        let lane_of = |rank: usize, thread: usize| rank * self.num_threads + thread;
        let (classes, ratios) = compare(&forest, &twin, &injections, lane_of)
            .into_iter()
            .unzip();
        SimulatedRun {
            forest,
            classes,
            ratios,
        }
    }

    fn simulate(&self, seed: u64, injections: &BTreeMap<LaneUnit, Injection>) -> Forest {
        let lanes = (self.num_ranks, self.num_threads);
        let calls = (self.usual_us, self.spread);
        let mut simulation = Simulation::new(lanes, calls, seed, injections);
        (self.run)(&mut simulation, self.num_units);
        let trace = simulation.into_trace();
        let root = trace.names.get(self.root);
        Forest::grow(Arc::new(trace), &root.into_iter().collect::<Vec<_>>())
    }
}
