//! The repelling part of the gradient, by cells.

use rayon::prelude::*;
use wide::f32x8;

use super::quadtree::{Quadtree, QuadtreeCell};

/// Number of points that are summed at once.
const LANES: usize = 8;

/// Σ_j w_ij² (y_i − y_j) for each point i, and Z = Σ_i Σ_(j ≠ i) w_ij; w = 1 / (1 + |y_i − y_j|²).
#[derive(Clone, Debug, Default)]
pub(super) struct Repulsion {
    pub(super) forces: Vec<[f32; 2]>,
    pub(super) normaliser: f64,
}

/// The sources of repulsion on the points of a leaf: cells and single points, with the number of points they
/// represent. Padded to complete lanes with sources of mass 0.
#[derive(Default)]
pub(super) struct Sources {
    lanes: Vec<SourceLanes>,
    len: usize,
    stack: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct SourceLanes {
    xs: [f32; LANES],
    ys: [f32; LANES],
    masses: [f32; LANES],
}

impl Repulsion {
    /// Computes the repulsion. A cell acts as one point for all points of a leaf if its size is at most `theta` times
    /// its distance from the box around the leaf's points.
    ///
    /// That is stricter than the test for each point by Barnes and Hut, and each leaf needs only one walk through the
    /// tree; the sums then run over plain arrays.
    pub(super) fn of(tree: &Quadtree, theta: f32) -> Self {
        let by_leaf: Vec<(Vec<[f32; 2]>, f64)> = tree
            .leaves
            .par_iter()
            .with_min_len(8)
            .map_init(Sources::default, |sources, &leaf| {
                leaf_forces(tree, &tree.cells[leaf as usize], theta, sources)
            })
            .collect();
        let mut forces = vec![[0.0; 2]; tree.order.len()];
        let mut normaliser = 0.0;
        for (&leaf, (leaf_forces, sum)) in tree.leaves.iter().zip(&by_leaf) {
            let QuadtreeCell { start, end, .. } = tree.cells[leaf as usize];
            let order = &tree.order[start as usize..end as usize];
            for (&point, &force) in order.iter().zip(leaf_forces) {
                forces[point as usize] = force;
            }
            normaliser += sum;
        }
        Self { forces, normaliser }
    }
}

/// Returns the forces on the points of a leaf, and their share of Z.
fn leaf_forces(
    tree: &Quadtree,
    leaf: &QuadtreeCell,
    theta: f32,
    sources: &mut Sources,
) -> (Vec<[f32; 2]>, f64) {
    sources.collect(tree, leaf.lower, leaf.upper, theta);
    let (start, end) = (leaf.start as usize, leaf.end as usize);
    let mut forces = Vec::with_capacity(end - start);
    let mut normaliser = 0.0;
    for index in start..end {
        let (force, sum) = sources.act_on(tree.xs[index], tree.ys[index]);
        forces.push(force);
        // Its own weight is 1.
        normaliser += f64::from(sum) - 1.0;
    }
    (forces, normaliser)
}

// Functions that run for every cell use plain loops: the compiler does not inline closures over arrays across its
// codegen units.
impl Sources {
    /// Collects the sources for the points within a box.
    pub(super) fn collect(
        &mut self,
        tree: &Quadtree,
        lower: [f32; 2],
        upper: [f32; 2],
        theta: f32,
    ) {
        self.lanes.clear();
        self.len = 0;
        self.stack.clear();
        self.stack.push(0);
        while let Some(at) = self.stack.pop() {
            let cell = &tree.cells[at as usize];
            let [x, y] = cell.centre;
            let dx = (lower[0] - x).max(x - upper[0]).max(0.0);
            let dy = (lower[1] - y).max(y - upper[1]).max(0.0);
            if cell.squared_size < theta * theta * (dx * dx + dy * dy) {
                self.push(x, y, cell.mass);
            } else if cell.num_children == 0 {
                for index in cell.start as usize..cell.end as usize {
                    self.push(tree.xs[index], tree.ys[index], 1.0);
                }
            } else {
                for child in cell.first_child..cell.first_child + cell.num_children {
                    self.stack.push(child);
                }
            }
        }
    }

    #[inline]
    fn push(&mut self, x: f32, y: f32, mass: f32) {
        let lane = self.len % LANES;
        if lane == 0 {
            self.lanes.push(SourceLanes::default());
        }
        self.len += 1;
        if let Some(last) = self.lanes.last_mut() {
            last.xs[lane] = x;
            last.ys[lane] = y;
            last.masses[lane] = mass;
        }
    }

    /// Returns the force on a point, and the sum of the weights.
    pub(super) fn act_on(&self, x: f32, y: f32) -> ([f32; 2], f32) {
        let (x, y) = (f32x8::splat(x), f32x8::splat(y));
        let (mut force_x, mut force_y, mut sum) = (f32x8::ZERO, f32x8::ZERO, f32x8::ZERO);
        for source in &self.lanes {
            let (dx, dy) = (x - f32x8::new(source.xs), y - f32x8::new(source.ys));
            let weight = f32x8::ONE / (f32x8::ONE + dx * dx + dy * dy);
            let total = f32x8::new(source.masses) * weight;
            let pull = total * weight;
            sum += total;
            force_x += pull * dx;
            force_y += pull * dy;
        }
        // Lane by lane, as the order of a hardware reduction differs between processors.
        let add = |lanes: f32x8| lanes.to_array().iter().sum::<f32>();
        ([add(force_x), add(force_y)], add(sum))
    }
}
