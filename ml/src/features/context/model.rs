//! What is usual for a function under its caller, and rows of surprises.

use std::collections::BTreeMap;

use callgrove_model::{CsTree, Forest, FuncId, TreeIdx};
use serde::{Deserialize, Serialize};

use super::law::TimeLaw;
use super::surprise::{CalleeSet, NUM_KINDS, surprises};
use crate::calibration::NullModel;
use crate::dataset::{SparseRow, SparseRows};
use crate::features::excess::rounded;
use crate::error::Result;

/// Calls that a distribution of its own needs; with fewer that of the function, or of all calls, counts.
const MIN_CALLS: usize = 30;
/// A surprise that means something at least, in nats.
const LEAST_SURPRISE: f64 = 0.7;

/// A function in a model: a place among its names, one past the last for all that it does not know, two
/// past it for the caller of roots.
pub(super) type FunctionNo = usize;

/// What is usual in each context, that is, for a function under a caller, and the rows made of it: one
/// column for each kind of surprise and function.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextModel {
    /// Names of functions, ascending.
    functions: Vec<String>,
    /// By number.
    callers: Vec<Caller>,
    /// Ordered by caller and function.
    contexts: Vec<Context>,
    /// Ordered by caller and set.
    callees: Vec<Callees>,
    /// Of each function; `None` for one that is called too seldom.
    laws: Vec<Option<TimeLaw>>,
    /// Of all calls.
    law: TimeLaw,
    /// How large the largest surprise of a tree is when nothing is wrong, for each kind.
    nulls: Vec<NullModel>,
}

#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Caller {
    num_calls: u64,
    /// Trees that have it.
    pub(super) num_trees: u64,
    /// Share of its calls whose set of callees no other call has.
    share_of_rarest: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Context {
    pub(super) caller: FunctionNo,
    pub(super) func: FunctionNo,
    /// Trees that have it.
    pub(super) num_trees: u64,
    law: Option<TimeLaw>,
}

/// A set of callees that more than one call of a function has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Callees {
    caller: FunctionNo,
    set: Vec<FunctionNo>,
    /// Share of the caller's calls whose set is as rare as this one or rarer.
    share: f64,
}

/// The functions of a trace as numbers of a model, by [`FuncId`].
#[derive(Debug)]
pub(super) struct Numbers(Vec<FunctionNo>);

impl Numbers {
    pub(super) fn of(&self, func: FuncId) -> FunctionNo {
        self.0[func.index()]
    }
}

