//! The repelling part of the gradient, by cells.

use rayon::prelude::*;

use super::quadtree::{Cell, Quadtree};

/// Points that are summed up side by side; the compiler turns them into vector instructions.
const LANES: usize = 8;

/// Σ_j w_ij² (y_i − y_j) for each point i, and Z = Σ_i Σ_(j ≠ i) w_ij; w = 1 / (1 + |y_i − y_j|²).
#[derive(Clone, Debug, Default)]
pub(super) struct Repulsion {
    pub(super) forces: Vec<[f32; 2]>,
    pub(super) normaliser: f64,
}

/// What repels the points of a leaf: cells and single points, with how many points they stand for.
/// Filled up to whole lanes with some that stand for none.
#[derive(Default)]
pub(super) struct Sources {
    xs: Vec<[f32; LANES]>,
    ys: Vec<[f32; LANES]>,
    masses: Vec<[f32; LANES]>,
    len: usize,
    stack: Vec<u32>,
}

impl Repulsion {
    /// A cell acts as one point for all points of a leaf if its size is at most `theta` times its
    /// distance from the box around the leaf's points.
    ///
    /// That is stricter than to ask for each point, as Barnes and Hut do, and each leaf needs only one
    /// walk through the tree; the sums then run over plain arrays.
    pub(super) fn of(tree: &Quadtree, theta: f32) -> Self {
        let by_leaf: Vec<(Vec<[f32; 2]>, f64)> = tree
            .leaves
            .par_iter()
            .with_min_len(8)
            .map_init(Sources::default, |sources, &leaf| {
                let leaf = tree.cells[leaf as usize];
                sources.collect(tree, leaf.lower, leaf.upper, theta);
                let mut normaliser = 0.0;
                let forces = (leaf.start as usize..leaf.end as usize).map(|place| {
                    let (force, sum) = sources.act_on([tree.xs[place], tree.ys[place]]);
                    // Its own weight is 1.
                    normaliser += f64::from(sum) - 1.0;
                    force
                });
                (forces.collect(), normaliser)
            })
            .collect();
        let mut forces = vec![[0.0; 2]; tree.order.len()];
        let mut normaliser = 0.0;
        for (&leaf, (leaf_forces, sum)) in tree.leaves.iter().zip(&by_leaf) {
            let Cell { start, end, .. } = tree.cells[leaf as usize];
            for (&point, &force) in tree.order[start as usize..end as usize]
                .iter()
                .zip(leaf_forces)
            {
                forces[point as usize] = force;
            }
            normaliser += sum;
        }
        Self { forces, normaliser }
    }
}

impl Sources {
    /// Walks through the tree for the points within a box.
    pub(super) fn collect(
        &mut self,
        tree: &Quadtree,
        lower: [f32; 2],
        upper: [f32; 2],
        theta: f32,
    ) {
        self.clear();
        self.stack.push(0);
        while let Some(at) = self.stack.pop() {
            let cell = &tree.cells[at as usize];
            let [dx, dy] = [0, 1].map(|axis| {
                (lower[axis] - cell.centre[axis])
                    .max(cell.centre[axis] - upper[axis])
                    .max(0.0)
            });
            if cell.squared_size < theta * theta * (dx * dx + dy * dy) {
                self.push(cell.centre, cell.mass);
            } else if cell.num_children == 0 {
                for place in cell.start as usize..cell.end as usize {
                    self.push([tree.xs[place], tree.ys[place]], 1.0);
                }
            } else {
                self.stack
                    .extend(cell.first_child..cell.first_child + cell.num_children);
            }
        }
    }

    fn clear(&mut self) {
        self.xs.clear();
        self.ys.clear();
        self.masses.clear();
        self.len = 0;
        self.stack.clear();
    }

    fn push(&mut self, [x, y]: [f32; 2], mass: f32) {
        let lane = self.len % LANES;
        if lane == 0 {
            self.xs.push([0.0; LANES]);
            self.ys.push([0.0; LANES]);
            self.masses.push([0.0; LANES]);
        }
        let last = self.len / LANES;
        self.xs[last][lane] = x;
        self.ys[last][lane] = y;
        self.masses[last][lane] = mass;
        self.len += 1;
    }

    /// The force on a point, and the sum of the weights.
    pub(super) fn act_on(&self, [x, y]: [f32; 2]) -> ([f32; 2], f32) {
        let (mut force_x, mut force_y, mut sum) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for ((xs, ys), masses) in self.xs.iter().zip(&self.ys).zip(&self.masses) {
            for lane in 0..LANES {
                let (dx, dy) = (x - xs[lane], y - ys[lane]);
                let weight = 1.0 / (1.0 + dx * dx + dy * dy);
                let total = masses[lane] * weight;
                let pull = total * weight;
                sum[lane] += total;
                force_x[lane] += pull * dx;
                force_y[lane] += pull * dy;
            }
        }
        let add = |lanes: [f32; LANES]| lanes.iter().sum::<f32>();
        ([add(force_x), add(force_y)], add(sum))
    }
}
