//! The most surprising parts of one tree.

use std::collections::BTreeMap;

use callgrove_model::CsTree;

use super::law::SizeLaw;
use super::model::{
    CalleeSet, ContextModel, FunctionDepth, FunctionNo, NUM_KINDS, Numbers, function_depths,
};
use callgrove_trees::real::Real;

/// A surprise in nats, and the function that it concerns.
pub(super) type Surprise = (f64, FunctionNo);

/// Returns the most surprising parts of a tree, one of each kind: ln(1 + e^x) for x nats less ln of the number of
/// parts, and the share of time as in [`Parts::share`].
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
    let [one, several] = parts.times();
    let [context, edge] = parts.edges();
    let [callees, missing_of_call, missing_of_tree, repeated] = parts.calls();
    let [nesting, depth] = parts.places();
    let none = (f64::NEG_INFINITY, numbers.of(tree.funcs()[0]));
    let soft = |surprise: Option<Surprise>| {
        let (nats, func) = surprise.unwrap_or(none);
        (softplus(nats), func)
    };
    [
        soft(one),
        soft(several),
        parts.share(),
        soft(context),
        soft(edge),
        soft(callees),
        soft(missing_of_call),
        soft(missing_of_tree),
        soft(repeated),
        soft(nesting),
        soft(depth),
        parts.extent(),
    ]
}

