//! Learning of the usual sizes in each context, and rows of surprises.

use std::collections::BTreeMap;

use callgrove_model::{CsTree, Forest, TreeIdx};

use super::law::SizeLaw;
use super::model::{
    CalleeSet, Callees, Caller, Context, ContextModel, FunctionNo, NUM_EXTENTS, NUM_KINDS, Numbers,
    function_depths,
};
use super::surprise::surprises;
use super::surprise_law::SurpriseLaw;
use crate::features::excess::rounded;
use callgrove_trees::dataset::{SparseRow, SparseRows};
use callgrove_trees::error::Result;
use callgrove_trees::real::Real;

/// Minimum number of calls for a separate distribution; with fewer, that of the function, or of all calls, is used.
const MIN_CALLS: usize = 30;

/// The counts of a context.
#[derive(Default)]
struct Tally {
    num_trees: u64,
    num_calls: u64,
    logs: Vec<f64>,
    /// How often each call of the caller calls the function, without those that do not call it.
    repeats: Vec<f64>,
}

impl ContextModel {
    /// Learns from all trees of a forest.
    pub fn fit(forest: &Forest) -> Self {
        let names = &forest.trace().names;
        let mut used = vec![false; names.len()];
        for tree in trees(forest) {
            for func in tree.funcs() {
                used[func.index()] = true;
            }
        }
        let mut functions: Vec<String> = names
            .iter()
            .filter(|(func, _)| used[func.index()])
            .map(|(_, name)| name.to_owned())
            .collect();
        functions.sort_unstable();
        functions.dedup();
        let mut model = Self {
            callers: vec![Caller::default(); functions.len() + 2],
            contexts: Vec::new(),
            callees: Vec::new(),
            extents: Vec::new(),
            nulls: Vec::new(),
            laws: Vec::new(),
            law: SizeLaw::fit(&mut [0.0]),
            nestings: Vec::new(),
            depths: Vec::new(),
            functions,
        };
        let numbers = model.numbers(forest);
        model.count(forest, &numbers);
        model.count_callees(forest, &numbers);
        model.count_places(forest, &numbers);
        let extents = |tree| numbers.extents(tree);
        let of_trees: Vec<[f64; NUM_EXTENTS]> = trees(forest).map(extents).collect();
        model.extents = (0..NUM_EXTENTS)
            .map(|extent| {
                let mut of_extent: Vec<f64> =
                    of_trees.iter().map(|of_tree| of_tree[extent]).collect();
                SizeLaw::fit(&mut of_extent)
            })
            .collect();
        let found: Vec<_> = trees(forest)
            .map(|tree| surprises(tree, &numbers, &model))
            .collect();
        model.nulls = (0..NUM_KINDS)
            .map(|kind| {
                let of_kind: Vec<f64> = found.iter().map(|found| found[kind].0).collect();
                SurpriseLaw::fit(&of_kind)
            })
            .collect();
        model
    }

    fn count(&mut self, forest: &Forest, numbers: &Numbers) {
        let mut tallies: BTreeMap<(FunctionNo, FunctionNo), Tally> = BTreeMap::new();
        let root = self.no_caller();
        let mut callees = CalleeSet::default();
        for tree in trees(forest) {
            let mut seen: Vec<(FunctionNo, FunctionNo)> = Vec::with_capacity(tree.len());
            let mut callers = vec![root];
            for vertex in 0..tree.len() {
                let func = numbers.of(tree.funcs()[vertex]);
                let caller = tree
                    .parent(vertex)
                    .map_or(root, |caller| numbers.of(tree.funcs()[caller]));
                let tally = tallies.entry((caller, func)).or_default();
                tally.logs.push(numbers.log_weight(tree, vertex));
                seen.push((caller, func));
                callers.push(func);
                self.callers[func].num_calls += 1;
                callees.collect(tree, vertex, numbers);
                for (callee, count) in callees.iter() {
                    let tally = tallies.entry((func, callee)).or_default();
                    tally.num_calls += 1;
                    tally.repeats.push(count.real().ln_1p());
                }
            }
            self.callers[root].num_calls += 1;
            seen.sort_unstable();
            seen.dedup();
            for context in seen {
                tallies.entry(context).or_default().num_trees += 1;
            }
            callers.sort_unstable();
            callers.dedup();
            for caller in callers {
                self.callers[caller].num_trees += 1;
            }
        }
        let mut of_function: Vec<Vec<f64>> = vec![Vec::new(); self.functions.len()];
        for (&(_, func), tally) in &tallies {
            of_function[func].extend_from_slice(&tally.logs);
        }
        let mut all: Vec<f64> = of_function.iter().flatten().copied().collect();
        if !all.is_empty() {
            self.law = SizeLaw::fit(&mut all);
        }
        self.laws = of_function.iter_mut().map(|logs| law_of(logs)).collect();
        self.contexts = tallies
            .into_iter()
            .map(|((caller, func), mut tally)| Context {
                caller,
                func,
                num_trees: tally.num_trees,
                num_calls: tally.num_calls,
                law: law_of(&mut tally.logs),
                repeats: law_of_counts(&mut tally.repeats),
            })
            .collect();
    }

