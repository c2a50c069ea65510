//! The usual sizes and counts of a function under its caller.

use std::collections::BTreeMap;

use callgrove_model::{CsTree, DurationNs, Forest, FuncId};
use serde::{Deserialize, Serialize};

use super::law::SizeLaw;
use super::surprise_law::SurpriseLaw;
use callgrove_trees::real::Real;

/// Number of kinds of surprise, as `surprise::surprises` lists them.
pub const NUM_KINDS: usize = 12;
/// Number of extents of a tree: see [`Numbers::extents`].
pub(super) const NUM_EXTENTS: usize = 3;

/// A function in a model: an index among its names, one past the last for all unknown functions, two past it for the
/// caller of roots.
pub(super) type FunctionNo = usize;

/// The usual sizes and counts in each context, that is, for a function under a caller, and the rows made of them: one
/// column for each kind of surprise and function.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextModel {
    /// Names of functions, ascending.
    pub(super) functions: Vec<String>,
    /// Callers by number.
    pub(super) callers: Vec<Caller>,
    /// Contexts ordered by caller and function.
    pub(super) contexts: Vec<Context>,
    /// Sets of callees ordered by caller and set.
    pub(super) callees: Vec<Callees>,
    /// Distribution of each function's times; `None` for one that is called too rarely.
    pub(super) laws: Vec<Option<SizeLaw>>,
    /// Distribution of the times of all calls.
    pub(super) law: SizeLaw,
    /// How often each function is on one path from the root, at most; `None` for one that few trees have.
    pub(super) nestings: Vec<Option<SizeLaw>>,
    /// Maximum depth of each function; `None` for one that few trees have.
    pub(super) depths: Vec<Option<SizeLaw>>,
    /// Distributions of the extents of trees.
    pub(super) extents: Vec<SizeLaw>,
    /// Distribution of the largest surprise of a normal tree, for each kind.
    pub(super) nulls: Vec<SurpriseLaw>,
}

