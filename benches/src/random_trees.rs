//! Large trees of random shape: nearly every one has a unique structure.

use callgrove_forest::{ForestBuilder, ForestFile, PlainTree, TreeFault, Weights};
use callgrove_model::{FuncId, RankId};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::generator::FUNCTIONS;

/// Number of trees of one rank.
const TREES_PER_RANK: usize = 50;

/// The random trees to generate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RandomTrees {
    /// Number of trees.
    pub num_trees: usize,
    /// Number of vertices of each, at least 1.
    pub num_vertices: usize,
    /// True if all trees have the shape of the first one.
    pub one_shape: bool,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl RandomTrees {
    /// Returns the forest in memory. The next call is made by the last one, or with a probability of one half by that
    /// one's caller, and so on: 10,000 vertices have about 200 levels. Each vertex has one of 20 functions and an
    /// exclusive time of some microseconds.
    ///
    /// # Errors
    /// [`TreeFault`] for trees without vertices, or more than a lane holds.
    pub fn make(self) -> Result<ForestFile, TreeFault> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut builder = ForestBuilder::new(Weights::Own);
        for name in FUNCTIONS {
            builder.intern(name);
        }
        let (mut parent, mut func): (Vec<i64>, Vec<FuncId>) = (Vec::new(), Vec::new());
        for tree in 0..self.num_trees {
            if tree == 0 || !self.one_shape {
                parent = vec![-1];
                func = vec![FuncId(0)];
                for vertex in 1..self.num_vertices {
                    let mut caller = vertex - 1;
                    while caller > 0 && rng.random_bool(0.5) {
                        caller = parent[caller] as usize;
                    }
                    parent.push(caller as i64);
                    func.push(FuncId(rng.random_range(1..FUNCTIONS.len() as u32)));
                }
            }
            let weight: Vec<i64> = (0..self.num_vertices)
                .map(|_| rng.random_range(1_000..20_000))
                .collect();
            builder.push(&PlainTree {
                id: tree as u32,
                rank: RankId((tree / TREES_PER_RANK) as u32),
                entry: None,
                label: None,
                parent: &parent,
                func: &func,
                weight: &weight,
            })?;
        }
        Ok(builder.finish())
    }
}
