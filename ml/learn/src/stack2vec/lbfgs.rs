//! Vectors of trees with a fixed softmax layer: for each tree a convex problem of d numbers.
//!
//! L-BFGS (Nocedal 1980; Liu and Nocedal 1989) from 0, with a backtracking line search. Every tree has its own steps;
//! the trees of a block share the matrix products that compute loss and slopes, and leave them when they are done.

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayViewMut2};
use pulp::{Simd, WithSimd};

use super::block::{Layer, TREES_PER_BLOCK};
use super::corpus::Corpus;
use super::loss::softmax_errors;

/// Maximum number of points evaluated for one vector.
const MAX_POINTS: usize = 14;
/// Minimum predicted decrease of the loss; a tree with less is done.
const MIN_GAIN: f32 = 3e-3;
/// Number of steps from which the curvature is estimated.
const MEMORY: usize = 8;
/// Share of the predicted decrease that a step must achieve (Armijo 1966).
const MIN_DECREASE_SHARE: f32 = 1e-4;
/// Rounding error of the loss.
const ROUNDING: f32 = 1e-6;
/// Minimum curvature of a step that is stored.
const MIN_CURVATURE: f32 = 1e-10;
/// Number of sums that are added at once, in a fixed order whatever the vector width.
const LANES: usize = 16;

/// Computes the vectors of a block of trees, shape [trees, d]; that of a tree without weight is 0.
pub(super) fn infer_block(
    layer: &Layer,
    corpus: &Corpus,
    decay: f32,
    block: usize,
    mut vectors: ArrayViewMut2<'_, f32>,
) {
    let first = block * TREES_PER_BLOCK;
    let dims = vectors.ncols();
    let simd = pulp::Arch::new();
    let mut searches: Vec<Search> = (first..first + vectors.nrows())
        .filter(|&tree| !corpus.row(tree).0.is_empty())
        .map(|tree| Search::new(tree, dims))
        .collect();
    for _ in 0..MAX_POINTS {
        if searches.is_empty() {
            break;
        }
        let mut places = Array2::zeros((searches.len(), dims));
        for (search, mut place) in searches.iter().zip(places.outer_iter_mut()) {
            for ((value, x), step) in place.iter_mut().zip(&search.x).zip(&search.step) {
                *value = x + search.size * step;
            }
        }
        let mut errors = places.dot(&layer.output.t());
        let mut losses = Vec::with_capacity(searches.len());
        for (search, mut row) in searches.iter().zip(errors.outer_iter_mut()) {
            let (words, shares) = corpus.row(search.tree);
            let row = row
                .as_slice_mut()
                .expect("rows of a product are contiguous");
            losses.push(softmax_errors(row, &layer.offsets, words, shares));
        }
        let mut slopes = Array2::zeros(places.raw_dim());
        general_mat_mul(1.0, &errors, &layer.output, 0.0, &mut slopes);
        slopes.scaled_add(decay, &places);
        let mut open = Vec::with_capacity(searches.len());
        for (index, mut search) in searches.into_iter().enumerate() {
            let place = places.row(index).to_vec();
            let slopes = slopes.row(index).to_vec();
            let is_open = simd.dispatch(PointEvaluation {
                loss: losses[index],
                search: &mut search,
                decay,
                place,
                slopes,
            });
            if is_open {
                open.push(search);
            } else {
                search.store(first, &mut vectors);
            }
        }
        searches = open;
    }
    for search in searches {
        search.store(first, &mut vectors);
    }
}

/// The search for one vector.
struct Search {
    tree: usize,
    /// The best point so far, its loss and slopes.
    x: Vec<f32>,
    loss: f32,
    slopes: Vec<f32>,
    /// The next point is x + size · step.
    step: Vec<f32>,
    size: f32,
    /// The latest steps, oldest first.
    moves: Vec<Move>,
}

/// A step s, the change y of the slopes by it, and s·y.
struct Move {
    step: Vec<f32>,
    change: Vec<f32>,
    curvature: f32,
}

impl Search {
    fn new(tree: usize, dims: usize) -> Self {
        Self {
            tree,
            x: vec![0.0; dims],
            loss: f32::INFINITY,
            slopes: vec![0.0; dims],
            step: vec![0.0; dims],
            size: 1.0,
            moves: Vec::with_capacity(MEMORY),
        }
    }

    fn store(self, first: usize, vectors: &mut ArrayViewMut2<'_, f32>) {
        for (value, x) in vectors.row_mut(self.tree - first).iter_mut().zip(self.x) {
            *value = x;
        }
    }

    /// Stores the curvature information of a step to a better point.
    #[inline(always)]
    fn learn(&mut self, slopes: &[f32]) {
        let step: Vec<f32> = self.step.iter().map(|step| self.size * step).collect();
        let pairs = slopes.iter().zip(&self.slopes);
        let change: Vec<f32> = pairs.map(|(new, old)| new - old).collect();
        let curvature = dot(&step, &change);
        if curvature > MIN_CURVATURE {
            if self.moves.len() == MEMORY {
                self.moves.remove(0);
            }
            self.moves.push(Move {
                step,
                change,
                curvature,
            });
        }
    }

    /// Returns −H⁻¹ ∇φ with H from the latest steps; before the first one, a step of length 1 along the negative
    /// slopes.
    #[inline(always)]
    fn next_step(&self) -> Vec<f32> {
        let mut step: Vec<f32> = self.slopes.iter().map(|slope| -slope).collect();
        let mut factors = [0.0; MEMORY];
        for (factor, known) in factors.iter_mut().zip(&self.moves).rev() {
            *factor = dot(&known.step, &step) / known.curvature;
            add(&mut step, -*factor, &known.change);
        }
        let scale = match self.moves.last() {
            Some(known) => known.curvature / dot(&known.change, &known.change),
            None => 1.0 / dot(&step, &step).sqrt().max(f32::MIN_POSITIVE),
        };
        for step in &mut step {
            *step *= scale;
        }
        for (factor, known) in factors.iter().zip(&self.moves) {
            let back = dot(&known.change, &step) / known.curvature;
            add(&mut step, factor - back, &known.step);
        }
        step
    }
}

/// One evaluation of a search at the next point, given the loss and slopes there; pulp compiles it per vector width.
/// Returns whether the search continues.
struct PointEvaluation<'a> {
    search: &'a mut Search,
    decay: f32,
    place: Vec<f32>,
    /// The loss without the term of λ, which the slopes include.
    loss: f32,
    slopes: Vec<f32>,
}

impl WithSimd for PointEvaluation<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> bool {
        let search = self.search;
        let loss = self.loss + 0.5 * self.decay * dot(&self.place, &self.place);
        let promised = search.size * dot(&search.slopes, &search.step);
        if loss > search.loss + MIN_DECREASE_SHARE * promised + ROUNDING {
            // The minimum of the parabola through the known values.
            let lowest = -0.5 * promised / (loss - search.loss - promised);
            search.size *= lowest.clamp(0.1, 0.5);
            return true;
        }
        if search.loss.is_finite() {
            search.learn(&self.slopes);
        }
        search.loss = loss;
        search.x = self.place;
        search.slopes = self.slopes;
        search.step = search.next_step();
        search.size = 1.0;
        -dot(&search.step, &search.slopes) > MIN_GAIN
    }
}

#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; LANES];
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}

/// Computes a += factor · b.
#[inline(always)]
fn add(a: &mut [f32], factor: f32, b: &[f32]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}
