//! Forests in which hardly any two trees are equal, with planted anomalies and their truth.
//!
//! Normal trees vary by design, in structure and in weights, and some are rare: being unusual alone does not make a
//! tree an anomaly. Each kind of [`Planted`] anomaly is in 1 % of the trees. Trees belong to four ranks in turn and
//! follow each other in time. The same family, number and seed give the same forest.

mod draft;
mod family;
mod planting;
mod recursive;
mod reply;
mod workflow;

use std::error::Error;
use std::io::{self, Write};

use callgrove_evaluate::evaluate::{Class, Truth};
use callgrove_forest::{ForestBuilder, ForestFile, PlainTree, Weights};
use callgrove_model::{FuncId, RankId, TimeNs};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

pub use family::Family;
pub use planting::Planted;

use draft::{Draft, Grower, NameMedians, log_normal};

const NUM_RANKS: usize = 4;
/// Standard deviation of the logarithm of the loads of ranks and of trees, which scale all weights of a tree.
const LOAD_DEVIATION: f64 = 0.12;

/// A forest of one family.
#[derive(Clone, PartialEq, Debug)]
pub struct VariedForest {
    family: Family,
    names: Vec<String>,
    trees: Vec<VariedTree>,
}

#[derive(Clone, PartialEq, Debug)]
struct VariedTree {
    entry: i64,
    planted: Option<Planted>,
    parent: Vec<i64>,
    func: Vec<FuncId>,
    own: Vec<i64>,
}

impl VariedForest {
    /// Generates a forest.
    pub fn make(family: Family, num_trees: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut words = NameMedians::default();
        let grow = family.program(&mut rng);
        let rank_load = [0; NUM_RANKS].map(|_| log_normal(&mut rng, LOAD_DEVIATION));
        let mut drafts: Vec<Draft> = (0..num_trees)
            .map(|tree| {
                let load = rank_load[tree % NUM_RANKS] * log_normal(&mut rng, LOAD_DEVIATION);
                let mut grower = Grower::new(&mut rng, &mut words, load);
                grow(&mut grower, tree / NUM_RANKS);
                grower.finish()
            })
            .collect();
        let planted = planting::plant(&mut rng, &mut words, &mut drafts);
        let scale = family.scale();
        let mut clock = [0; NUM_RANKS];
        let trees = drafts.into_iter().zip(planted).enumerate();
        let trees = trees.map(|(tree, (draft, planted))| {
            let entry = clock[tree % NUM_RANKS];
            let whole = |own: &f64| ((own * scale.per_median) as i64).max(1);
            let own: Vec<i64> = draft.own.iter().map(whole).collect();
            clock[tree % NUM_RANKS] += own.iter().sum::<i64>()
                + (scale.per_median * rng.random_range(10.0..1_000.0)) as i64;
            VariedTree {
                entry,
                planted,
                parent: draft.parent,
                func: draft.func,
                own,
            }
        });
        Self {
            family,
            trees: trees.collect(),
            names: words.into_names(),
        }
    }

    /// Returns the forest, and the kind of its trees: one for each of [`Planted::ALL`].
    ///
    /// # Errors
    /// Those of [`Truth::new`], if there are no trees; those of [`ForestBuilder::push`] do not occur.
    pub fn to_forest(&self) -> Result<(ForestFile, Truth), Box<dyn Error>> {
        let mut builder = ForestBuilder::new(Weights::Own);
        for name in &self.names {
            builder.intern(name);
        }
        let trees = self.trees.iter().enumerate();
        let to_ns = self.family.scale().ns_per_unit;
        for (id, tree) in trees {
            let own_ns: Vec<i64> = tree.own.iter().map(|own| own * to_ns).collect();
            builder.push(&PlainTree {
                id: id as u32,
                rank: RankId((id % NUM_RANKS) as u32),
                entry: Some(TimeNs(tree.entry * to_ns)),
                label: None,
                parent: &tree.parent,
                func: &tree.func,
                weight: &own_ns,
            })?;
        }
        // A forest is ordered by rank.
        let of_rank = |rank| self.trees.iter().skip(rank).step_by(NUM_RANKS);
        let classes = (0..NUM_RANKS).flat_map(of_rank).map(|tree| {
            let kind = tree.planted.map(|planted| planted as usize);
            kind.map_or(Class::Negative, Class::Positive)
        });
        let kinds = Planted::ALL.map(|planted| planted.name().to_owned());
        let truth = Truth::new(classes.collect(), kinds.to_vec())?;
        Ok((builder.finish(), truth))
    }