/// What was counted of a context.
#[derive(Default)]
struct Tally {
    num_trees: u64,
    logs: Vec<f64>,
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
            nulls: Vec::new(),
            laws: Vec::new(),
            law: TimeLaw::fit(&mut [0.0]),
            functions,
        };
        let numbers = model.numbers(forest);
        model.count(forest, &numbers);
        model.count_callees(forest, &numbers);
        let found: Vec<_> = trees(forest).map(|tree| surprises(tree, &numbers, &model)).collect();
        model.nulls = (0..NUM_KINDS)
            .map(|kind| {
                let of_kind: Vec<f64> = found.iter().map(|found| found[kind].0).collect();
                NullModel::fit_all(&of_kind, LEAST_SURPRISE)
            })
            .collect();
        model
    }

    fn count(&mut self, forest: &Forest, numbers: &Numbers) {
        let mut tallies: BTreeMap<(FunctionNo, FunctionNo), Tally> = BTreeMap::new();
        let root = self.no_caller();
        for tree in trees(forest) {
            let mut seen: Vec<(FunctionNo, FunctionNo)> = Vec::with_capacity(tree.len());
            let mut callers = vec![root];
            for vertex in 0..tree.len() {
                let func = numbers.of(tree.funcs()[vertex]);
                let caller = tree
                    .parent(vertex)
                    .map_or(root, |caller| numbers.of(tree.funcs()[caller]));
                let tally = tallies.entry((caller, func)).or_default();
                tally.logs.push(log_time(tree, vertex));
                seen.push((caller, func));
                callers.push(func);
                self.callers[func].num_calls += 1;
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
            self.law = TimeLaw::fit(&mut all);
        }
        self.laws = of_function.iter_mut().map(|logs| law_of(logs)).collect();
        self.contexts = tallies
            .into_iter()
            .map(|((caller, func), mut tally)| Context {
                caller,
                func,
                num_trees: tally.num_trees,
                law: law_of(&mut tally.logs),
            })
            .collect();
    }

    fn count_callees(&mut self, forest: &Forest, numbers: &Numbers) {
        let mut counts: BTreeMap<(FunctionNo, Vec<FunctionNo>), u64> = BTreeMap::new();
        let mut set = CalleeSet::default();
        for tree in trees(forest) {
            for vertex in 0..tree.len() {
                set.collect(tree, vertex, numbers);
                *counts.entry((numbers.of(tree.funcs()[vertex]), set.0.clone())).or_default() += 1;
            }
        }
        let all: Vec<_> = counts.into_iter().collect();
        for of_caller in all.chunk_by(|a, b| a.0.0 == b.0.0) {
            let num_calls = of_caller.iter().map(|entry| entry.1).sum::<u64>() as f64;
            let rarer = |count: u64| {
                let rarer = of_caller.iter().filter(|entry| entry.1 <= count);
                rarer.map(|entry| entry.1).sum::<u64>() as f64 / num_calls
            };
            let kept = of_caller.iter().filter(|entry| entry.1 > 1);
            self.callees.extend(kept.map(|((caller, set), count)| Callees {
                caller: *caller,
                set: set.clone(),
                share: rarer(*count),
            }));
            self.callers[of_caller[0].0.0].share_of_rarest = rarer(1).max(0.5 / num_calls);
        }
    }

    /// Share of the calls of a function whose set of callees is as rare as this one or rarer.
    pub(super) fn callee_share(&self, caller: FunctionNo, set: &CalleeSet) -> f64 {
        let key = |callees: &Callees| callees.caller.cmp(&caller).then_with(|| callees.set.cmp(&set.0));
        let place = self.callees.binary_search_by(key);
        let rarest = || self.callers[caller].share_of_rarest;
        place.map_or_else(|_| rarest(), |place| self.callees[place].share)
    }

    /// Number of columns of the rows.
    pub fn num_columns(&self) -> usize {
        NUM_KINDS * (self.functions.len() + 1)
    }

    /// Names of the functions that it knows.
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// Rows of all trees of a forest, of this or another run; functions that the model does not know share
    /// a column.
    ///
    /// # Errors
    /// [`crate::MlError::BadNumber`] if a row is not finite.
    pub fn rows(&self, forest: &Forest) -> Result<SparseRows> {
        let numbers = self.numbers(forest);
        let rows = trees(forest).map(|tree| self.row(tree, &numbers));
        SparseRows::new(self.num_columns(), rows)
    }

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

    fn numbers(&self, forest: &Forest) -> Numbers {
        let number = |name: &str| {
            let place = self.functions.binary_search_by(|known| known.as_str().cmp(name));
            place.unwrap_or(self.functions.len())
        };
        let names = forest.trace().names.iter();
        Numbers(names.map(|(_, name)| number(name)).collect())
    }

    /// The number of the caller of roots, which is no function.
    pub(super) fn no_caller(&self) -> FunctionNo {
        self.functions.len() + 1
    }

    pub(super) fn caller(&self, caller: FunctionNo) -> Caller {
        self.callers[caller]
    }

    pub(super) fn context(&self, caller: FunctionNo, func: FunctionNo) -> Option<&Context> {
        let key = |context: &Context| (context.caller, context.func);
        let place = self.contexts.binary_search_by_key(&(caller, func), key);
        place.ok().map(|place| &self.contexts[place])
    }

    /// How long calls in a context take.
    pub(super) fn law(&self, caller: FunctionNo, func: FunctionNo) -> &TimeLaw {
        let own = self.context(caller, func).and_then(|context| context.law.as_ref());
        own.or_else(|| self.laws.get(func)?.as_ref()).unwrap_or(&self.law)
    }

    /// Whether its parts fit together.
    pub(crate) fn is_whole(&self) -> bool {
        let num_functions = self.functions.len();
        let laws = self.contexts.iter().map(|context| &context.law).chain(&self.laws);
        let key = |context: &Context| (context.caller, context.func);
        self.functions.is_sorted()
            && self.callers.len() == num_functions + 2
            && self.laws.len() == num_functions
            && self.contexts.is_sorted_by(|a, b| key(a) < key(b))
            && self.contexts.iter().all(|context| {
                context.caller <= num_functions + 1 && context.func < num_functions
            })
            && self.callees.iter().all(|callees| {
                callees.caller < num_functions && callees.share > 0.0 && callees.share <= 1.0
            })
            && self.nulls.len() == NUM_KINDS
            && self.nulls.iter().all(NullModel::is_whole)
            && laws.flatten().chain([&self.law]).all(TimeLaw::is_whole)
    }
}

fn trees(forest: &Forest) -> impl Iterator<Item = CsTree<'_>> {
    (0..forest.len()).map(|tree| forest.tree(TreeIdx::from_index(tree)))
}

fn law_of(logs: &mut [f64]) -> Option<TimeLaw> {
    (logs.len() >= MIN_CALLS).then(|| TimeLaw::fit(logs))
}

/// ln of the exclusive time of a vertex in nanoseconds, or units of a weight.
pub(super) fn log_time(tree: CsTree<'_>, vertex: usize) -> f64 {
    (tree.exclusive()[vertex].0.max(0) as f64).ln_1p()
}