#[derive(Clone, Copy, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Caller {
    pub(super) num_calls: u64,
    /// Number of trees that have it.
    pub(super) num_trees: u64,
    /// Share of its calls whose set of callees no other call has.
    pub(super) share_of_rarest: f64,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Context {
    pub(super) caller: FunctionNo,
    pub(super) func: FunctionNo,
    /// Number of trees that have it.
    pub(super) num_trees: u64,
    /// Number of calls of the caller that call the function, once or more often.
    pub(super) num_calls: u64,
    pub(super) law: Option<SizeLaw>,
    /// Number of times that such a call calls the function.
    pub(super) repeats: Option<SizeLaw>,
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

/// Converts the functions and weights of a trace to numbers of a model.
#[derive(Debug)]
pub(super) struct Numbers {
    /// Function numbers by [`FuncId`].
    of_func: Vec<FunctionNo>,
    /// Nanoseconds per unit, if weights are not times: see [`callgrove_model::WeightUnit`].
    ns_of_one: f64,
}

impl Numbers {
    pub(super) fn of(&self, func: FuncId) -> FunctionNo {
        self.of_func[func.index()]
    }

    /// Returns a weight in nanoseconds, or in another unit.
    pub(super) fn weight(&self, weight: DurationNs) -> f64 {
        weight.0.real() / self.ns_of_one
    }

    /// Returns ln(1 + w) of the exclusive time, or weight, w of a vertex.
    pub(super) fn log_weight(&self, tree: CsTree<'_>, vertex: usize) -> f64 {
        self.weight(tree.exclusive()[vertex]).max(0.0).ln_1p()
    }

    /// Returns the length, height and width of a tree: ln(1 + x) of its duration or weight, its height in edges, and
    /// the largest number of callees of one of its calls.
    pub(super) fn extents(&self, tree: CsTree<'_>) -> [f64; NUM_EXTENTS] {
        let (mut height, mut width) = (0, 0);
        for vertex in 0..tree.len() {
            height = height.max(tree.depth(vertex));
            width = width.max(tree.children(vertex).count());
        }
        let duration = self.weight(tree.duration()).max(0.0);
        [duration, height.real(), width.real()].map(f64::ln_1p)
    }
}

impl ContextModel {
    /// Returns the share of the calls of a function whose set of callees is as rare as this one or rarer.
    pub(super) fn callee_share(&self, caller: FunctionNo, set: &CalleeSet) -> f64 {
        let key = |callees: &Callees| {
            callees
                .caller
                .cmp(&caller)
                .then_with(|| callees.set.cmp(&set.funcs))
        };
        let place = self.callees.binary_search_by(key);
        let rarest = || self.callers[caller].share_of_rarest;
        place.map_or_else(|_| rarest(), |place| self.callees[place].share)
    }

    /// Returns the number of columns of the rows.
    pub fn num_columns(&self) -> usize {
        NUM_KINDS * (self.functions.len() + 1)
    }

    /// Returns the names of the functions that it knows.
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// Returns the numbers for a forest.
    pub(super) fn numbers(&self, forest: &Forest) -> Numbers {
        let number = |name: &str| {
            let place = self
                .functions
                .binary_search_by(|known| known.as_str().cmp(name));
            place.unwrap_or(self.functions.len())
        };
        let trace = forest.trace();
        Numbers {
            of_func: trace.names.iter().map(|(_, name)| number(name)).collect(),
            ns_of_one: trace.unit.ns_of_one().real(),
        }
    }

    /// Returns the number of the caller of roots, which is not a function.
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

    /// Returns the contexts of a caller.
    pub(super) fn contexts_of(&self, caller: FunctionNo) -> &[Context] {
        let from = self.contexts.partition_point(|it| it.caller < caller);
        let to = self.contexts.partition_point(|it| it.caller <= caller);
        &self.contexts[from..to]
    }

    /// Returns the number of trees that it was learned from.
    pub(super) fn num_known_trees(&self) -> u64 {
        self.callers[self.no_caller()].num_calls
    }

    /// Returns the distribution of the times of calls in a context.
    pub(super) fn law(&self, caller: FunctionNo, func: FunctionNo) -> &SizeLaw {
        let own = self
            .context(caller, func)
            .and_then(|context| context.law.as_ref());
        own.or_else(|| self.laws.get(func)?.as_ref())
            .unwrap_or(&self.law)
    }

    /// Returns whether its parts are consistent.
    pub fn is_valid(&self) -> bool {
        let num_functions = self.functions.len();
        let of_contexts = self.contexts.iter();
        let laws = of_contexts
            .flat_map(|context| [&context.law, &context.repeats])
            .chain(&self.laws)
            .chain(&self.nestings)
            .chain(&self.depths);
        let key = |context: &Context| (context.caller, context.func);
        self.functions.is_sorted()
            && self.callers.len() == num_functions + 2
            && [&self.laws, &self.nestings, &self.depths]
                .iter()
                .all(|laws| laws.len() == num_functions)
            && self.contexts.is_sorted_by(|a, b| key(a) < key(b))
            && self
                .contexts
                .iter()
                .all(|context| context.caller <= num_functions + 1 && context.func < num_functions)
            && self.callees.iter().all(|callees| {
                callees.caller < num_functions && callees.share > 0.0 && callees.share <= 1.0
            })
            && self.nulls.len() == NUM_KINDS
            && self.nulls.iter().all(SurpriseLaw::is_valid)
            && self.extents.len() == NUM_EXTENTS
            && laws
                .flatten()
                .chain([&self.law])
                .chain(&self.extents)
                .all(SizeLaw::is_valid)
    }
}

/// The different functions that a call calls.
#[derive(Default)]
pub(super) struct CalleeSet {
    /// The functions, ascending.
    pub(super) funcs: Vec<FunctionNo>,
    /// Number of calls of each.
    pub(super) counts: Vec<usize>,
    all: Vec<FunctionNo>,
}

impl CalleeSet {
    pub(super) fn collect(&mut self, tree: CsTree<'_>, vertex: usize, numbers: &Numbers) {
        self.all.clear();
        self.funcs.clear();
        self.counts.clear();
        let callees = tree.children(vertex);
        self.all
            .extend(callees.map(|callee| numbers.of(tree.funcs()[callee])));
        self.all.sort_unstable();
        for of_one in self.all.chunk_by(|a, b| a == b) {
            self.funcs.push(of_one[0]);
            self.counts.push(of_one.len());
        }
    }

    /// Returns the functions and how often each is called.
    pub(super) fn iter(&self) -> impl Iterator<Item = (FunctionNo, usize)> {
        self.funcs.iter().copied().zip(self.counts.iter().copied())
    }
}

/// The depth of a function in a tree.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct FunctionDepth {
    /// Maximum number of times that it is on one path from the root.
    pub(super) nesting: usize,
    /// Maximum depth: 0 for the root.
    pub(super) depth: usize,
}

/// Returns the depths of all functions of a tree.
pub(super) fn function_depths(
    tree: CsTree<'_>,
    numbers: &Numbers,
) -> BTreeMap<FunctionNo, FunctionDepth> {
    let mut places: BTreeMap<FunctionNo, FunctionDepth> = BTreeMap::new();
    let mut on_path: BTreeMap<FunctionNo, usize> = BTreeMap::new();
    let mut path: Vec<usize> = Vec::new();
    for vertex in 0..tree.len() {
        while let Some(&above) = path.last() {
            if tree.subtree_end(above) > vertex {
                break;
            }
            path.pop();
            if let Some(count) = on_path.get_mut(&numbers.of(tree.funcs()[above])) {
                *count -= 1;
            }
        }
        let func = numbers.of(tree.funcs()[vertex]);
        let nesting = on_path.entry(func).or_default();
        *nesting += 1;
        let place = places.entry(func).or_default();
        place.nesting = place.nesting.max(*nesting);
        place.depth = place.depth.max(path.len());
        path.push(vertex);
    }
    places
}
