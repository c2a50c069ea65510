//! Steps of a solver on an adaptive mesh.

use rand::Rng;

use super::draft::{Grower, WeightedName};

const ADVANCE: WeightedName = WeightedName::new("advance", 5.0, 0.25);
const ESTIMATE: WeightedName = WeightedName::new("estimate_error", 8.0, 0.25);
const REFINE: WeightedName = WeightedName::new("refine", 4.0, 0.25);
const GHOSTS: WeightedName = WeightedName::new("fill_ghosts", 6.0, 0.3);
const WAIT: WeightedName = WeightedName::new("MPI_Waitall", 12.0, 0.6);
const FLUX: WeightedName = WeightedName::new("flux", 40.0, 0.3);
const LIMITER: WeightedName = WeightedName::new("limiter", 7.0, 0.3);
const ENTROPY_FIX: WeightedName = WeightedName::new("entropy_fix", 9.0, 0.3);
const UPDATE: WeightedName = WeightedName::new("update", 22.0, 0.2);
const RESTRICT: WeightedName = WeightedName::new("restrict", 10.0, 0.25);
const REDUCE: WeightedName = WeightedName::new("reduce_dt", 6.0, 0.3);
const ALLREDUCE: WeightedName = WeightedName::new("MPI_Allreduce", 15.0, 0.5);
const HALVE: WeightedName = WeightedName::new("halve_dt", 5.0, 0.3);
const REGRID: WeightedName = WeightedName::new("regrid", 30.0, 0.3);
const TAG: WeightedName = WeightedName::new("tag_cells", 18.0, 0.3);
const BALANCE: WeightedName = WeightedName::new("balance_load", 45.0, 0.4);
const CHECKPOINT: WeightedName = WeightedName::new("checkpoint", 60.0, 0.3);
const WRITE: WeightedName = WeightedName::new("write_block", 35.0, 0.5);
const LOG: WeightedName = WeightedName::new("log_message", 8.0, 0.4);

const MAX_LEVELS: usize = 6;
/// Number of vertices beyond which no patches are added.
const MAX_VERTICES: usize = 500;
/// Steps between two new grids.
const REGRID_EVERY: usize = 20;
/// Steps between two checkpoints.
const CHECKPOINT_EVERY: usize = 75;

/// The roughness of the solution, which determines how deep and wide the mesh is refined.
struct Flow {
    roughness: f64,
}

pub(super) fn grow(grower: &mut Grower<'_>, step: usize) {
    let flow = Flow {
        roughness: (0.4 * grower.log_normal(0.35)).min(0.8),
    };
    let root = grower.root(ADVANCE);
    if step.is_multiple_of(REGRID_EVERY) {
        let regrid = grower.call(root, REGRID);
        for _ in 0..grower.rng.random_range(1..=4_u32) {
            grower.call(regrid, TAG);
        }
        if grower.chance(0.3) {
            grower.call(regrid, BALANCE);
        }
    }
    flow.refine_all(grower, root, 0);
    if grower.chance(0.006) {
        // A step that was too long is repeated in two halves.
        let halve = grower.call(root, HALVE);
        for _ in 0..2 {
            let half = grower.call(halve, ADVANCE);
            flow.refine_all(grower, half, 1);
        }
    }
    grower.stray(LOG, 0.01);
    let reduce = grower.part(root, REDUCE);
    grower.part(reduce, ALLREDUCE);
    if step.is_multiple_of(CHECKPOINT_EVERY) {
        let checkpoint = grower.call(root, CHECKPOINT);
        for _ in 0..grower.heavy_tailed(4.0, 1.2, 60) {
            grower.call(checkpoint, WRITE);
        }
    }
}

impl Flow {
    /// Adds the patches of a level.
    fn refine_all(&self, grower: &mut Grower<'_>, advance: usize, level: usize) {
        grower.part(advance, ESTIMATE);
        let mut num_patches = 2;
        while num_patches < 12 && grower.chance(self.roughness) {
            num_patches += 1;
        }
        for _ in 0..num_patches {
            if grower.len() < MAX_VERTICES {
                self.refine(grower, advance, level);
            }
        }
    }

    /// Adds a patch, and its refinements.
    fn refine(&self, grower: &mut Grower<'_>, advance: usize, level: usize) {
        let num_cells = grower.log_normal(0.25);
        let refine = grower.call_with(advance, REFINE, num_cells);
        if level > 0 || grower.chance(0.6) {
            let ghosts = grower.call(refine, GHOSTS);
            if grower.chance(0.5) {
                grower.call(ghosts, WAIT);
            }
        }
        for _ in 0..grower.rng.random_range(1..=4_u32) {
            let flux = grower.call_with(refine, FLUX, num_cells);
            if grower.chance(0.3) {
                let limiter = grower.call(flux, LIMITER);
                if grower.chance(0.01) {
                    grower.call(limiter, ENTROPY_FIX);
                }
            }
        }
        if level + 1 < MAX_LEVELS && grower.chance(0.5 * self.roughness) {
            let finer = grower.call(refine, ADVANCE);
            self.refine_all(grower, finer, level + 1);
            grower.part(refine, RESTRICT);
        }
        grower.part(refine, UPDATE);
    }
}
