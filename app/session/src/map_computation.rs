//! The map of all trees while it is being computed.

use callgrove_map::projection::{Smacof, Tsne, TsneParams, trustworthiness_sampled};
use callgrove_model::Progress;
use callgrove_trees::MlError;

use crate::learning::{Learned, LearningError};
use crate::tree_map::{MapMethod, TreeMap};

/// Number of steps of stress majorisation. Nine tenths of the gain come from the first twenty.
const STRESS_STEPS: usize = 60;
/// Number of point moves between two published maps, over all iterations.
const MOVES_PER_UPDATE: usize = 60_000;
/// Largest number of iterations between two published maps.
const MAX_ITERATIONS: usize = 20;
/// Number of neighbours in the trustworthiness of the map.
const TRUST_NEIGHBOURS: usize = 12;
/// Number of sampled rows in the trustworthiness of the map.
const TRUST_ROWS: usize = 1_000;

/// A map that improves step by step.
pub(crate) struct MapComputation {
    state: State,
    method: MapMethod,
    num_steps: usize,
}

enum State {
    Smacof(Smacof),
    Tsne(Tsne),
}

impl MapComputation {
    /// Returns the start of a map; `None` for a method whose map is ready at once.
    pub(crate) fn begin(
        learned: &Learned,
        method: MapMethod,
        progress: Progress<'_>,
    ) -> Result<Option<Self>, LearningError> {
        let embedding = learned.embedding();
        let state = match method {
            MapMethod::Mds => return Ok(None),
            MapMethod::Smacof => {
                let start = embedding.map().points.clone();
                State::Smacof(Smacof::new(embedding.rows(), start, progress)?)
            }
            MapMethod::Tsne => {
                let params = TsneParams::default().check()?;
                State::Tsne(Tsne::from_rows(
                    embedding.rows(),
                    params,
                    embedding.seed(),
                    progress,
                )?)
            }
        };
        Ok(Some(Self {
            state,
            method,
            num_steps: 0,
        }))
    }

    /// Computes the next few iterations.
    pub(crate) fn advance(&mut self) -> Result<(), LearningError> {
        match &mut self.state {
            State::Smacof(map) => {
                map.step(1, Progress::none())?;
                self.num_steps += 1;
            }
            State::Tsne(map) => {
                let iterations = MOVES_PER_UPDATE / map.points().len().max(1);
                for _ in 0..iterations.clamp(1, MAX_ITERATIONS) {
                    if !map.is_ready() {
                        map.step();
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn is_ready(&self) -> bool {
        match &self.state {
            State::Smacof(_) => self.num_steps >= STRESS_STEPS,
            State::Tsne(map) => map.is_ready(),
        }
    }

    /// Returns the map in its present state.
    pub(crate) fn snapshot(&self, learned: &Learned, is_paused: bool) -> Result<TreeMap, MlError> {
        let (points, fraction) = match &self.state {
            State::Smacof(map) => (map.points(), self.num_steps as f32 / STRESS_STEPS as f32),
            State::Tsne(map) => {
                let iterations = TsneParams::default().iterations;
                (map.points(), map.iteration() as f32 / iterations as f32)
            }
        };
        let rows = learned.embedding().rows();
        let trust = |()| trustworthiness_sampled(rows, points, TRUST_NEIGHBOURS, TRUST_ROWS);
        Ok(TreeMap {
            method: self.method,
            points: scaled(points),
            trustworthiness: self.is_ready().then_some(()).map(trust).transpose()?,
            fraction,
            is_paused,
        })
    }
}

impl TreeMap {
    /// Returns the map that the embedding provides.
    pub(crate) fn of_embedding(learned: &Learned) -> Self {
        let embedding = learned.embedding();
        Self {
            method: MapMethod::Mds,
            points: scaled(&embedding.map().points),
            trustworthiness: Some(embedding.trustworthiness()),
            fraction: 1.0,
            is_paused: false,
        }
    }
}

/// Returns the points as the views take them: centred, with the farthest coordinate at ±1.
fn scaled(points: &[[f64; 2]]) -> Vec<[f32; 2]> {
    let middle = [0, 1].map(|axis| {
        let values = points.iter().map(|point| point[axis]);
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        f64::midpoint(low, high)
    });
    let offsets = points
        .iter()
        .flat_map(|point| [point[0] - middle[0], point[1] - middle[1]]);
    let farthest = offsets.fold(f64::MIN_POSITIVE, |farthest, offset| {
        farthest.max(offset.abs())
    });
    points
        .iter()
        .map(|point| [0, 1].map(|axis| ((point[axis] - middle[axis]) / farthest) as f32))
        .collect()
}
