//! Embeddings: their properties, and independence of the number of threads.

use callgrove_learn::stack2vec::{
    Corpus, Objective, OutputLayer, Stack2vec, Stack2vecParams, infer, train,
};
use callgrove_trees::{MlError, Progress};

const NUM_WORDS: usize = 30;

/// Returns three kinds of trees, 40 of each: each kind spends its time in ten words of its own.
fn corpus() -> Corpus {
    let rows = (0..120_u32).map(|tree| {
        let kind = tree % 3;
        (0..10)
            .map(|word| {
                let wobble = f64::from((tree * 7 + word * 13) % 11) / 11.0;
                (10 * kind + word, 1.0 + f64::from(word) + wobble)
            })
            .collect()
    });
    Corpus::new(NUM_WORDS, rows)
}

fn params(objective: Objective) -> Stack2vecParams {
    Stack2vecParams {
        dims: 16,
        epochs: 60,
        objective,
        ..Stack2vecParams::default()
    }
}

fn trained(objective: Objective, seed: u64) -> Stack2vec {
    let params = params(objective).check().expect("it is valid");
    train(&corpus(), &params, seed, Progress::none()).expect("it is valid")
}

fn distance(network: &Stack2vec, a: usize, b: usize) -> f32 {
    let difference = &network.vectors.row(a) - &network.vectors.row(b);
    difference.dot(&difference).sqrt()
}

#[test]
fn trees_of_one_kind_are_nearer_to_each_other_than_to_others() {
    for objective in [Objective::FullSoftmax, Objective::NegativeSampling] {
        let network = trained(objective, 1);
        for tree in 0..117 {
            let same = distance(&network, tree, tree + 3);
            let other = distance(&network, tree, tree + 1);
            assert!(
                2.0 * same < other,
                "{objective:?} tree {tree}: {same} {other}"
            );
        }
    }
}