    fn count_callees(&mut self, forest: &Forest, numbers: &Numbers) {
        let mut counts: BTreeMap<(FunctionNo, Vec<FunctionNo>), u64> = BTreeMap::new();
        let mut set = CalleeSet::default();
        for tree in trees(forest) {
            for vertex in 0..tree.len() {
                set.collect(tree, vertex, numbers);
                *counts
                    .entry((numbers.of(tree.funcs()[vertex]), set.funcs.clone()))
                    .or_default() += 1;
            }
        }
        let all: Vec<_> = counts.into_iter().collect();
        for of_caller in all.chunk_by(|a, b| a.0.0 == b.0.0) {
            let num_calls = of_caller.iter().map(|entry| entry.1).sum::<u64>().real();
            let rarer = |count: u64| {
                let rarer = of_caller.iter().filter(|entry| entry.1 <= count);
                rarer.map(|entry| entry.1).sum::<u64>().real() / num_calls
            };
            let kept = of_caller.iter().filter(|entry| entry.1 > 1);
            self.callees
                .extend(kept.map(|((caller, set), count)| Callees {
                    caller: *caller,
                    set: set.clone(),
                    share: rarer(*count),
                }));
            self.callers[of_caller[0].0.0].share_of_rarest = rarer(1).max(0.5 / num_calls);
        }
    }

    fn count_places(&mut self, forest: &Forest, numbers: &Numbers) {
        let num_functions = self.functions.len();
        let mut nestings: Vec<Vec<f64>> = vec![Vec::new(); num_functions];
        let mut depths = nestings.clone();
        for tree in trees(forest) {
            for (func, place) in function_depths(tree, numbers) {
                nestings[func].push(place.nesting.real().ln_1p());
                depths[func].push(place.depth.real().ln_1p());
            }
        }
        let laws = |counts: Vec<Vec<f64>>| {
            let counts = counts.into_iter();
            counts.map(|mut logs| law_of_counts(&mut logs)).collect()
        };
        (self.nestings, self.depths) = (laws(nestings), laws(depths));
    }

    /// Returns the rows of all trees of a forest, of this or another run; functions that the model does not know
    /// share a column.
    ///
    /// # Errors
    /// [`callgrove_trees::MlError::BadNumber`] if a row is not finite.
    pub fn rows(&self, forest: &Forest) -> Result<SparseRows> {
        let numbers = self.numbers(forest);
        let rows = trees(forest).map(|tree| self.row(tree, &numbers));
        SparseRows::new(self.num_columns(), rows)
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "a few columns for each function"
    )]
    fn row(&self, tree: CsTree<'_>, numbers: &Numbers) -> SparseRow {
        let num_functions = self.functions.len() + 1;
        let found = surprises(tree, numbers, self).into_iter().zip(&self.nulls);
        let (columns, values) = found
            .enumerate()
            .map(|(kind, ((surprise, func), null))| {
                let column = kind * num_functions + func;
                (column as u32, rounded(-null.p_value(surprise).ln()))
            })
            .unzip();
        SparseRow { columns, values }
    }
}

fn trees(forest: &Forest) -> impl Iterator<Item = CsTree<'_>> {
    (0..forest.len()).map(|tree| forest.tree(TreeIdx::from_index(tree)))
}

fn law_of_counts(logs: &mut [f64]) -> Option<SizeLaw> {
    (logs.len() >= MIN_CALLS).then(|| SizeLaw::fit_counts(logs))
}

fn law_of(logs: &mut [f64]) -> Option<SizeLaw> {
    (logs.len() >= MIN_CALLS).then(|| SizeLaw::fit(logs))
}
