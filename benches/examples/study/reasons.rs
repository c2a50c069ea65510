//! Table of explanations: whether the true culprit is first, or among the first three.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use callgrove_evaluate::evaluate::Class;
use callgrove_judge::detector::{DetectorParams, is_alarm};
use callgrove_model::{Forest, FuncId, TreeIdx};
use callgrove_trees::Progress;
use callgrove_trees::explain::{CallPaths, Difference, UsualTrees, explain};

use crate::case::{Case, STRUCTURE};
use callgrove_benches::markdown_table::{MarkdownTable, share, texts};

/// Fraction of normal trees; a function called by fewer is new where it occurs.
const RARE_SHARE: f64 = 0.05;

/// Exclusive time by call path, in nanoseconds.
type Times = BTreeMap<Vec<FuncId>, i64>;

/// Table R: reasons of anomalies, by kind; the detector has no labels.
pub(crate) fn reasons(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let mut table = MarkdownTable::new(
        "J. Explanations",
        "Share of the anomalies of a kind for which the true culprit is the first reason / among the \
         first three. Of unexpected structure that is a function that under 5 % of the normal trees \
         call; of the others the call path whose exclusive time is the most above the median of the \
         normal trees with the same structure by the truth. Less than usual: trees slower than usual \
         whose first reason is something that took less.",
        texts(&[
            &"trace",
            &"anomalies",
            &"trees",
            &"first / in the first three",
            &"less than usual",
        ]),
    );
    for case in cases.iter().filter(|case| !case.is_clean()) {
        let scores = case.scores(DetectorParams::default())?;
        let is_normal: Vec<bool> = scores.iter().map(|&score| !is_alarm(score)).collect();
        let paths = CallPaths::of(case.forest(), Progress::none())?;
        let usual = UsualTrees::of(case.forest(), &paths, &is_normal);
        let culprits = Culprits::of(case);
        for (kind, name) in case.truth.kinds().iter().enumerate() {
            let (mut num_trees, mut num_less) = (0, 0);
            let mut num_found = [0; 2];
            for (index, class) in case.truth.classes().iter().enumerate() {
                let tree = TreeIdx::from_index(index);
                if *class != Class::Positive(kind) {
                    continue;
                }
                let is_culprit = culprits.of_tree(case, tree, kind == STRUCTURE);
                let found = explain(case.forest(), &paths, &usual, tree).differences;
                num_trees += 1;
                num_less += usize::from(
                    found
                        .first()
                        .is_some_and(|first| kind != STRUCTURE && first.kind.is_less()),
                );
                for (count, most) in num_found.iter_mut().zip([1, 3]) {
                    *count += usize::from(found.iter().take(most).any(&is_culprit));
                }
            }
            if num_trees > 0 {
                let [first, three] =
                    num_found.map(|count| share(Some(count as f64 / num_trees as f64)));
                let found = format!("{first} / {three}");
                table.push(texts(&[&case.name, name, &num_trees, &found, &num_less]));
            }
        }
    }
    Ok(table)
}

/// Facts about the normal trees of a trace, computed independently of the explanations.
struct Culprits {
    /// Functions that few normal trees call.
    rare: BTreeSet<FuncId>,
    /// Median times by structure in the truth.
    medians: BTreeMap<String, Times>,
}

impl Culprits {
    fn of(case: &Case) -> Self {
        let mut num_with: BTreeMap<FuncId, usize> = BTreeMap::new();
        let mut times: BTreeMap<String, BTreeMap<Vec<FuncId>, Vec<i64>>> = BTreeMap::new();
        let mut num_of_structure: BTreeMap<String, usize> = BTreeMap::new();
        let mut num_trees = 0_usize;
        for (index, class) in case.truth.classes().iter().enumerate() {
            if *class != Class::Negative {
                continue;
            }
            num_trees += 1;
            let of_tree = times_of(case.forest(), TreeIdx::from_index(index));
            let funcs: BTreeSet<FuncId> = of_tree.keys().flatten().copied().collect();
            for func in funcs {
                *num_with.entry(func).or_default() += 1;
            }
            let structure = case.structure(index);
            *num_of_structure.entry(structure.to_owned()).or_default() += 1;
            let of_structure = times.entry(structure.to_owned()).or_default();
            for (path, time) in of_tree {
                of_structure.entry(path).or_default().push(time);
            }
        }
        let names = case.forest().trace().names.iter();
        let is_rare = |func: &FuncId| {
            let num_with = num_with.get(func).copied().unwrap_or(0);
            (num_with as f64) < RARE_SHARE * num_trees as f64
        };
        let median = |structure: &str, mut times: Vec<i64>| {
            times.resize(num_of_structure[structure], 0);
            times.sort_unstable();
            times[times.len() / 2]
        };
        Self {
            rare: names.map(|(func, _)| func).filter(is_rare).collect(),
            medians: times
                .into_iter()
                .map(|(structure, times)| {
                    let medians = times
                        .into_iter()
                        .map(|(path, times)| (path, median(&structure, times)));
                    let medians = medians.collect();
                    (structure, medians)
                })
                .collect(),
        }
    }

    /// Returns whether a difference names the cause of an anomaly.
    fn of_tree(
        &self,
        case: &Case,
        tree: TreeIdx,
        is_structure: bool,
    ) -> impl Fn(&Difference) -> bool + use<> {
        let times = times_of(case.forest(), tree);
        let funcs: BTreeSet<FuncId> = times.keys().flatten().copied().collect();
        let rare: BTreeSet<FuncId> = self.rare.intersection(&funcs).copied().collect();
        let medians = self.medians.get(case.structure(tree.index()));
        let excess = |(path, time): (&Vec<FuncId>, &i64)| {
            let usual = medians.and_then(|medians| medians.get(path)).copied();
            time - usual.unwrap_or(0)
        };
        let most = times.iter().max_by_key(|&entry| excess(entry));
        let most = most.map(|entry| entry.0.clone());
        move |found: &Difference| {
            if is_structure {
                found.path.last().is_some_and(|func| rare.contains(func))
            } else {
                Some(&found.path) == most.as_ref()
            }
        }
    }
}

fn times_of(forest: &Forest, tree: TreeIdx) -> Times {
    let tree = forest.tree(tree);
    let mut times = Times::new();
    let mut path: Vec<FuncId> = Vec::new();
    for (vertex, &func) in tree.funcs().iter().enumerate() {
        path.truncate(tree.depth(vertex));
        path.push(func);
        let time = tree.exclusive()[vertex].0;
        match times.get_mut(&path) {
            Some(sum) => *sum += time,
            None => {
                times.insert(path.clone(), time);
            }
        }
    }
    times
}
