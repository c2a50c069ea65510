//! Trees whose weights are not times: unknown names and edges, a missing part, and deep nesting are found.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use callgrove_evaluate::baselines::local_outlier_factors;
use callgrove_forest::{ForestBuilder, PlainTree, Weights};
use callgrove_judge::detector::{Detector, DetectorParams, Embedding};
use callgrove_learn::metrics::ranking_quality;
use callgrove_model::{Forest, FuncId, Progress, RankId, TreeIdx, WeightUnit};
use callgrove_trees::dataset::{DenseRows, Rows};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NUM_TREES: u32 = 800;
/// Number of neighbours of the local outlier factor, scikit-learn's default.
const NEIGHBOURS: usize = 20;

/// A kind of damage to a tree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Damage {
    UnknownName,
    UnknownEdge,
    MissingPart,
    Nesting,
}

const DAMAGES: [Damage; 4] = [
    Damage::UnknownName,
    Damage::UnknownEdge,
    Damage::MissingPart,
    Damage::Nesting,
];

/// A tree under construction.
#[derive(Default)]
struct Draft {
    parent: Vec<i64>,
    names: Vec<&'static str>,
    weight: Vec<i64>,
}

impl Draft {
    fn add(&mut self, parent: i64, name: &'static str, weight: i64) -> i64 {
        self.parent.push(parent);
        self.names.push(name);
        self.weight.push(weight * 1_000);
        self.parent.len() as i64 - 1
    }
}

/// Returns a letter: paragraphs with phrases, lists with items that may hold lists, and parts that are always
/// present.
fn letter(rng: &mut ChaCha8Rng, damage: Option<Damage>) -> Draft {
    let mut draft = Draft::default();
    let root = draft.add(-1, "letter", 5);
    let head = draft.add(root, "head", 8);
    draft.add(head, "sender", rng.random_range(10..40));
    draft.add(head, "date", 8);
    let body = draft.add(root, "body", 3);
    let mut lists = Vec::new();
    for _ in 0..rng.random_range(2..7) {
        if rng.random_bool(0.7) {
            let paragraph = draft.add(body, "paragraph", rng.random_range(20..200));
            for _ in 0..rng.random_range(0..4) {
                let name = if rng.random_bool(0.5) {
                    "phrase"
                } else {
                    "link"
                };
                draft.add(paragraph, name, rng.random_range(3..30));
            }
        } else {
            let list = draft.add(body, "list", 2);
            for _ in 0..rng.random_range(2..9) {
                let item = draft.add(list, "item", rng.random_range(5..50));
                if rng.random_bool(0.15) {
                    lists.push(draft.add(item, "list", 2));
                    draft.add(*lists.last().unwrap(), "item", rng.random_range(5..50));
                }
            }
        }
    }
    match damage {
        Some(Damage::UnknownName) => {
            draft.add(body, "macro", 20);
        }
        Some(Damage::UnknownEdge) => {
            draft.add(head, "link", 20);
        }
        Some(Damage::Nesting) => {
            let mut above = body;
            for _ in 0..6 {
                let list = draft.add(above, "list", 2);
                above = draft.add(list, "item", 20);
            }
        }
        Some(Damage::MissingPart) | None => {}
    }
    if damage != Some(Damage::MissingPart) {
        draft.add(root, "signature", rng.random_range(5..20));
    }
    draft
}

fn letters(seed: u64) -> (Forest, Vec<Option<Damage>>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let unit = WeightUnit::Other("letters".to_owned());
    let mut builder = ForestBuilder::new(Weights::Own).with_unit(unit);
    let mut damages = Vec::new();
    for id in 0..NUM_TREES {
        let at = usize::try_from(id / 25).unwrap() % DAMAGES.len();
        let damage = (id % 25 == 7).then_some(DAMAGES[at]);
        let draft = letter(&mut rng, damage);
        let func: Vec<FuncId> = draft
            .names
            .iter()
            .map(|name| builder.intern(name))
            .collect();
        let tree = PlainTree {
            id,
            rank: RankId(0),
            entry: None,
            label: None,
            parent: &draft.parent,
            func: &func,
            weight: &draft.weight,
        };
        builder.push(&tree).unwrap();
        damages.push(damage);
    }
    (builder.finish().forest, damages)
}

/// Returns ln(1 + count) of names and edges, in standard deviations.
fn counts(forest: &Forest) -> Rows {
    let mut columns: BTreeMap<(Option<FuncId>, FuncId), usize> = BTreeMap::new();
    let mut bags: Vec<BTreeMap<usize, f64>> = Vec::new();
    for tree in 0..forest.len() {
        let tree = forest.tree(TreeIdx::from_index(tree));
        let mut bag: BTreeMap<usize, f64> = BTreeMap::new();
        for (vertex, &func) in tree.funcs().iter().enumerate() {
            let parent = tree.parent(vertex).map(|parent| tree.funcs()[parent]);
            for key in [(None, func), (parent, func)] {
                let next = columns.len();
                *bag.entry(*columns.entry(key).or_insert(next)).or_default() += 1.0;
            }
        }
        bags.push(bag);
    }
    let num = bags.len() as f64;
    let width = columns.len();
    let mut values = vec![0.0; bags.len() * width];
    for column in 0..width {
        let of = |bag: &BTreeMap<usize, f64>| bag.get(&column).map_or(0.0, |it| it.ln_1p());
        let mean = bags.iter().map(of).sum::<f64>() / num;
        let variance = bags.iter().map(|bag| (of(bag) - mean).powi(2)).sum::<f64>() / num;
        for (row, bag) in bags.iter().enumerate() {
            values[row * width + column] = (of(bag) - mean) / (variance.sqrt() + 1e-9);
        }
    }
    Rows::Dense(DenseRows::new(width, values).unwrap())
}

/// Returns the average precision of one kind of damage against all undamaged trees.
fn average_precision(damages: &[Option<Damage>], damage: Damage, anomaly: &[f64]) -> f64 {
    let looked_at = damages.iter().zip(anomaly);
    let looked_at = looked_at.filter(|(known, _)| known.is_none_or(|known| known == damage));
    let (is_damaged, anomaly): (Vec<bool>, Vec<f64>) = looked_at
        .map(|(known, anomaly)| (known.is_some(), *anomaly))
        .unzip();
    ranking_quality(&is_damaged, &anomaly)
        .unwrap()
        .average_precision
}

#[test]
fn odd_parts_are_found_at_least_as_well_as_by_lof_on_counts() {
    for seed in [5, 6] {
        let (forest, damages) = letters(seed);
        let params = DetectorParams::default().check().unwrap();
        let embedding = Embedding::fit(&forest, &params, 1, Progress::none()).unwrap();
        let no_labels = vec![None; forest.len()];
        let detector = Detector::train(&embedding, &no_labels, None, Progress::none()).unwrap();
        let ours: Vec<f64> = detector.scores().iter().map(|score| -score).collect();
        let lof = local_outlier_factors(&counts(&forest), NEIGHBOURS, Progress::none()).unwrap();
        let found = DAMAGES.map(|damage| {
            [&ours, &lof].map(|anomaly| average_precision(&damages, damage, anomaly))
        });
        assert!(
            found.iter().all(|[ours, _]| *ours >= 0.95),
            "{seed}: {found:?}"
        );
        let sum = |at: usize| found.iter().map(|it| it[at]).sum::<f64>();
        assert!(sum(0) >= sum(1), "{seed}: {found:?}");
    }
}
