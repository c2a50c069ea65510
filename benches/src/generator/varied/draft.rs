//! A tree under construction.

use std::f64::consts::TAU;

use callgrove_model::FuncId;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Probability that a vertex is heavy by chance, which is normal: an interrupt of the operating system, a shared post.
const INTERRUPTION_CHANCE: f64 = 3e-4;

/// The function, or other label, of a vertex, with its weight distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct WeightedName {
    pub(super) name: &'static str,
    /// Median of its exclusive weight.
    pub(super) median: f64,
    /// Standard deviation of the logarithm.
    pub(super) deviation: f64,
}

impl WeightedName {
    pub(super) const fn new(name: &'static str, median: f64, deviation: f64) -> Self {
        Self {
            name,
            median,
            deviation,
        }
    }
}

/// Names in the order of first occurrence, each with its median weight.
#[derive(Clone, Debug, Default)]
pub(super) struct NameMedians {
    words: Vec<(String, f64)>,
}

impl NameMedians {
    pub(super) fn intern(&mut self, name: &str, median: f64) -> FuncId {
        let found = self.words.iter().position(|(other, _)| other == name);
        FuncId(found.unwrap_or_else(|| {
            self.words.push((name.to_owned(), median));
            self.words.len() - 1
        }) as u32)
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    pub(super) fn median(&self, func: FuncId) -> f64 {
        self.words[func.index()].1
    }

    pub(super) fn into_names(self) -> Vec<String> {
        self.words.into_iter().map(|(name, _)| name).collect()
    }
}

/// A tree; parents precede children, the root is first.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Draft {
    /// Parent of each vertex; -1 for the root.
    pub(super) parent: Vec<i64>,
    pub(super) func: Vec<FuncId>,
    /// Exclusive weight of each vertex.
    pub(super) own: Vec<f64>,
    /// Usual exclusive weight for this function and load.
    pub(super) usual: Vec<f64>,
    /// True for a part that its parent always has.
    pub(super) is_part: Vec<bool>,
}

impl Draft {
    pub(super) fn len(&self) -> usize {
        self.parent.len()
    }

    pub(super) fn parent_of(&self, vertex: usize) -> Option<usize> {
        usize::try_from(self.parent[vertex]).ok()
    }

    /// Returns the number of edges from the root to each vertex.
    pub(super) fn depths(&self) -> Vec<usize> {
        let mut depths = vec![0; self.len()];
        for vertex in 1..self.len() {
            depths[vertex] = self
                .parent_of(vertex)
                .map_or(0, |parent| depths[parent] + 1);
        }
        depths
    }

    /// Returns whether each vertex belongs to the subtree of `top`.
    pub(super) fn is_below(&self, top: usize) -> Vec<bool> {
        let mut is_below = vec![false; self.len()];
        is_below[top] = true;
        for vertex in top + 1..self.len() {
            is_below[vertex] = self
                .parent_of(vertex)
                .is_some_and(|parent| is_below[parent]);
        }
        is_below
    }

    /// Returns the sums of `values` over the subtree of each vertex.
    pub(super) fn subtree_sums(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = values.to_vec();
        for vertex in (1..self.len()).rev() {
            if let Some(parent) = self.parent_of(vertex) {
                sums[parent] += sums[vertex];
            }
        }
        sums
    }

    pub(super) fn push(
        &mut self,
        parent: Option<usize>,
        func: FuncId,
        own: f64,
        usual: f64,
    ) -> usize {
        self.parent.push(parent.map_or(-1, |parent| parent as i64));
        self.func.push(func);
        self.own.push(own);
        self.usual.push(usual);
        self.is_part.push(false);
        self.len() - 1
    }

    /// Removes a subtree.
    pub(super) fn remove(&mut self, top: usize) {
        let is_gone = self.is_below(top);
        let mut place = 0;
        let places: Vec<i64> = is_gone
            .iter()
            .map(|is_gone| {
                let this = place;
                place += i64::from(!is_gone);
                this
            })
            .collect();
        let old = std::mem::take(self);
        for vertex in (0..old.len()).filter(|&vertex| !is_gone[vertex]) {
            let parent = old.parent_of(vertex).map(|parent| places[parent] as usize);
            let made = self.push(parent, old.func[vertex], old.own[vertex], old.usual[vertex]);
            self.is_part[made] = old.is_part[vertex];
        }
    }
}

/// Builds a [`Draft`].
pub(super) struct Grower<'a> {
    pub(super) rng: &'a mut ChaCha8Rng,
    words: &'a mut NameMedians,
    load: f64,
    draft: Draft,
}

impl<'a> Grower<'a> {
    /// Creates an empty tree whose weights are `load` times the usual ones.
    pub(super) fn new(rng: &'a mut ChaCha8Rng, words: &'a mut NameMedians, load: f64) -> Self {
        Self {
            rng,
            words,
            load,
            draft: Draft::default(),
        }
    }

    pub(super) fn finish(self) -> Draft {
        self.draft
    }

    /// Returns the number of vertices so far.
    pub(super) fn len(&self) -> usize {
        self.draft.len()
    }

    /// Adds the root.
    pub(super) fn root(&mut self, function: WeightedName) -> usize {
        self.push(None, function, 1.0)
    }

    pub(super) fn call(&mut self, caller: usize, function: WeightedName) -> usize {
        self.push(Some(caller), function, 1.0)
    }

    /// Adds a call with `factor` times the usual work.
    pub(super) fn call_with(
        &mut self,
        caller: usize,
        function: WeightedName,
        factor: f64,
    ) -> usize {
        self.push(Some(caller), function, factor)
    }

    /// Adds a call that its caller always makes.
    pub(super) fn part(&mut self, caller: usize, function: WeightedName) -> usize {
        let part = self.call(caller, function);
        self.draft.is_part[part] = true;
        part
    }

    /// Adds, with this probability, a call under a random vertex of the tree so far.
    pub(super) fn stray(&mut self, function: WeightedName, chance: f64) {
        if self.chance(chance) {
            let caller = self.rng.random_range(0..self.len());
            self.call(caller, function);
        }
    }

    pub(super) fn chance(&mut self, chance: f64) -> bool {
        self.rng.random_bool(chance)
    }

    /// Returns an integer from `least` to `most` with a tail like x^-`exponent`.
    pub(super) fn heavy_tailed(&mut self, least: f64, exponent: f64, most: usize) -> usize {
        let uniform: f64 = 1.0 - self.rng.random::<f64>();
        ((least * uniform.powf(-1.0 / exponent)) as usize).min(most)
    }

    pub(super) fn log_normal(&mut self, deviation: f64) -> f64 {
        log_normal(self.rng, deviation)
    }

    fn push(&mut self, caller: Option<usize>, function: WeightedName, factor: f64) -> usize {
        let interruption = if self.chance(INTERRUPTION_CHANCE) {
            self.rng.random_range(3.0..6.0)
        } else {
            1.0
        };
        let usual = function.median * factor * self.load;
        let own = usual * interruption * self.log_normal(function.deviation);
        let func = self.words.intern(function.name, function.median);
        self.draft.push(caller, func, own, usual)
    }
}

/// Returns exp of a normal number with this deviation.
pub(super) fn log_normal(rng: &mut ChaCha8Rng, deviation: f64) -> f64 {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    (deviation * radius * (TAU * rng.random::<f64>()).cos()).exp()
}
