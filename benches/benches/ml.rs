//! The learning code at the size of the paper's first case: 5,792 trees.

use std::hint::black_box;

use callgrove_benches::molecular_dynamics_forest;
use callgrove_judge::detector::{
    Detector, DetectorParams, Embedding, Label, ModelArtifact, TreeModel, Yardstick, order_by_score,
};
use callgrove_learn::stack2vec::{self, Corpus, Objective, Stack2vecParams};
use callgrove_model::Forest;
use callgrove_trees::Progress;
use callgrove_trees::wl::{WlParams, relabel};
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

const NUM_TREES: usize = 5_792;

fn forest() -> Forest {
    molecular_dynamics_forest(NUM_TREES, 1)
}

fn embedding(forest: &Forest) -> Embedding {
    let params = DetectorParams::default()
        .check()
        .expect("defaults are valid");
    Embedding::fit(forest, &params, 1, Progress::none()).expect("there are trees")
}

fn wl(criterion: &mut Criterion) {
    let forest = forest();
    let mut group = criterion.benchmark_group(format!("wl of {} vertices", forest.num_vertices()));
    for (name, params) in [
        ("bucketed", WlParams::default()),
        ("exact", WlParams::paper()),
    ] {
        let params = params.check().expect("it is valid");
        group.bench_function(name, |bencher| {
            bencher.iter(|| relabel(black_box(&forest), params, Progress::none()));
        });
    }
    group.finish();
}

fn stack2vec(criterion: &mut Criterion) {
    let forest = forest();
    let params = WlParams::paper().check().expect("it is valid");
    let subtrees = relabel(&forest, params, Progress::none()).expect("there are trees");
    let len = subtrees.vocabulary.len();
    let corpus = Corpus::from_bags(&subtrees.bags, len, |subtree| subtree.0);
    let mut group = criterion.benchmark_group(format!("stack2vec, {len} subtrees"));
    group.sample_size(10);
    let plain = Stack2vecParams::default();
    for (name, objective, epochs) in [
        ("softmax, default", Objective::FullSoftmax, plain.epochs),
        ("softmax, 50 epochs", Objective::FullSoftmax, 50),
        (
            "negative sampling, 50 epochs",
            Objective::NegativeSampling,
            50,
        ),
    ] {
        let params = Stack2vecParams {
            objective,
            epochs,
            ..plain
        };
        let params = params.check().expect("it is valid");
        group.bench_function(name, |bencher| {
            bencher.iter(|| stack2vec::train(black_box(&corpus), &params, 1, Progress::none()));
        });
        let network = stack2vec::train(&corpus, &params, 1, Progress::none());
        let network = network.expect("there are trees");
        let (words, shares) = corpus.row(7);
        let weights = shares.iter().map(|&share| f64::from(share));
        let one = Corpus::new(len, [words.iter().copied().zip(weights).collect()]);
        group.bench_function(format!("{name}: one new tree"), |bencher| {
            bencher.iter(|| stack2vec::infer(&network.output, &one, &params, 1, Progress::none()));
        });
    }
    group.finish();
}

fn detector(criterion: &mut Criterion) {
    let forest = forest();
    let mut group = criterion.benchmark_group("detector");
    group.sample_size(20);
    group.bench_function("embedding", |bencher| {
        bencher.iter(|| embedding(&forest));
    });
    let embedding = embedding(&forest);
    let none = vec![None; embedding.num_trees()];
    let train = |labels: &[Option<Label>], warm: Option<&Detector>| {
        Detector::train(&embedding, labels, warm, Progress::none()).expect("it is feasible")
    };
    group.bench_function("cold training", |bencher| {
        bencher.iter(|| train(&none, None));
    });
    let plain = train(&none, None);
    for label in [Label::Abnormal, Label::Normal] {
        let mut labels = none.clone();
        labels[order_by_score(plain.scores())[0].index()] = Some(label);
        group.bench_function(format!("one label {label:?} to new scores"), |bencher| {
            bencher.iter_batched(
                || plain.clone(),
                |warm| train(&labels, Some(&warm)),
                BatchSize::SmallInput,
            );
        });
    }
    let model = ModelArtifact::new(&forest, &embedding, &plain, Progress::none())
        .expect("it is not cancelled");
    let model = TreeModel::new(model).expect("it was just made");
    group.bench_function("scores of a saved model", |bencher| {
        bencher.iter(|| model.judge(black_box(&forest), Yardstick::Run, Progress::none()));
    });
    group.finish();
}

criterion_group!(benches, wl, stack2vec, detector);
criterion_main!(benches);
