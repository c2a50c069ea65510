//! Subtrees and rows of a forest like the paper's first case (5,792 trees, 0.9 million vertices), incremental addition
//! of trees, and the full path to scores for more trees.

use std::hint::black_box;

use callgrove_benches::generator::{ForestSpec, Shape, make_forest};
use callgrove_judge::detector::{Detector, DetectorParams, Embedding};
use callgrove_learn::features::{ExcessModel, ExcessParams, Reference, Translation, Windows};
use callgrove_model::{Forest, TreeIdx};
use callgrove_trees::Progress;
use callgrove_trees::dataset::SparseRows;
use callgrove_trees::wl::{
    Relabeler, Siblings, Signature, Subtrees, ValidWlParams, WlParams, relabel,
};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const NUM_TREES: usize = 5_792;
/// Number of trees added at once.
const NUM_NEW: usize = 100;

fn forest(num_trees: usize) -> Forest {
    let (shape, seed) = (Shape::Full, 1);
    make_forest(ForestSpec {
        num_trees,
        shape,
        seed,
    })
    .forest
}

fn settings(signature: Signature, siblings: Siblings) -> ValidWlParams {
    let params = WlParams {
        signature,
        siblings,
        ..WlParams::default()
    };
    params.check().expect("it is valid")
}

fn rows(forest: &Forest, subtrees: &Subtrees) -> SparseRows {
    let params = ExcessParams::default();
    let len = subtrees.vocabulary.len();
    let windows = Windows::new(forest, params.windows_per_lane);
    let reference = Reference::fit(&subtrees.bags, &windows, params.min_class_size);
    let model = ExcessModel::new(params.check().expect("it is valid"), len);
    let rows = model.rows(&subtrees.bags, &reference, &Translation::identity(len));
    rows.expect("times are finite")
}

fn subtrees(forest: &Forest, params: ValidWlParams) -> Subtrees {
    relabel(forest, params, Progress::none()).expect("there are trees")
}

fn wl(criterion: &mut Criterion) {
    let forest = forest(NUM_TREES);
    let mut group = criterion.benchmark_group(format!("wl of {} vertices", forest.num_vertices()));
    group.sample_size(10);
    for (name, signature, siblings) in [
        ("bucketed", Signature::BucketedCounts, Siblings::Unordered),
        ("exact", Signature::Exact, Siblings::Unordered),
        (
            "ordered, bucketed",
            Signature::BucketedCounts,
            Siblings::Ordered,
        ),
        ("ordered, exact", Signature::Exact, Siblings::Ordered),
    ] {
        let params = settings(signature, siblings);
        group.bench_function(name, |bencher| {
            bencher.iter(|| subtrees(black_box(&forest), params));
        });
    }
    let params = settings(Signature::BucketedCounts, Siblings::Unordered);
    let trees: Vec<TreeIdx> = (0..NUM_TREES).map(TreeIdx::from_index).collect();
    let (old, new) = trees.split_at(NUM_TREES - NUM_NEW);
    let mut relabeler = Relabeler::new(params);
    relabeler
        .join(&forest, old, Progress::none())
        .expect("they are shallow");
    group.bench_function(format!("{NUM_NEW} trees join"), |bencher| {
        bencher.iter_batched_ref(
            || relabeler.clone(),
            |relabeler| relabeler.join(&forest, new, Progress::none()),
            BatchSize::LargeInput,
        );
    });
    let found = subtrees(&forest, params);
    group.bench_function("rows of excess and rarity", |bencher| {
        bencher.iter(|| rows(&forest, black_box(&found)));
    });
    group.finish();
}

fn growth(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("growth");
    group.sample_size(10);
    let params = settings(Signature::BucketedCounts, Siblings::Unordered);
    for num_trees in [10_000, 100_000] {
        let forest = forest(num_trees);
        group.bench_function(format!("{num_trees} trees to rows"), |bencher| {
            bencher.iter(|| rows(&forest, &subtrees(black_box(&forest), params)));
        });
        // The example `scaling` trains on more trees, once.
        if num_trees == 10_000 {
            group.bench_function(format!("{num_trees} trees to scores"), |bencher| {
                let params = DetectorParams::default().check().expect("it is valid");
                let labels = vec![None; num_trees];
                bencher.iter(|| {
                    let embedding =
                        Embedding::fit(black_box(&forest), &params, 1, Progress::none())
                            .expect("there are trees");
                    Detector::train(&embedding, &labels, None, Progress::none())
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, wl, growth);
criterion_main!(benches);
