//! Compares training of the one-class SVM on all trees of a forest with training on anchors. Usage: `cargo run
//! --release -p callgrove-benches --example anchors`, optionally with forests such as `small:50000 full:30000`. It
//! prints CPU seconds, support vectors, Spearman's rank correlation of the scores, the number of trees that the exact
//! SVM judges abnormal (by a score below 0, and by a p-value of at most .01), and the number of trees that the SVM on
//! anchors judges differently.

use std::error::Error;

use callgrove_benches::generator::{ForestSpec, Shape, make_forest};
use callgrove_benches::meter::cpu_seconds;
use callgrove_judge::detector::{DetectorParams, Embedding};
use callgrove_learn::ocsvm::{Anchors, Trained, train, train_on_anchors};
use callgrove_trees::Progress;

/// The compared forests by default: shape and number of trees.
const FORESTS: [&str; 4] = ["small:10000", "full:30000", "small:100000", "full:100000"];
/// Maximum p-value of a score that counts as abnormal.
const MAX_P_VALUE: f64 = 0.01;
/// Maximum number of anchors.
const NUM_ANCHORS: usize = 4_096;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "      forest  anchors  exact s  anchors s  vectors  of anchors  correlation  abnormal  differ  \
         p≤.01  differ"
    );
    let args: Vec<String> = std::env::args().skip(1).collect();
    let forests: Vec<&str> = args.iter().map(String::as_str).collect();
    for forest in if forests.is_empty() {
        &FORESTS[..]
    } else {
        &forests
    } {
        let (shape, num_trees) = forest.split_once(':').unwrap_or(("full", forest));
        let small = shape == "small";
        compare(
            forest,
            ForestSpec {
                num_trees: num_trees.parse()?,
                shape: if small { Shape::Small } else { Shape::Full },
                seed: 1,
            },
        )?;
    }
    Ok(())
}

fn compare(name: &str, spec: ForestSpec) -> Result<(), Box<dyn Error>> {
    let params = DetectorParams::default();
    let forest = make_forest(spec).forest;
    let embedding = Embedding::fit(&forest, &params.check()?, 1, Progress::none())?;
    let (rows, prior, ocsvm) = (embedding.rows(), embedding.prior(), embedding.ocsvm());
    let (exact, exact_seconds) = cpu_seconds(|| train(rows, prior, ocsvm, None, Progress::none()));
    let exact = exact?;
    let anchors = Anchors::choose(rows, prior, params.nu, NUM_ANCHORS);
    let (anchored, anchored_seconds) =
        cpu_seconds(|| train_on_anchors(rows, prior, &anchors, &[], ocsvm, None, Progress::none()));
    let anchored = anchored?;
    let is_below = |trained: &Trained| -> Vec<bool> {
        trained.scores().iter().map(|&it| it < -1e-6).collect()
    };
    let is_found = |trained: &Trained| -> Vec<bool> {
        let ln_p = trained
            .scores()
            .iter()
            .map(|&score| embedding.svm_tail().ln_p(score));
        ln_p.map(|ln_p| ln_p <= MAX_P_VALUE.ln()).collect()
    };
    let (below, differ_below) = count(&is_below(&exact), &is_below(&anchored));
    let (found, differ_found) = count(&is_found(&exact), &is_found(&anchored));
    println!(
        "{name:>12} {:>8} {exact_seconds:>8.2} {anchored_seconds:>10.2} {:>8} {:>11} {:>12.6} {below:>9} \
         {differ_below:>7} {found:>6} {differ_found:>7}",
        anchors.len(),
        exact.model(rows).support.len(),
        anchored.model(rows).support.len(),
        correlation(&ranks(exact.scores()), &ranks(anchored.scores())),
    );
    Ok(())
}

/// Returns the number of `true`s in the first list, and the number of differences between the lists.
fn count(first: &[bool], second: &[bool]) -> (usize, usize) {
    let differ = first.iter().zip(second).filter(|(a, b)| a != b);
    (first.iter().filter(|&&it| it).count(), differ.count())
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    for (rank, place) in order.into_iter().enumerate() {
        ranks[place] = rank as f64;
    }
    ranks
}

/// Returns Pearson's correlation; both lists are permutations of each other.
fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = a.iter().sum::<f64>() / a.len() as f64;
    let products = a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean));
    let squares = a.iter().map(|a| (a - mean) * (a - mean));
    products.sum::<f64>() / squares.sum::<f64>()
}