/// Weight of small shares of a tree's time.
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

    /// Returns the call that took longest for its context; and the subtree, or all calls of a function together,
    /// whose times are jointly the most improbable.
    fn times(&self) -> [Option<Surprise>; 2] {
        // Subtrees are ranges in pre-order, so prefix sums of surprises give the sum of every subtree.
        let mut before = vec![0.0; self.tree.len() + 1];
        let mut of_function: BTreeMap<FunctionNo, (f64, f64)> = BTreeMap::new();
        for vertex in 0..self.tree.len() {
            let func = self.func(vertex);
            let law = self.model.law(self.caller(vertex), func);
            let surprise = law.surprise(self.numbers.log_weight(self.tree, vertex));
            before[vertex + 1] = before[vertex] + surprise;
            let sum = of_function.entry(func).or_default();
            sum.0 += surprise;
            sum.1 += 1.0;
        }
        let subtrees = (0..self.tree.len()).map(|vertex| {
            let end = self.tree.subtree_end(vertex);
            let surprise = before[end] - before[vertex];
            (
                joint_surprise(surprise, (end - vertex).real()),
                self.func(vertex),
            )
        });
        let functions = of_function
            .iter()
            .map(|(&func, &(sum, count))| (joint_surprise(sum, count), func));
        let single = (0..self.tree.len())
            .map(|vertex| (before[vertex + 1] - before[vertex], self.func(vertex)));
        [
            largest(single, self.tree.len()),
            largest(subtrees.chain(functions), self.tree.len()),
        ]
    }

    /// Returns the function whose calls together exceeded their usual time by the largest share of the tree's usual
    /// time: ln(1 + 20 e) with e that share, as in the rows of excess times. The usual time is the sum of the medians
    /// of the contexts.
    fn share(&self) -> Surprise {
        let mut excess: BTreeMap<FunctionNo, f64> = BTreeMap::new();
        let mut usual_of_tree = 0.0;
        for vertex in 0..self.tree.len() {
            let func = self.func(vertex);
            let usual = self.model.law(self.caller(vertex), func).median();
            usual_of_tree += usual;
            let weight = self.numbers.weight(self.tree.exclusive()[vertex]);
            *excess.entry(func).or_default() += weight - usual;
        }
        let most = excess
            .into_iter()
            .reduce(|best, next| if next.1 > best.1 { next } else { best });
        let (func, excess) = most.unwrap_or((self.func(0), 0.0));
        let share = (excess / usual_of_tree.max(1.0)).max(0.0);
        ((GAIN * share).ln_1p(), func)
    }

    /// Returns the most surprising extent of the tree.
    fn extent(&self) -> Surprise {
        let laws = self.model.extents.iter();
        let surprises = laws
            .zip(self.numbers.extents(self.tree))
            .map(|(law, extent)| law.surprise(extent));
        (softplus(surprises.fold(0.0, f64::max)), self.func(0))
    }

    /// Returns the rarest context: by the share of the trees with the caller in which the function is under it, and
    /// by the share of all trees. A context of no tree counts as half a tree.
    fn edges(&self) -> [Option<Surprise>; 2] {
        let mut contexts: Vec<(FunctionNo, FunctionNo)> = (0..self.tree.len())
            .map(|vertex| (self.caller(vertex), self.func(vertex)))
            .collect();
        contexts.sort_unstable();
        contexts.dedup();
        let surprise = |(caller, func): (FunctionNo, FunctionNo), num_trees: u64| {
            let known = self.model.context(caller, func);
            let num_with = known.map_or(0.5, |context| context.num_trees.real());
            ((num_trees.max(1).real() / num_with).ln(), func)
        };
        let of_caller =
            |&edge: &(FunctionNo, FunctionNo)| surprise(edge, self.model.caller(edge.0).num_trees);
        let of_all =
            |&edge: &(FunctionNo, FunctionNo)| surprise(edge, self.model.num_known_trees());
        [
            largest(contexts.iter().map(of_caller), contexts.len()),
            largest(contexts.iter().map(of_all), contexts.len()),
        ]
    }

    /// Returns the most surprising calls by:
    ///
    ///
    /// * the rarity of a set of callees as rare as this one for such a caller. So a missing callee that is always
    ///   there is surprising, and if no two calls are alike nothing is;
    /// * the rarity of such a caller without a function that most of its calls have: with k of n calls that have it,
    ///   (n − k + 1/2) / (n + 1), the estimate of Krichevsky and Trofimov (1981), which is above 0;
    /// * the rarity of such a tree lacking anything that is as rarely missing: the sum of these shares over all
    ///   expected callees that are missing at most as rarely. If a tree has many calls that never lack anything, the
    ///   number of calls counts more against a tree than it should, and if few do, less;
    /// * the rarity of such a caller calling a function this often, if it calls it at all.
    fn calls(&self) -> [Option<Surprise>; 4] {
        let mut set = CalleeSet::default();
        let (mut sets, mut missing, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        let mut shares_without = Vec::new();
        for vertex in 0..self.tree.len() {
            let func = self.func(vertex);
            set.collect(self.tree, vertex, self.numbers);
            sets.push((-self.model.callee_share(func, &set).ln(), func));
            let num_calls = self.model.caller(func).num_calls;
            for context in self.model.contexts_of(func) {
                if 2 * context.num_calls <= num_calls {
                    continue;
                }
                let num_without = num_calls.saturating_sub(context.num_calls).real() + 0.5;
                let share = num_without / (num_calls.real() + 1.0);
                shares_without.push(share);
                if set.funcs.binary_search(&context.func).is_err() {
                    missing.push((-share.ln(), context.func));
                }
            }
            for (callee, count) in set.iter() {
                let known = self.model.context(func, callee);
                if let Some(law) = known.and_then(|context| context.repeats.as_ref()) {
                    repeated.push((law.surprise(count.real().ln_1p()), callee));
                }
            }
        }
        let num_repeated = repeated.len() + 1;
        let of_tree = largest(missing.iter().copied(), 1).map(|(nats, func)| {
            let as_rare = shares_without.iter().filter(|share| -share.ln() >= nats);
            (-as_rare.sum::<f64>().ln(), func)
        });
        [
            largest(sets.into_iter(), self.tree.len()),
            largest(missing.into_iter(), shares_without.len() + 1),
            of_tree,
            largest(repeated.into_iter(), num_repeated),
        ]
    }

    /// Returns the function whose nesting on one path from the root, and the one whose depth, is the rarest.
    fn places(&self) -> [Option<Surprise>; 2] {
        let places = function_depths(self.tree, self.numbers);
        let of = |laws: &[Option<SizeLaw>], count: fn(&FunctionDepth) -> usize| {
            let known = places.iter().filter_map(|(&func, place)| {
                let law = laws.get(func)?.as_ref()?;
                Some((law.surprise(count(place).real().ln_1p()), func))
            });
            largest(known, places.len() + 1)
        };
        [
            of(&self.model.nestings, |place| place.nesting),
            of(&self.model.depths, |place| place.depth),
        ]
    }
}

/// Returns the largest of several surprises, less ln of their number; the first of equal ones.
fn largest(found: impl Iterator<Item = Surprise>, num_looked_at: usize) -> Option<Surprise> {
    let largest = found.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    Some((largest.0 - (num_looked_at.max(1).real()).ln(), largest.1))
}

/// Returns the joint surprise of several surprises: −ln of Chernoff's bound on the probability that `count`
/// exponential variables of mean 1 sum up to `sum` or more (the combination of Fisher 1925, section 21.1).
fn joint_surprise(sum: f64, count: f64) -> f64 {
    if sum <= count {
        return 0.0;
    }
    sum - count - count * (sum / count).ln()
}

/// Returns ln(1 + e^x): 0 for small x, x for large.
pub(super) fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_small_surprises_are_a_large_one() {
        assert!(joint_surprise(0.5, 1.0) <= 0.0);
        assert!((joint_surprise(10.0, 1.0) - (9.0 - 10.0_f64.ln())).abs() < 1e-12);
        assert!(joint_surprise(40.0, 20.0) > joint_surprise(3.0, 1.0));
    }
}
