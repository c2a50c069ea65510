//! A t-SNE map while it forms.

use std::sync::Arc;

use callgrove_model::Progress;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::affinities::Affinities;
use super::attraction::Edges;
use super::exact;
use super::params::ValidTsneParams;
use super::placement::place_new;
use super::quadtree::Quadtree;
use super::repulsion::Repulsion;
use crate::knn::all_nearest;
use crate::projection::points::check_points;
use crate::projection::{MdsParams, pivot_mds};
use callgrove_trees::dataset::Rows;
use callgrove_trees::error::Result;
use callgrove_trees::real::{Real, fraction};

/// Standard deviation of the start along x.
const START_DEVIATION: f64 = 1e-4;
/// Standard deviation of the noise that is added to the start.
const START_NOISE: f64 = 1e-6;

/// Increase of a gain while a step continues in its direction.
const GAIN_GROWTH: f64 = 0.2;
/// Factor of a gain when a step turns.
const GAIN_DECAY: f64 = 0.8;
/// Minimum gain.
const MIN_GAIN: f64 = 0.01;

/// A t-SNE map (van der Maaten and Hinton 2008; van der Maaten 2014, doi:10.5555/2627435.2697068),
/// one iteration at a time: call [`Tsne::step`] repeatedly, and read [`Tsne::points`] in between. A clone continues
/// as the original would.
///
/// ```text
/// KL   = Σ_(i≠j) p_ij ln(p_ij / q_ij),   q_ij = w_ij / Z,   w_ij = 1 / (1 + |y_i − y_j|²)
/// ∂KL/∂y_i = 4 Σ_j (e p_ij − q_ij) w_ij (y_i − y_j)
/// ```
///
/// Z is the sum of all w_ij, e the exaggeration, p_ij the [`Affinities`]. Steps have momentum and a gain per
/// coordinate; after each step the centre of the map is moved to the origin. The repelling sum over q_ij treats cells
/// of points as one point, see [`super::TsneParams::theta`].
///
/// Deviations: forces are in single precision unless theta is 0, while points are in double precision; a cell must be
/// small as seen from the box of a complete leaf. The result is the same for any number of threads.
///
/// Cost of an iteration: affinities (rows × 3 perplexity × 1 to 2), and rows × ln rows cells.
#[derive(Clone, Debug)]
pub struct Tsne {
    params: ValidTsneParams,
    attraction: Attraction,
    points: Vec<[f64; 2]>,
    steps: Vec<[f64; 2]>,
    gains: Vec<[f64; 2]>,
    iteration: usize,
}

#[derive(Clone, Debug)]
enum Attraction {
    Exact(Arc<Affinities>),
    Single(Arc<Edges>),
}

impl Tsne {
    /// Creates a map that begins with the points `start`; [`tsne_start`] derives them from another map.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::LengthMismatch`] if there is not one point for each row, [`callgrove_trees::MlError::BadNumber`] if one
    /// is not finite.
    pub fn new(
        affinities: Affinities,
        start: Vec<[f64; 2]>,
        params: ValidTsneParams,
    ) -> Result<Self> {
        check_points(&start, affinities.num_rows())?;
        let attraction = if params.get().theta > 0.0 {
            Attraction::Single(Arc::new(Edges::new(&affinities)))
        } else {
            Attraction::Exact(Arc::new(affinities))
        };
        Ok(Self {
            params,
            attraction,
            steps: vec![[0.0; 2]; start.len()],
            gains: vec![[1.0; 2]; start.len()],
            points: start,
            iteration: 0,
        })
    }

