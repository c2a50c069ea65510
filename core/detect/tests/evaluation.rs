//! Precision and recall of the detectors on generated runs.
//!
//! Prints the figures in the documentation of the crate: `cargo test -p callgrove-detect --test evaluation --
//! --nocapture`.

mod support;

use callgrove_detect::{Algorithm, FuncModel, Judge, Params};
use support::calls::{Calls, calls};
use support::peer::PeerHbos;

/// Numbers of outliers, finds, and finds that are outliers.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    outliers: u64,
    found: u64,
    hits: u64,
}

impl Tally {
    fn add(&mut self, is_outlier: &[bool], is_found: &[bool]) {
        for (&outlier, &found) in is_outlier.iter().zip(is_found) {
            self.outliers += u64::from(outlier);
            self.found += u64::from(found);
            self.hits += u64::from(outlier && found);
        }
    }

    fn precision(self) -> f64 {
        self.hits as f64 / self.found as f64
    }

    fn recall(self) -> f64 {
        self.hits as f64 / self.outliers as f64
    }
}

/// Runs step by step: every step is judged by the model that includes it.
fn run(algorithm: Algorithm, calls: &Calls, num_steps: usize) -> Vec<bool> {
    let params = Params {
        algorithm,
        ..Params::default()
    };
    let params = params.check().expect("the defaults are valid");
    let mut model = FuncModel::new(&params);
    let mut found = Vec::new();
    let mut verdicts = Vec::new();
    for step in calls
        .times_us
        .chunks(calls.times_us.len().div_ceil(num_steps))
    {
        model.extend(step);
        let judge = Judge::new(&model, &params, None);
        model.raise_threshold(judge.threshold());
        verdicts.clear();
        judge.judge_all(step, &mut verdicts);
        found.extend(verdicts.iter().map(|verdict| verdict.is_outlier));
    }
    found
}

fn run_peer(calls: &Calls, num_steps: usize) -> Vec<bool> {
    let mut peer = PeerHbos::default();
    let steps = calls
        .times_us
        .chunks(calls.times_us.len().div_ceil(num_steps));
    steps.flat_map(|step| peer.step(step)).collect()
}

/// Prints and returns the result of a method on a run.
fn evaluate(name: &str, funcs: &[Calls], method: &str, run: impl Fn(&Calls) -> Vec<bool>) -> Tally {
    let mut tally = Tally::default();
    for func in funcs {
        tally.add(&func.is_outlier, &run(func));
    }
    println!(
        "{name}: {method:<11} {:>4} finds, {} outliers, precision {:.3}, recall {:.3}",
        tally.found,
        tally.outliers,
        tally.precision(),
        tally.recall(),
    );
    tally
}

/// The detectors that find improbable times of any size.
const OF_THE_SEEDS: [Algorithm; 3] = [Algorithm::Hbos, Algorithm::Sstd, Algorithm::Copod];

/// Asserts a minimum precision and recall of HBOS, SSTD and COPOD, and that HBOS finds fewer normal executions than
/// Chimbuko's rule on the same calls.
fn check(name: &str, funcs: &[Calls], num_steps: usize, least: [(f64, f64); 3]) {
    let ours = OF_THE_SEEDS.map(|algorithm| {
        evaluate(name, funcs, algorithm.name(), |func| {
            run(algorithm, func, num_steps)
        })
    });
    for (tally, (precision, recall)) in ours.into_iter().zip(least) {
        assert!(
            tally.precision() >= precision && tally.recall() >= recall,
            "{tally:?}"
        );
    }
    let peer = evaluate(name, funcs, "Chimbuko's", |func| run_peer(func, num_steps));
    assert!(ours[0].precision() > peer.precision(), "{peer:?}");
}

/// Returns several runs as one list of independent functions.
fn runs(seeds: std::ops::Range<u64>, num_calls: usize, rate: f64) -> Vec<Calls> {
    let runs = seeds.map(|seed| calls(50, num_calls, rate, seed));
    runs.flatten().collect()
}

#[test]
fn outliers_of_a_long_run_are_found() {
    let funcs = runs(1..2, 40_000, 1015.0 / 2e6);
    check(
        "2M calls",
        &funcs,
        20,
        [(0.98, 0.84), (0.80, 0.93), (0.98, 0.84)],
    );
}

#[test]
fn outliers_of_short_runs_are_found_with_few_false_finds() {
    let funcs = runs(1..11, 2_000, 43.0 / 1e5);
    check(
        "10 x 100k calls",
        &funcs,
        10,
        [(0.95, 0.82), (0.60, 0.90), (0.95, 0.82)],
    );
}

#[test]
fn outliers_of_very_short_runs_are_found_with_few_false_finds() {
    let funcs = runs(1..11, 200, 2e-3);
    check(
        "10 x 10k calls",
        &funcs,
        4,
        [(0.90, 0.80), (0.80, 0.80), (0.90, 0.80)],
    );
}
