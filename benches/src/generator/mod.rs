//! Forests of any number of trees, statistically like the paper's first case (Table 2): 16 ranks of a molecular
//! dynamics program, some 150 calls per tree on 5 levels, log-normal times.
//!
//! In each block of 362 steps (5,792 trees) about 2 % of the trees are anomalous, in the ways of [`Kind`]; others are
//! rare by design: the first step, rebuilt neighbour lists, output. Trees are generated one at a time in order of step
//! and rank, so a forest needs no memory beyond what the caller keeps. The same seed gives the same trees; beyond one
//! block, a longer forest starts with the trees of a shorter one.

mod plan;
mod tree;
pub mod varied;

use std::io::{self, Write};

use callgrove_forest::{ForestBuilder, ForestFile, PlainTree, Weights};
use callgrove_model::{Label, RankId, TimeNs};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

pub use plan::{Kind, NUM_RANKS};
pub use tree::{FUNCTIONS, MadeTree, Shape};

use plan::{Plan, STEPS_PER_BLOCK};
use tree::TreeMaker;

/// The forest to generate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ForestSpec {
    /// Number of trees.
    pub num_trees: usize,
    /// The size of the trees.
    pub shape: Shape,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Generates the trees and passes each to `take`.
///
/// # Errors
/// Those of `take`, which end the generation.
pub fn make_trees<E>(
    spec: ForestSpec,
    mut take: impl FnMut(&MadeTree) -> Result<(), E>,
) -> Result<(), E> {
    let mut rng = ChaCha8Rng::seed_from_u64(spec.seed);
    let mut maker = TreeMaker::new(spec.shape, &mut rng);
    let mut clock_ns = [0_i64; NUM_RANKS];
    let mut plan = Plan::default();
    for id in 0..spec.num_trees {
        let (step, rank) = (id / NUM_RANKS, id % NUM_RANKS);
        let step_of_block = step % STEPS_PER_BLOCK;
        if rank == 0 {
            if step_of_block == 0 {
                let trees_left = spec.num_trees - id;
                plan = Plan::draw(&mut rng, trees_left.div_ceil(NUM_RANKS));
            }
            maker.begin_step(&mut rng);
        }
        let kind = plan.kind(step, rank);
        let tree = maker.make(&mut rng, id, step, kind, clock_ns[rank]);
        clock_ns[rank] += tree.inclusive_ns[0] + rng.random_range(200_000..400_000);
        take(tree)?;
    }
    Ok(())
}

/// Returns the forest in memory; anomalies are labelled abnormal, all others normal.
pub fn make_forest(spec: ForestSpec) -> ForestFile {
    let mut builder = ForestBuilder::new(Weights::Inclusive);
    for name in FUNCTIONS {
        builder.intern(name);
    }
    let made = make_trees(spec, |tree| {
        builder.push(&PlainTree {
            id: tree.id,
            rank: RankId(tree.rank),
            entry: Some(TimeNs(tree.entry_ns)),
            label: Some(tree.kind.label()),
            parent: &tree.parent,
            func: &tree.func,
            weight: &tree.inclusive_ns,
        })
    });
    made.expect("parents precede children, times are monotonic, ids are consecutive");
    builder.finish()
}

/// Writes the forest as JSON lines.
///
/// # Errors
/// Those of `out`.
pub fn write_forest(spec: ForestSpec, out: &mut dyn Write) -> io::Result<()> {
    let header = json!({
        "format": "callgrove-forest",
        "version": 1,
        "unit": "ns",
        "functions": FUNCTIONS,
    });
    writeln!(out, "{header}")?;
    make_trees(spec, |tree| {
        let label = if tree.kind.label() == Label::Normal {
            1
        } else {
            -1
        };
        write!(
            out,
            "{{\"id\":{},\"rank\":{},\"entry\":{},\"label\":{label},\"kind\":\"{}\",\"parent\":",
            tree.id,
            tree.rank,
            tree.entry_ns,
            tree.kind.name()
        )?;
        serde_json::to_writer(&mut *out, &tree.parent)?;
        out.write_all(b",\"fn\":")?;
        serde_json::to_writer(&mut *out, &tree.func)?;
        out.write_all(b",\"w\":")?;
        serde_json::to_writer(&mut *out, &tree.inclusive_ns)?;
        out.write_all(b"}\n")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callgrove_forest::{ForestFileLimits, read_forest};
    use callgrove_trees::Progress;
    use callgrove_trees::wl::{WlParams, relabel};

    use super::*;

    const BLOCK: usize = NUM_RANKS * STEPS_PER_BLOCK;

    fn spec(num_trees: usize, shape: Shape) -> ForestSpec {
        ForestSpec {
            num_trees,
            shape,
            seed: 1,
        }
    }

    fn subtrees(file: &ForestFile) -> callgrove_trees::wl::Subtrees {
        let params = WlParams::paper().check().unwrap();
        relabel(&file.forest, params, Progress::none()).unwrap()
    }

    #[test]
    fn a_block_is_like_the_papers_first_case() {
        let file = make_forest(spec(BLOCK, Shape::Full));
        let forest = &file.forest;
        assert_eq!(forest.len(), 5_792);
        let num_vertices = forest.num_vertices();
        assert!((840_000..960_000).contains(&num_vertices), "{num_vertices}");
        let num_subtrees = subtrees(&file).vocabulary.len();
        assert!((700..1_000).contains(&num_subtrees), "{num_subtrees}");
        let mut num_of_kind: BTreeMap<Kind, usize> = BTreeMap::new();
        make_trees(spec(BLOCK, Shape::Full), |tree| {
            *num_of_kind.entry(tree.kind).or_default() += 1;
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(num_of_kind.len(), 10, "{num_of_kind:?}");
        assert_eq!(
            (num_of_kind[&Kind::Init], num_of_kind[&Kind::Output]),
            (16, 64)
        );
        let num_abnormal = file
            .labels
            .iter()
            .filter(|&&it| it == Some(Label::Abnormal));
        assert!((90..150).contains(&num_abnormal.count()));
    }

    #[test]
    fn a_written_forest_is_read_back_equal() {
        for shape in [Shape::Small, Shape::Full] {
            let spec = spec(500, shape);
            let mut text = Vec::new();
            write_forest(spec, &mut text).unwrap();
            let read =
                read_forest(&text[..], 0, ForestFileLimits::default(), Progress::none()).unwrap();
            let made = make_forest(spec);
            assert_eq!(read.labels, made.labels);
            assert_eq!(subtrees(&read), subtrees(&made));
        }
    }

    #[test]
    fn a_longer_forest_starts_with_the_shorter_one() {
        let trees = |num_trees| {
            let mut trees = Vec::new();
            make_trees(spec(num_trees, Shape::Small), |tree| {
                trees.push(tree.clone());
                Ok::<(), ()>(())
            })
            .unwrap();
            trees
        };
        let (short, long) = (trees(BLOCK), trees(BLOCK + 100));
        assert_eq!(short[..], long[..BLOCK]);
    }
}
