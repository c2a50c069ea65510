//! The attracting part of the gradient, along affinities.

use rayon::prelude::*;
use wide::f32x8;

use super::affinities::Affinities;

/// Number of affinities that are processed at once.
const LANES: usize = 8;
/// Number of rows of one task.
const ROWS_PER_TASK: usize = 256;

/// Affinities in single precision, padded to complete lanes with zeros.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    row_start: Vec<u32>,
    columns: Vec<[u32; LANES]>,
    values: Vec<[f32; LANES]>,
}

impl Edges {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "rows are counted in 32 bits, and 2³² lanes would fill 256 GiB; values are in single precision"
    )]
    pub(super) fn new(affinities: &Affinities) -> Self {
        let mut edges = Self {
            row_start: vec![0],
            columns: Vec::new(),
            values: Vec::new(),
        };
        for row in 0..affinities.num_rows() {
            let (columns, values) = affinities.of(row);
            for (columns, values) in columns.chunks(LANES).zip(values.chunks(LANES)) {
                let lane = |lane: usize| columns.get(lane).copied().unwrap_or(row as u32);
                edges.columns.push(std::array::from_fn(lane));
                let lane = |lane: usize| values.get(lane).map_or(0.0, |&value| value as f32);
                edges.values.push(std::array::from_fn(lane));
            }
            edges.row_start.push(edges.columns.len() as u32);
        }
        edges
    }

    fn of(&self, row: usize) -> impl Iterator<Item = (&[u32; LANES], &[f32; LANES])> {
        let range = self.row_start[row] as usize..self.row_start[row + 1] as usize;
        self.columns[range.clone()].iter().zip(&self.values[range])
    }

    /// Returns Σ_j p_ij w_ij (y_i − y_j) for each point i.
    pub(super) fn forces(&self, points: &[[f32; 2]]) -> Vec<[f32; 2]> {
        let mut forces = vec![[0.0; 2]; points.len()];
        forces
            .par_chunks_mut(ROWS_PER_TASK)
            .enumerate()
            .for_each(|(task, forces)| {
                for (offset, force) in forces.iter_mut().enumerate() {
                    *force = self.force(points, task * ROWS_PER_TASK + offset);
                }
            });
        forces
    }

    fn force(&self, points: &[[f32; 2]], row: usize) -> [f32; 2] {
        let [x, y] = points[row];
        let (x, y) = (f32x8::splat(x), f32x8::splat(y));
        let (mut force_x, mut force_y) = (f32x8::ZERO, f32x8::ZERO);
        for (columns, values) in self.of(row) {
            let (mut xs, mut ys) = ([0.0; LANES], [0.0; LANES]);
            for lane in 0..LANES {
                [xs[lane], ys[lane]] = points[columns[lane] as usize];
            }
            let (dx, dy) = (x - f32x8::new(xs), y - f32x8::new(ys));
            let pull = f32x8::new(*values) / (f32x8::ONE + dx * dx + dy * dy);
            force_x += pull * dx;
            force_y += pull * dy;
        }
        let add = |lanes: f32x8| lanes.to_array().iter().sum();
        [add(force_x), add(force_y)]
    }

    /// Returns Σ p_ij ln(p_ij Z (1 + |y_i − y_j|²)) over all pairs.
    pub(super) fn divergence(&self, points: &[[f64; 2]], normaliser: f64) -> f64 {
        let of_row = |row: usize| {
            let [x, y] = points[row];
            let mut sum = 0.0;
            for (columns, values) in self.of(row) {
                for (&column, &value) in columns
                    .iter()
                    .zip(values)
                    .filter(|(_, value)| **value > 0.0)
                {
                    let [other_x, other_y] = points[column as usize];
                    let squared = (x - other_x).powi(2) + (y - other_y).powi(2);
                    sum +=
                        f64::from(value) * (f64::from(value) * normaliser * (1.0 + squared)).ln();
                }
            }
            sum
        };
        let by_row: Vec<f64> = (0..points.len()).into_par_iter().map(of_row).collect();
        by_row.iter().sum()
    }
}
