//! Neighbours and maps of 5,792 rows of 128 numbers.

use std::hint::black_box;

use callgrove_map::knn::all_nearest;
use callgrove_map::projection::{
    Affinities, MdsParams, Smacof, Tsne, TsneParams, landmark_mds, pivot_mds, tsne_start,
};
use callgrove_trees::Progress;
use callgrove_trees::dataset::{DenseRows, Rows};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const NUM_ROWS: usize = 5_792;
const NUM_COLUMNS: usize = 128;
const NUM_GROUPS: usize = 40;

/// Returns groups of rows with different sizes and widths, along a few directions each.
fn rows() -> Rows {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut vector = |size: f64| -> Vec<f64> {
        (0..NUM_COLUMNS)
            .map(|_| size * (rng.random::<f64>() - 0.5))
            .collect()
    };
    let groups: Vec<[Vec<f64>; 3]> = (0..NUM_GROUPS)
        .map(|group| [vector(4.0), vector(1.0 + group as f64 / 10.0), vector(1.0)])
        .collect();
    let mut values = Vec::with_capacity(NUM_ROWS * NUM_COLUMNS);
    for row in 0..NUM_ROWS {
        let [centre, first, second] = &groups[row * row % (NUM_GROUPS - row % 7)];
        let [a, b] = [(row as f64).sin(), (row as f64 * 1.7).sin()];
        let noise = vector(0.2);
        values.extend(
            (0..NUM_COLUMNS).map(|column| {
                centre[column] + a * first[column] + b * second[column] + noise[column]
            }),
        );
    }
    Rows::Dense(DenseRows::new(NUM_COLUMNS, values).expect("finite"))
}

fn neighbours(criterion: &mut Criterion) {
    let rows = rows();
    let mut group = criterion.benchmark_group("all nearest");
    group.sample_size(10);
    for k in [10, 90] {
        group.bench_function(format!("k = {k}"), |bencher| {
            bencher.iter(|| all_nearest(black_box(&rows), k, Progress::none()));
        });
    }
    group.finish();
}

fn maps(criterion: &mut Criterion) {
    let rows = rows();
    let params = MdsParams::default().check().expect("defaults are valid");
    let mut group = criterion.benchmark_group("maps");
    group.sample_size(10);
    group.bench_function("landmark scaling", |bencher| {
        bencher.iter(|| landmark_mds(black_box(&rows), params, 1, Progress::none()));
    });
    group.bench_function("pivot scaling", |bencher| {
        bencher.iter(|| pivot_mds(black_box(&rows), params, 1, Progress::none()));
    });
    let start = pivot_mds(&rows, params, 1, Progress::none()).expect("not cancelled");
    let start = start.points;
    let smacof = Smacof::new(&rows, start.clone(), Progress::none()).expect("it is small enough");
    group.bench_function("one step of stress majorisation", |bencher| {
        bencher.iter_batched(
            || smacof.clone(),
            |mut map| map.step(1, Progress::none()),
            BatchSize::SmallInput,
        );
    });
    let params = TsneParams::default().check().expect("defaults are valid");
    let neighbours = all_nearest(&rows, 90, Progress::none()).expect("not cancelled");
    group.bench_function("affinities of t-SNE", |bencher| {
        bencher.iter(|| Affinities::new(black_box(&neighbours), 30.0));
    });
    let affinities = Affinities::new(&neighbours, 30.0);
    let tsne = Tsne::new(affinities, tsne_start(&start, 1), params).expect("it fits");
    group.bench_function("50 iterations of t-SNE", |bencher| {
        bencher.iter_batched(
            || tsne.clone(),
            |mut map| (0..50).for_each(|_| map.step()),
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, neighbours, maps);
criterion_main!(benches);
