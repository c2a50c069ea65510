//! How the learning code grows with the number of trees: one row for each size, CPU seconds of each
//! stage and the most memory. `cargo run --release -p callgrove-benches --example scaling`, or with a
//! list of sizes such as `small:200000 full:5000`, or with a forest file. A million trees are small
//! ones only (25 calls, not 155), so that the forest fits into memory.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use callgrove_benches::generator::{ForestSpec, Shape, make_forest};
use callgrove_benches::meter::{cpu_seconds, peak_memory_bytes, reset_peak_memory};
use callgrove_ml::Progress;
use callgrove_ml::detector::{Detector, DetectorParams, Embedding, Label, order_by_score};
use callgrove_ml::features::{ExcessModel, ExcessParams, Reference, Translation, Windows};
use callgrove_ml::forest_file::{ForestFile, ForestFileLimits, read_forest};
use callgrove_ml::wl::relabel;

const SIZES: [&str; 5] = [
    "small:10000",
    "full:10000",
    "small:100000",
    "full:100000",
    "small:1000000",
];
/// Training looks at every support vector from every tree, and both grow: beyond this it is left out.
const MOST_TRAINED_TREES: usize = 100_000;
/// One label is too quick for the clock of the CPU.
const LABEL_REPEATS: usize = 20;
/// So are subtrees and rows of few trees: they are made again until this many trees were done.
const REPEATED_TREES: usize = 200_000;

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "    trees    vertices  subtrees    make      wl  features     map  training   label  peak MiB"
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
    let sizes: Vec<&str> = args.iter().map(String::as_str).collect();
    for size in if sizes.is_empty() { &SIZES[..] } else { &sizes } {
        let (shape, num_trees) = size.split_once(':').unwrap_or(("full", size));
        let spec = ForestSpec {
            num_trees: num_trees.parse()?,
            shape: if shape == "small" {
                Shape::Small
            } else {
                Shape::Full
            },
            seed: 1,
        };
        reset_peak_memory();
        let (file, seconds) = cpu_seconds(|| make_forest(spec));
        measure(&file, seconds)?;
    }
    Ok(())
}

/// The last answer, and the mean of the CPU seconds.
fn mean_cpu_seconds<T>(repeats: usize, mut work: impl FnMut() -> T) -> (T, f64) {
    let (answer, seconds) = cpu_seconds(|| {
        for _ in 1..repeats {
            work();
        }
        work()
    });
    (answer, seconds / repeats as f64)
}

fn measure(file: &ForestFile, make_seconds: f64) -> Result<(), Box<dyn Error>> {
    let forest = &file.forest;
    let params = DetectorParams::default();
    let wl = params.wl.check()?;
    let repeats = (REPEATED_TREES / forest.len()).max(1);
    let (subtrees, wl_seconds) =
        mean_cpu_seconds(repeats, || relabel(forest, wl, Progress::none()));
    let subtrees = subtrees?;
    let len = subtrees.vocabulary.len();
    let (rows, feature_seconds) = mean_cpu_seconds(repeats, || {
        let excess = ExcessParams::default();
        let windows = Windows::new(forest, excess.windows_per_lane);
        let reference = Reference::fit(&subtrees.bags, &windows, excess.min_class_size);
        let model = ExcessModel::new(excess.check()?, len);
        model.rows(&subtrees.bags, &reference, &Translation::identity(len))
    });
    rows?;
    drop(subtrees);
    print!(
        "{:>9} {:>11} {len:>9} {make_seconds:>7.2} {wl_seconds:>7.3} {feature_seconds:>9.3}",
        forest.len(),
        forest.num_vertices()
    );
    if forest.len() <= MOST_TRAINED_TREES {
        let valid = params.check()?;
        let (embedding, seconds) =
            cpu_seconds(|| Embedding::fit(forest, &valid, 1, Progress::none()));
        let embedding = embedding?;
        let map_seconds = seconds - wl_seconds - feature_seconds;
        let mut labels = vec![None; forest.len()];
        let (cold, cold_seconds) =
            cpu_seconds(|| Detector::train(&embedding, &labels, None, Progress::none()));
        let cold = cold?;
        labels[order_by_score(cold.scores())[0].index()] = Some(Label::Abnormal);
        let (warm, warm_seconds) = cpu_seconds(|| {
            let train = |_| Detector::train(&embedding, &labels, Some(&cold), Progress::none());
            (0..LABEL_REPEATS).try_for_each(|repeat| train(repeat).map(drop))
        });
        warm?;
        let label_seconds = warm_seconds / LABEL_REPEATS as f64;
        print!(" {map_seconds:>7.2} {cold_seconds:>9.3} {label_seconds:>7.4}");
    } else {
        print!(" {:>7} {:>9} {:>7}", "-", "-", "-");
    }
    println!(" {:>9}", peak_memory_bytes() >> 20);
    Ok(())
}
