//! The most surprising parts of one tree.

use std::collections::BTreeMap;

use callgrove_model::CsTree;

use super::model::{CalleeSet, ContextModel, FunctionNo, NUM_KINDS, Numbers, extents, log_time};
use crate::real::Real;

/// A surprise in nats, and the function that it is about.
pub(super) type Surprise = (f64, FunctionNo);

/// The most surprising parts of a tree, one of each kind: ln(1 + e^x) for x nats less ln of the number of
/// parts, and the share of time as [`Parts::share`] has it.
pub(super) fn surprises(
    tree: CsTree<'_>,
    numbers: &Numbers,
    model: &ContextModel,
) -> [Surprise; NUM_KINDS] {
    let parts = Parts {
        tree,
        numbers,
        model,
    };
    let none = (0.0, numbers.of(tree.funcs()[0]));
    let (of_one, of_several) = parts.times();
    let [one, several, caller, callees] = [of_one, of_several, parts.contexts(), parts.callees()]
        .map(|surprise| {
            let (nats, func) = surprise.unwrap_or(none);
            (softplus(nats), func)
        });
    [one, several, parts.share(), caller, callees, parts.extent()]
}

/// How much small shares of a tree's time count.
const GAIN: f64 = 20.0;

struct Parts<'a> {
    tree: CsTree<'a>,
    numbers: &'a Numbers,
    model: &'a ContextModel,
}

impl Parts<'_> {
    fn func(&self, vertex: usize) -> FunctionNo {
        self.numbers.of(self.tree.funcs()[vertex])
    }

    fn caller(&self, vertex: usize) -> FunctionNo {
        let caller = self.tree.parent(vertex);
        caller.map_or(self.model.no_caller(), |caller| self.func(caller))
    }

    /// Of all calls the one that took longest for what it is; and of all subtrees, and all calls of a
    /// function together, those whose times are most improbable together.
    fn times(&self) -> (Option<Surprise>, Option<Surprise>) {
        // Subtrees are ranges in pre-order, so sums of surprises before each vertex give those of all.
        let mut before = vec![0.0; self.tree.len() + 1];
        let mut of_function: BTreeMap<FunctionNo, (f64, f64)> = BTreeMap::new();
        for vertex in 0..self.tree.len() {
            let func = self.func(vertex);
            let law = self.model.law(self.caller(vertex), func);
            let surprise = law.surprise(log_time(self.tree, vertex));
            before[vertex + 1] = before[vertex] + surprise;
            let sum = of_function.entry(func).or_default();
            sum.0 += surprise;
            sum.1 += 1.0;
        }
        let subtrees = (0..self.tree.len()).map(|vertex| {
            let end = self.tree.subtree_end(vertex);
            let surprise = before[end] - before[vertex];
            (together(surprise, (end - vertex).real()), self.func(vertex))
        });
        let functions = of_function
            .iter()
            .map(|(&func, &(sum, count))| (together(sum, count), func));
        let single = (0..self.tree.len())
            .map(|vertex| (before[vertex + 1] - before[vertex], self.func(vertex)));
        (
            largest(single, self.tree.len()),
            largest(subtrees.chain(functions), self.tree.len()),
        )
    }

    /// Of all functions the one whose calls together took most of the tree's usual time more than usual:
    /// ln(1 + 20 e) with e that share, as in the rows of excess times. What is usual is the sum of the
    /// medians of the contexts.
    fn share(&self) -> Surprise {
        let mut excess: BTreeMap<FunctionNo, f64> = BTreeMap::new();
        let mut usual_of_tree = 0.0;
        for vertex in 0..self.tree.len() {
            let func = self.func(vertex);
            let usual = self.model.law(self.caller(vertex), func).median();
            usual_of_tree += usual;
            *excess.entry(func).or_default() += self.tree.exclusive()[vertex].0.real() - usual;
        }
        let most = excess
            .into_iter()
            .reduce(|best, next| if next.1 > best.1 { next } else { best });
        let (func, excess) = most.unwrap_or((self.func(0), 0.0));
        let share = (excess / usual_of_tree.max(1.0)).max(0.0);
        ((GAIN * share).ln_1p(), func)
    }

    /// The most surprising extent of the tree.
    fn extent(&self) -> Surprise {
        let laws = self.model.extents.iter();
        let surprises = laws
            .zip(extents(self.tree))
            .map(|(law, extent)| law.surprise(extent));
        (softplus(surprises.fold(0.0, f64::max)), self.func(0))
    }

    /// Of all contexts: in how few of the trees that have the caller the function stands under it.
    fn contexts(&self) -> Option<Surprise> {
        let mut contexts: Vec<(FunctionNo, FunctionNo)> = (0..self.tree.len())
            .map(|vertex| (self.caller(vertex), self.func(vertex)))
            .collect();
        contexts.sort_unstable();
        contexts.dedup();
        let num_contexts = contexts.len();
        let surprises = contexts.into_iter().map(|(caller, func)| {
            let known = self.model.context(caller, func);
            let num_with = known.map_or(0.5, |context| context.num_trees.real());
            let num_trees = self.model.caller(caller).num_trees;
            ((num_trees.max(1).real() / num_with).ln(), func)
        });
        largest(surprises, num_contexts)
    }

    /// Of all calls: how rarely such a caller has a set of callees as rare as this one. So something that
    /// is always there is missed, and where no two calls are alike nothing is.
    fn callees(&self) -> Option<Surprise> {
        let mut set = CalleeSet::default();
        let surprises = (0..self.tree.len()).map(|vertex| {
            let func = self.func(vertex);
            set.collect(self.tree, vertex, self.numbers);
            (-self.model.callee_share(func, &set).ln(), func)
        });
        largest(surprises, self.tree.len())
    }
}

/// The largest of several surprises, less ln of the number that were looked at; the first of equals.
fn largest(found: impl Iterator<Item = Surprise>, num_looked_at: usize) -> Option<Surprise> {
    let largest = found.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    Some((largest.0 - (num_looked_at.max(1).real()).ln(), largest.1))
}

/// The surprise of several surprises together: −ln of Chernoff's bound on the probability that `count`
/// exponential variables of mean 1 sum up to `sum` or more (the combination of Fisher 1925, section
/// 21.1).
fn together(sum: f64, count: f64) -> f64 {
    if sum <= count {
        return 0.0;
    }
    sum - count - count * (sum / count).ln()
}

/// ln(1 + e^x): 0 for small x, x for large.
pub(super) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_surprises_are_a_large_one() {
        assert!(together(0.5, 1.0) <= 0.0);
        assert!((together(10.0, 1.0) - (9.0 - 10.0_f64.ln())).abs() < 1e-12);
        assert!(together(40.0, 20.0) > together(3.0, 1.0));
    }
}