    /// Writes the forest as JSON lines, without its truth.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let header = json!({
            "format": "callgrove-forest",
            "version": 1,
            "unit": self.family.scale().unit,
            "weights": "own",
            "functions": self.names,
        });
        writeln!(out, "{header}")?;
        let trees = self.trees.iter().enumerate();
        for (id, tree) in trees {
            let line = json!({
                "id": id,
                "rank": id % NUM_RANKS,
                "entry": tree.entry,
                "parent": tree.parent,
                "fn": tree.func,
                "w": tree.own,
            });
            writeln!(out, "{line}")?;
        }
        Ok(())
    }

    /// Writes the truth as CSV: `rank,index,label`, where the label is `normal` or the name of the planted anomaly.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_truth(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "rank,index,label")?;
        let trees = self.trees.iter().enumerate();
        for (id, tree) in trees {
            let label = tree.planted.map_or("normal", Planted::name);
            writeln!(out, "{},{},{label}", id % NUM_RANKS, id / NUM_RANKS)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use callgrove_forest::{ForestFileLimits, read_forest};
    use callgrove_trees::Progress;

    use super::*;

    const NUM_TREES: usize = 2_000;

    fn forests() -> impl Iterator<Item = VariedForest> {
        Family::ALL
            .into_iter()
            .map(|family| VariedForest::make(family, NUM_TREES, 1))
    }

    /// Returns a tree without its weights; equal for any order of siblings.
    fn structure(tree: &VariedTree) -> String {
        let mut texts: Vec<Vec<String>> = vec![Vec::new(); tree.parent.len()];
        for vertex in (0..tree.parent.len()).rev() {
            texts[vertex].sort();
            let text = format!("{}({})", tree.func[vertex].0, texts[vertex].join(" "));
            match usize::try_from(tree.parent[vertex]) {
                Ok(parent) => texts[parent].push(text),
                Err(_) => return text,
            }
        }
        String::new()
    }

    fn pairs(tree: &VariedTree) -> impl Iterator<Item = (FuncId, FuncId)> {
        let parents = tree.parent.iter().zip(&tree.func);
        parents.filter_map(|(&parent, &func)| {
            let parent = usize::try_from(parent).ok()?;
            Some((tree.func[parent], func))
        })
    }

    #[test]
    fn hardly_any_trees_are_equal_and_each_kind_is_in_one_of_a_hundred() {
        for forest in forests() {
            let structures: BTreeSet<String> = forest.trees.iter().map(structure).collect();
            let share = structures.len() as f64 / NUM_TREES as f64;
            assert!(share > 0.4, "{:?} {share}", forest.family);
            let mut counts: BTreeMap<Planted, usize> = BTreeMap::new();
            for planted in forest.trees.iter().filter_map(|tree| tree.planted) {
                *counts.entry(planted).or_default() += 1;
            }
            assert_eq!(
                counts,
                Planted::ALL.map(|kind| (kind, NUM_TREES / 100)).into()
            );
        }
    }

    #[test]
    fn only_an_unusual_path_has_a_pair_that_no_normal_tree_has() {
        for forest in forests() {
            let normal = forest.trees.iter().filter(|tree| tree.planted.is_none());
            let usual: BTreeSet<(FuncId, FuncId)> = normal.flat_map(pairs).collect();
            let with_path = forest.trees.iter();
            let with_path = with_path.filter(|tree| tree.planted == Some(Planted::Path));
            for tree in with_path {
                assert!(pairs(tree).any(|pair| !usual.contains(&pair)));
            }
        }
    }

    #[test]
    fn a_written_forest_is_read_back_equal() {
        for forest in forests() {
            let (made, truth) = forest.to_forest().unwrap();
            let mut text = Vec::new();
            forest.write(&mut text).unwrap();
            let read =
                read_forest(&text[..], 0, ForestFileLimits::default(), Progress::none()).unwrap();
            let shape = |file: &ForestFile| {
                let lanes = file.forest.trace().lanes.iter();
                let columns = lanes.map(|lane| {
                    let columns = &lane.executions;
                    (
                        columns.func.clone(),
                        columns.parent.clone(),
                        columns.inclusive.clone(),
                    )
                });
                columns.collect::<Vec<_>>()
            };
            assert_eq!(shape(&read), shape(&made));
            let mut csv = Vec::new();
            forest.write_truth(&mut csv).unwrap();
            let csv = String::from_utf8(csv).unwrap();
            let count = |word: &str| csv.lines().filter(|line| line.ends_with(word)).count();
            assert_eq!(count(",normal"), truth.num_negative());
            assert_eq!(
                count(",missing"),
                truth.num_of_kind(Planted::Missing as usize)
            );
        }
    }

    #[test]
    fn a_seed_determines_the_forest() {
        for family in Family::ALL {
            let make = |seed| VariedForest::make(family, 300, seed);
            assert_eq!(make(1), make(1));
            assert_ne!(make(1), make(2));
        }
    }
}
