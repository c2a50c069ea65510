//! How many outliers of generated runs the detectors find, and how many of their finds are outliers.

mod support;

use std::collections::BTreeMap;

use callgrove_detect::{Algorithm, FuncModel, Judge, Params};
use support::calls::{Calls, calls};
use support::peer::PeerHbos;

/// Outliers, finds, and those that are both.
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

/// A run step by step: every step is judged by the model that includes it.
fn run(algorithm: Algorithm, calls: &Calls, num_steps: usize) -> Vec<bool> {
    let params = Params {
        algorithm,
        ..Params::default()
    };
    let params = params.check().unwrap();
    let mut model = FuncModel::new(&params);
    let mut found = Vec::new();
    let mut verdicts = Vec::new();
    for step in calls.times_us.chunks(calls.times_us.len().div_ceil(num_steps)) {
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
    let steps = calls.times_us.chunks(calls.times_us.len().div_ceil(num_steps));
    steps.flat_map(|step| peer.step(step)).collect()
}

fn evaluate(name: &str, funcs: &[Calls], num_steps: usize) -> BTreeMap<String, Tally> {
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut by_shape: BTreeMap<(String, String), Tally> = BTreeMap::new();
    for func in funcs {
        let ours = Algorithm::ALL.map(|algorithm| (algorithm.to_string(), run(algorithm, func, num_steps)));
        let peer = ("peer's hbos".to_owned(), run_peer(func, num_steps));
        for (method, found) in ours.into_iter().chain([peer]) {
            by_shape.entry((method.clone(), format!("{:?}", func.shape))).or_default().add(&func.is_outlier, &found);
            tallies.entry(method).or_default().add(&func.is_outlier, &found);
        }
    }
    for ((method, shape), tally) in &by_shape {
        println!("    {name} {method:<12} {shape:<50} {tally:?}");
    }
    for (method, tally) in &tallies {
        println!(
            "{name}: {method:<12} found {:>6} of {} outliers, precision {:.3}, recall {:.3}",
            tally.found,
            tally.outliers,
            tally.precision(),
            tally.recall()
        );
    }
    tallies
}

#[test]
fn long_run() {
    evaluate("2M calls", &calls(50, 40_000, 1015.0 / 2e6, 1), 20);
}

#[test]
fn short_run() {
    evaluate("100k calls", &calls(50, 2_000, 43.0 / 1e5, 2), 10);
}

#[test]
fn very_short_run() {
    evaluate("10k calls", &calls(50, 200, 2e-3, 3), 4);
}
