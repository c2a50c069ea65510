//! The detectors on one function's executions of one step: counting, merging into the model, compiling and judging. The
//! target is a few nanoseconds per execution.

use std::hint::black_box;

use callgrove_detect::{Algorithm, FuncModel, Judge, Params, ValidParams};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Executions of a function per step.
const STEP_LEN: usize = 2_000;
/// Executions that the model already contains.
const NUM_KNOWN: usize = 100_000;

/// Returns runtimes in microseconds: long-tailed, typically 1 ms, one in 2,000 ten times as long.
fn times(num: usize, rng: &mut ChaCha8Rng) -> Vec<u64> {
    let time = |_| {
        let factor: f64 = (0..12).map(|_| 0.7 + 0.6 * rng.random::<f64>()).product();
        let outlier = if rng.random::<f64>() < 5e-4 {
            10.0
        } else {
            1.0
        };
        (1_000.0 * factor * outlier) as u64
    };
    (0..num).map(time).collect()
}

fn settings(algorithm: Algorithm) -> ValidParams {
    let params = Params {
        algorithm,
        ..Params::default()
    };
    params.check().expect("the defaults are valid")
}

fn detect(criterion: &mut Criterion) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let before = times(NUM_KNOWN, &mut rng);
    let step = times(STEP_LEN, &mut rng);
    for algorithm in Algorithm::ALL {
        let params = settings(algorithm);
        let mut model = FuncModel::new(&params);
        model.extend(&before);
        let mut part = model.new_part();
        part.extend(&step);
        let judge = Judge::new(&model, &params, None);
        let mut verdicts = Vec::with_capacity(STEP_LEN);

        let mut group = criterion.benchmark_group(format!("{algorithm}, {STEP_LEN} executions"));
        group.throughput(Throughput::Elements(STEP_LEN as u64));
        group.bench_function("count", |bencher| {
            bencher.iter(|| {
                let mut part = model.new_part();
                part.extend(black_box(&step));
                part
            });
        });
        group.bench_function("merge", |bencher| {
            bencher.iter(|| {
                let mut whole = model.clone();
                whole.merge(black_box(&part)).map(|()| whole)
            });
        });
        group.bench_function("compile", |bencher| {
            bencher.iter(|| Judge::new(black_box(&model), &params, None));
        });
        group.bench_function("judge", |bencher| {
            bencher.iter(|| {
                verdicts.clear();
                judge.judge_all(black_box(&step), &mut verdicts);
                verdicts.len()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, detect);
criterion_main!(benches);
