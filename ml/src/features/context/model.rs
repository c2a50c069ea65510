//! What is usual for a function under its caller.

use callgrove_model::{CsTree, Forest, FuncId};
use serde::{Deserialize, Serialize};

use super::law::TimeLaw;
use super::surprise_law::SurpriseLaw;
use crate::real::Real;

/// Kinds of surprise: one call's time, that of several together, their share of the tree's time, a
/// caller, a set of callees, the extent of the tree.
pub(super) const NUM_KINDS: usize = 6;
/// Extents of a tree: see [`extents`].
pub(super) const NUM_EXTENTS: usize = 3;

/// A function in a model: a place among its names, one past the last for all that it does not know, two
/// past it for the caller of roots.
pub(super) type FunctionNo = usize;

/// What is usual in each context, that is, for a function under a caller, and the rows made of it: one
/// column for each kind of surprise and function.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextModel {
    /// Names of functions, ascending.
    pub(super) functions: Vec<String>,
    /// By number.
    pub(super) callers: Vec<Caller>,
    /// Ordered by caller and function.
    pub(super) contexts: Vec<Context>,
    /// Ordered by caller and set.
    pub(super) callees: Vec<Callees>,
    /// Of each function; `None` for one that is called too seldom.
    pub(super) laws: Vec<Option<TimeLaw>>,
    /// Of all calls.
    pub(super) law: TimeLaw,
    /// Of the extents of trees.
    pub(super) extents: Vec<TimeLaw>,
    /// How large the largest surprise of a tree is when nothing is wrong, for each kind.
    pub(super) nulls: Vec<SurpriseLaw>,
}

#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Caller {
    pub(super) num_calls: u64,
    /// Trees that have it.
    pub(super) num_trees: u64,
    /// Share of its calls whose set of callees no other call has.
    pub(super) share_of_rarest: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Context {
    pub(super) caller: FunctionNo,
    pub(super) func: FunctionNo,
    /// Trees that have it.
    pub(super) num_trees: u64,
    pub(super) law: Option<TimeLaw>,
}

/// A set of callees that more than one call of a function has.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Callees {
    pub(super) caller: FunctionNo,
    pub(super) set: Vec<FunctionNo>,
    /// Share of the caller's calls whose set is as rare as this one or rarer.
    pub(super) share: f64,
}

/// The functions of a trace as numbers of a model, by [`FuncId`].
#[derive(Debug)]
pub(super) struct Numbers(Vec<FunctionNo>);

impl Numbers {
    pub(super) fn of(&self, func: FuncId) -> FunctionNo {
        self.0[func.index()]
    }
}

impl ContextModel {
    /// Share of the calls of a function whose set of callees is as rare as this one or rarer.
    pub(super) fn callee_share(&self, caller: FunctionNo, set: &CalleeSet) -> f64 {
        let key = |callees: &Callees| {
            callees
                .caller
                .cmp(&caller)
                .then_with(|| callees.set.cmp(&set.0))
        };
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

    /// The functions of a forest as numbers.
    pub(super) fn numbers(&self, forest: &Forest) -> Numbers {
        let number = |name: &str| {
            let place = self
                .functions
                .binary_search_by(|known| known.as_str().cmp(name));
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
        let own = self
            .context(caller, func)
            .and_then(|context| context.law.as_ref());
        own.or_else(|| self.laws.get(func)?.as_ref())
            .unwrap_or(&self.law)
    }

    /// Whether its parts fit together.
    pub(crate) fn is_whole(&self) -> bool {
        let num_functions = self.functions.len();
        let laws = self
            .contexts
            .iter()
            .map(|context| &context.law)
            .chain(&self.laws);
        let key = |context: &Context| (context.caller, context.func);
        self.functions.is_sorted()
            && self.callers.len() == num_functions + 2
            && self.laws.len() == num_functions
            && self.contexts.is_sorted_by(|a, b| key(a) < key(b))
            && self
                .contexts
                .iter()
                .all(|context| context.caller <= num_functions + 1 && context.func < num_functions)
            && self.callees.iter().all(|callees| {
                callees.caller < num_functions && callees.share > 0.0 && callees.share <= 1.0
            })
            && self.nulls.len() == NUM_KINDS
            && self.nulls.iter().all(SurpriseLaw::is_whole)
            && self.extents.len() == NUM_EXTENTS
            && laws
                .flatten()
                .chain([&self.law])
                .chain(&self.extents)
                .all(TimeLaw::is_whole)
    }
}

/// The different functions that a call calls, ascending.
#[derive(Default)]
pub(super) struct CalleeSet(pub(super) Vec<FunctionNo>);

impl CalleeSet {
    pub(super) fn collect(&mut self, tree: CsTree<'_>, vertex: usize, numbers: &Numbers) {
        self.0.clear();
        let callees = tree
            .children(vertex)
            .map(|callee| numbers.of(tree.funcs()[callee]));
        self.0.extend(callees);
        self.0.sort_unstable();
        self.0.dedup();
    }
}

/// ln of the exclusive time of a vertex in nanoseconds, or units of a weight.
pub(super) fn log_time(tree: CsTree<'_>, vertex: usize) -> f64 {
    (tree.exclusive()[vertex].0.max(0).real()).ln_1p()
}

/// How long, how high and how wide a tree is: ln(1 + x) of its duration, its height in edges, and the most
/// calls that one of its calls makes.
pub(super) fn extents(tree: CsTree<'_>) -> [f64; NUM_EXTENTS] {
    let (mut height, mut width) = (0, 0);
    for vertex in 0..tree.len() {
        height = height.max(tree.depth(vertex));
        width = width.max(tree.children(vertex).count());
    }
    let duration = tree.duration().0.max(0).real();
    [duration, height.real(), width.real()].map(f64::ln_1p)
}
