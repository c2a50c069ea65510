//! Measures how learning scales with the forest: one row per forest with CPU seconds of each stage and memory. `cargo
//! run --release -p callgrove-benches --example scaling`, or with a list of forests such as `small:200000 full:5000
//! random:200 same:200`, or with a forest file.
//!
//! `small` and `full` are trees of a molecular dynamics program with 25 and 155 calls, `random` and `same` trees of
//! 10,000 calls, each of its own random shape or all of one shape. "whole" is the time from the forest to scores and
//! decision boundary, "svm" its remainder after the stages that are measured separately. Memory is that of the process
//! with the forest alone, and the peak over the whole path.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use callgrove_benches::RandomTrees;
use callgrove_benches::generator::{ForestSpec, Shape, make_forest};
use callgrove_benches::meter::{cpu_seconds, memory_bytes, peak_memory_bytes, reset_peak_memory};
use callgrove_forest::{ForestFile, ForestFileLimits, read_forest};
use callgrove_judge::detector::{
    Detector, DetectorParams, Embedding, Features, Label, order_by_score,
};
use callgrove_learn::features::{
    ContextModel, ExcessModel, ExcessParams, Reference, Translation, Windows,
};
use callgrove_map::projection::landmark_mds;
use callgrove_trees::wl::relabel;
use callgrove_trees::{MlError, Progress};

const FORESTS: [&str; 7] = [
    "small:10000",
    "full:10000",
    "small:100000",
    "full:100000",
    "small:1000000",
    "random:200",
    "same:200",
];
/// Vertices of a random tree.
const NUM_RANDOM_VERTICES: usize = 10_000;
/// A single label is too fast for the CPU clock, so labels are learned for this total number of trees.
const LABELLED_TREES: usize = 200_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "    trees    vertices  subtrees   entries    make      wl    rows     map     svm   whole   label  \
         held MiB  peak MiB"
    );
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [path] = &args[..]
        && Path::new(path).is_file()
    {
        let text = BufReader::new(File::open(path)?);
        let limits = ForestFileLimits::default();
        let (file, seconds) = cpu_seconds(|| read_forest(text, 0, limits, Progress::none()));
        return measure(&file?, seconds);
    }
    let forests: Vec<&str> = args.iter().map(String::as_str).collect();
    for forest in if forests.is_empty() {
        &FORESTS[..]
    } else {
        &forests
    } {
        let (shape, num_trees) = forest.split_once(':').unwrap_or(("full", forest));
        let num_trees = num_trees.parse()?;
        let (file, seconds) = cpu_seconds(|| make(shape, num_trees));
        measure(&file?, seconds)?;
    }
    Ok(())
}

fn make(shape: &str, num_trees: usize) -> Result<ForestFile, Box<dyn Error>> {
    let seed = 1;
    let spec = |shape| ForestSpec {
        num_trees,
        shape,
        seed,
    };
    let random = |one_shape| RandomTrees {
        num_trees,
        num_vertices: NUM_RANDOM_VERTICES,
        one_shape,
        seed,
    };
    match shape {
        "small" => Ok(make_forest(spec(Shape::Small))),
        "full" => Ok(make_forest(spec(Shape::Full))),
        "random" => Ok(random(false).make()?),
        "same" => Ok(random(true).make()?),
        _ => Err(
            format!("there is no forest of kind {shape}: use small, full, random or same").into(),
        ),
    }
}

fn measure(file: &ForestFile, make_seconds: f64) -> Result<(), Box<dyn Error>> {
    let forest = &file.forest;
    let params = DetectorParams::default();
    let valid = params.check()?;
    reset_peak_memory();
    let held = memory_bytes();
    let mut labels = vec![None; forest.len()];
    let (learned, whole_seconds) = cpu_seconds(|| {
        let embedding = Embedding::fit(forest, &valid, 1, Progress::none())?;
        let cold = Detector::train(&embedding, &labels, None, Progress::none())?;
        Ok::<_, MlError>((embedding, cold))
    });
    let peak = peak_memory_bytes();
    let (embedding, cold) = learned?;
    labels[order_by_score(cold.scores())[0].index()] = Some(Label::Abnormal);
    let repeats = (LABELLED_TREES / forest.len()).clamp(1, 20);
    let (warm, label_seconds) = cpu_seconds(|| {
        let train = |_| Detector::train(&embedding, &labels, Some(&cold), Progress::none());
        (0..repeats).try_for_each(|repeat| train(repeat).map(drop))
    });
    warm?;
    drop(cold);
    let (map, map_seconds) =
        cpu_seconds(|| landmark_mds(embedding.rows(), params.map.check()?, 1, Progress::none()));
    map?;
    let (subtrees, wl_seconds) =
        cpu_seconds(|| relabel(forest, params.wl.check()?, Progress::none()));
    let subtrees = subtrees?;
    let (num_subtrees, num_entries) = (subtrees.vocabulary.len(), subtrees.bags.num_entries());
    let (rows, rows_seconds) = cpu_seconds(|| {
        let excess = ExcessParams::default();
        let windows = Windows::new(forest, excess.windows_per_lane);
        let reference = Reference::fit(&subtrees.bags, &windows, excess.min_class_size);
        if let Features::Context(_) = embedding.features() {
            return ContextModel::fit(forest).rows(forest);
        }
        let model = ExcessModel::new(excess.check()?, num_subtrees);
        let same = Translation::identity(num_subtrees);
        model.rows(&subtrees.bags, &reference, &same)
    });
    rows?;
    println!(
        "{:>9} {:>11} {num_subtrees:>9} {num_entries:>9} {make_seconds:>7.2} {wl_seconds:>7.3} \
         {rows_seconds:>7.3} {map_seconds:>7.3} {:>7.3} {whole_seconds:>7.2} {:>7.4} {:>9} {:>9}",
        forest.len(),
        forest.num_vertices(),
        whole_seconds - wl_seconds - rows_seconds - map_seconds,
        label_seconds / repeats as f64,
        held >> 20,
        peak >> 20,
    );
    Ok(())
}