    /// Creates a map of rows: affinities of their nearest neighbours, and a start from [`pivot_mds`].
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::Cancelled`].
    pub fn from_rows(
        rows: &Rows,
        params: ValidTsneParams,
        seed: u64,
        progress: Progress<'_>,
    ) -> Result<Self> {
        let k = params.num_neighbours(rows.len().saturating_sub(1));
        let neighbours = all_nearest(rows, k, progress.part(0.0, 0.7))?;
        let affinities = if neighbours.is_empty() {
            Affinities::none(rows.len())
        } else {
            Affinities::new(&neighbours, params.get().perplexity)
        };
        let map_params = MdsParams::default().check()?;
        let map = pivot_mds(rows, map_params, seed, progress.part(0.7, 1.0))?;
        Self::new(affinities, tsne_start(&map.points, seed), params)
    }

    /// Makes one iteration.
    pub fn step(&mut self) {
        let settings = *self.params.get();
        let num_rows = self.points.len();
        let is_early = self.iteration < settings.exaggeration_iterations;
        let (exaggeration, momentum) = if is_early {
            (settings.exaggeration, settings.first_momentum)
        } else {
            (1.0, settings.final_momentum)
        };
        let usual_rate = (num_rows.real() / (4.0 * exaggeration)).max(50.0);
        let rate = settings.learning_rate.unwrap_or(usual_rate);
        let gradient = self.exaggerated_gradient(exaggeration);
        let states = self
            .points
            .iter_mut()
            .zip(&mut self.steps)
            .zip(&mut self.gains);
        let mut middle = [0.0; 2];
        for (((point, step), gain), slope) in states.zip(&gradient) {
            for axis in 0..2 {
                gain[axis] = if slope[axis] * step[axis] < 0.0 {
                    gain[axis] + GAIN_GROWTH
                } else {
                    (gain[axis] * GAIN_DECAY).max(MIN_GAIN)
                };
                step[axis] = momentum * step[axis] - rate * gain[axis] * slope[axis];
                point[axis] += step[axis];
                middle[axis] += point[axis];
            }
        }
        for point in &mut self.points {
            for axis in 0..2 {
                point[axis] -= middle[axis] / num_rows.real();
            }
        }
        self.iteration += 1;
    }

    /// Steps until the map is finished.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::Cancelled`]; the map then keeps the iterations made so far.
    pub fn run(&mut self, progress: Progress<'_>) -> Result<()> {
        while !self.is_ready() {
            progress.at(fraction(self.iteration, self.params.get().iterations))?;
            self.step();
        }
        progress.at(1.0)?;
        Ok(())
    }

    /// Returns whether all iterations are done; more may follow.
    pub fn is_ready(&self) -> bool {
        self.iteration >= self.params.get().iterations
    }

    /// Returns the number of iterations done.
    pub fn iteration(&self) -> usize {
        self.iteration
    }

    /// Returns points [x, y], one per row.
    pub fn points(&self) -> &[[f64; 2]] {
        &self.points
    }

    /// Returns the Kullback-Leibler divergence, without exaggeration; 0 is a perfect map. Costs as much as an
    /// iteration.
    pub fn divergence(&self) -> f64 {
        if self.points.len() < 2 {
            return 0.0;
        }
        match &self.attraction {
            Attraction::Exact(affinities) => exact::divergence(affinities, &self.points),
            Attraction::Single(edges) => {
                let normaliser = self.repulsion(&self.points_in_single()).normaliser;
                edges.divergence(&self.points, normaliser)
            }
        }
    }

    /// Returns the gradient of the divergence, without exaggeration: one slope per coordinate.
    pub fn gradient(&self) -> Vec<[f64; 2]> {
        self.exaggerated_gradient(1.0)
    }

    /// Returns points for new rows in this map, which does not change; `rows` are the rows of the map. See
    /// [`place_new`].
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::LengthMismatch`], [`callgrove_trees::MlError::Cancelled`].
    pub fn place_new(
        &self,
        rows: &Rows,
        new_rows: &Rows,
        progress: Progress<'_>,
    ) -> Result<Vec<[f64; 2]>> {
        place_new(rows, &self.points, new_rows, self.params, progress)
    }

    fn exaggerated_gradient(&self, exaggeration: f64) -> Vec<[f64; 2]> {
        if self.points.len() < 2 {
            return vec![[0.0; 2]; self.points.len()];
        }
        match &self.attraction {
            Attraction::Exact(affinities) => {
                exact::gradient(affinities, &self.points, exaggeration)
            }
            Attraction::Single(edges) => {
                let points = self.points_in_single();
                let repulsion = self.repulsion(&points);
                let attraction = edges.forces(&points);
                let forces = attraction.iter().zip(&repulsion.forces);
                let slope = |pull: f32, push: f32| {
                    4.0 * (exaggeration * f64::from(pull) - f64::from(push) / repulsion.normaliser)
                };
                forces
                    .map(|(pull, push)| [slope(pull[0], push[0]), slope(pull[1], push[1])])
                    .collect()
            }
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "single precision is intended"
    )]
    fn points_in_single(&self) -> Vec<[f32; 2]> {
        let single = |&[x, y]: &[f64; 2]| [x as f32, y as f32];
        self.points.iter().map(single).collect()
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "single precision is intended"
    )]
    fn repulsion(&self, points: &[[f32; 2]]) -> Repulsion {
        let mut tree = Quadtree::default();
        tree.build(points);
        Repulsion::of(&tree, self.params.get().theta as f32)
    }
}

/// Returns a start for t-SNE from another map of the same rows: scaled down so that all points interact, and with
/// some noise so that equal points separate.
pub fn tsne_start(map: &[[f64; 2]], seed: u64) -> Vec<[f64; 2]> {
    let num_rows = map.len().max(1).real();
    let mean = [0, 1].map(|axis| map.iter().map(|point| point[axis]).sum::<f64>() / num_rows);
    let variance = map
        .iter()
        .map(|point| (point[0] - mean[0]).powi(2))
        .sum::<f64>()
        / num_rows;
    let scale = if variance > 0.0 {
        START_DEVIATION / variance.sqrt()
    } else {
        0.0
    };
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut index = |value: f64, mean: f64| {
        (value - mean) * scale + START_NOISE * (2.0 * rng.random::<f64>() - 1.0)
    };
    map.iter()
        .map(|&[x, y]| [index(x, mean[0]), index(y, mean[1])])
        .collect()
}