#[test]
fn the_softmax_predicts_the_shares_of_a_tree() {
    let network = trained(Objective::FullSoftmax, 1);
    let hidden: Vec<f64> = network
        .vectors
        .row(4)
        .iter()
        .map(|&x| f64::from(x))
        .collect();
    let predicted = network.output.predict(&hidden);
    assert!((predicted.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    let corpus = corpus();
    let (words, shares) = corpus.row(4);
    for (&word, &share) in words.iter().zip(shares) {
        let share = f64::from(share / callgrove_learn::stack2vec::WEIGHT_PER_TREE);
        assert!(
            (predicted[word as usize] - share).abs() < 0.03,
            "word {word}"
        );
    }
}

#[test]
fn threads_do_not_change_the_result_and_seeds_do() {
    for objective in [Objective::FullSoftmax, Objective::NegativeSampling] {
        let vectors_with = |num_threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(num_threads)
                .build()
                .unwrap();
            pool.install(|| trained(objective, 5))
        };
        let one = vectors_with(1);
        assert_eq!(one, vectors_with(3));
        assert_ne!(one, trained(objective, 6));
    }
}

#[test]
fn a_new_tree_gets_the_vector_of_an_equal_training_tree() {
    let network = trained(Objective::FullSoftmax, 2);
    let all = corpus();
    let rows = [17, 90].map(|tree| {
        let (words, shares) = all.row(tree);
        let entries = words.iter().zip(shares);
        // Shares count, magnitudes do not.
        entries
            .map(|(&word, &share)| (word, 50.0 * f64::from(share)))
            .collect()
    });
    let new = Corpus::new(NUM_WORDS, rows);
    let params = params(Objective::FullSoftmax).check().unwrap();
    let vectors = infer(&network.output, &new, &params, 2, Progress::none()).unwrap();
    for (row, tree) in [17, 90].into_iter().enumerate() {
        let difference = &vectors.row(row) - &network.vectors.row(tree);
        assert!(difference.dot(&difference).sqrt() < 1e-3);
    }
}

#[test]
fn words_of_another_vocabulary_are_refused() {
    let network = trained(Objective::FullSoftmax, 2);
    let params = params(Objective::FullSoftmax).check().unwrap();
    let other = Corpus::new(3, [vec![(0, 1.0)]]);
    let error = infer(&network.output, &other, &params, 2, Progress::none()).unwrap_err();
    assert!(matches!(
        error,
        MlError::LengthMismatch {
            expected: NUM_WORDS,
            found: 3,
            ..
        }
    ));
}

#[test]
fn large_vocabularies_are_sampled_by_default() {
    let mut params = params(Objective::Auto);
    params.epochs = 1;
    let is_softmax = |params: Stack2vecParams| {
        let params = params.check().unwrap();
        train(&corpus(), &params, 1, Progress::none())
            .unwrap()
            .output
            .is_softmax
    };
    assert!(is_softmax(params));
    params.softmax_up_to = NUM_WORDS - 1;
    assert!(!is_softmax(params));
}

#[test]
fn a_tree_without_time_does_not_affect_the_others() {
    let corpus = Corpus::new(2, [vec![(0, 1.0)], vec![(0, 0.0), (1, 0.0)], Vec::new()]);
    for objective in [Objective::FullSoftmax, Objective::NegativeSampling] {
        let params = params(objective).check().unwrap();
        let network = train(&corpus, &params, 1, Progress::none()).unwrap();
        assert!(network.vectors.iter().all(|value| value.is_finite()));
    }
}

#[test]
fn cancelling_stops_the_training() {
    let params = params(Objective::FullSoftmax).check().unwrap();
    let stop = |fraction: f32| {
        if fraction > 0.2 {
            std::ops::ControlFlow::Break(())
        } else {
            std::ops::ControlFlow::Continue(())
        }
    };
    let found = train(&corpus(), &params, 1, Progress::new(&stop));
    assert_eq!(found.unwrap_err(), MlError::Cancelled);
}

#[test]
fn settings_out_of_bounds_are_refused() {
    let plain = Stack2vecParams::default();
    for bad in [
        Stack2vecParams { dims: 0, ..plain },
        Stack2vecParams { epochs: 0, ..plain },
        Stack2vecParams {
            learning_rate: 0.0,
            ..plain
        },
        Stack2vecParams {
            weight_decay: f32::NAN,
            ..plain
        },
        Stack2vecParams {
            num_negatives: 0,
            ..plain
        },
    ] {
        assert!(
            matches!(bad.check(), Err(MlError::InvalidParam { .. })),
            "{bad:?}"
        );
    }
}

#[test]
fn the_vector_of_a_tree_does_not_depend_on_other_trees() {
    let network = trained(Objective::FullSoftmax, 2);
    let all = corpus();
    let params = params(Objective::FullSoftmax).check().unwrap();
    for tree in [0, 17, 119] {
        let (words, shares) = all.row(tree);
        let row = words
            .iter()
            .copied()
            .zip(shares.iter().map(|&share| f64::from(share)));
        let alone = Corpus::new(NUM_WORDS, [row.collect::<Vec<_>>()]);
        let vectors = infer(&network.output, &alone, &params, 9, Progress::none()).unwrap();
        assert_eq!(vectors.row(0), network.vectors.row(tree));
    }
}

#[test]
fn small_moves_of_a_vector_hardly_lower_the_loss() {
    let network = trained(Objective::FullSoftmax, 3);
    let corpus = corpus();
    let decay = f64::from(params(Objective::FullSoftmax).weight_decay);
    let loss = |tree: usize, hidden: &[f64]| {
        let predicted = network.output.predict(hidden);
        let (words, shares) = corpus.row(tree);
        let terms = words.iter().zip(shares);
        let miss: f64 = terms
            .map(|(&word, &share)| -f64::from(share) * predicted[word as usize].ln())
            .sum();
        miss + 0.5 * decay * hidden.iter().map(|x| x * x).sum::<f64>()
    };
    for tree in [3, 40, 101] {
        let vector = network.vectors.row(tree);
        let hidden: Vec<f64> = vector.iter().map(|&x| f64::from(x)).collect();
        let least = loss(tree, &hidden);
        for index in 0..hidden.len() {
            for by in [-0.1, 0.1] {
                let mut moved = hidden.clone();
                moved[index] += by;
                assert!(loss(tree, &moved) > least - 0.05, "tree {tree}, {index}");
            }
        }
    }
}

#[test]
fn refuses_an_output_layer_with_too_many_numbers() {
    let layer = OutputLayer {
        dims: 1 << (usize::BITS - 1),
        vectors: Vec::new(),
        offsets: vec![0.0; 2],
        is_softmax: true,
    };
    let error = layer.check().unwrap_err();
    assert!(matches!(error, MlError::DamagedModel { .. }));
}
