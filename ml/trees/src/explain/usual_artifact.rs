//! The usual trees as stored in a model, so that trees of later runs are explained by its training.

use std::collections::{BTreeMap, BTreeSet};

use callgrove_model::{Forest, FuncId, NameTable, Progress};
use serde::{Deserialize, Serialize};

use super::calls::{CallTime, Expected, UsualCalls};
use super::merge::{CallPath, NONE, PathTotal};
use super::paths::{CallPaths, KnownPaths};
use super::shape::Shapes;
use super::usual::{MergedTree, UsualKind, UsualPath, UsualTree, UsualTrees, spread};
use crate::error::{MlError, Result};
use crate::function_match::FunctionMatch;

/// Maximum number of paths that a model stores, those of all kinds and trees together: some hundred kilobytes.
const MAX_STORED_PATHS: usize = 8_192;
/// Largest time and count that are stored: 78 hours; sums of [`MAX_STORED_PATHS`] of them do not overflow.
const MAX_VALUE: u64 = 1 << 48;

/// The usual trees of a training, with the names of their functions.
///
/// Kinds and other trees are stored, the most common first, up to the maximum number of paths; the rest counts as
/// unknown to the training.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsualArtifact {
    /// Resolution of the clock of the training in nanoseconds, at least 1.
    tick_ns: i64,
    /// Number of normal trees of the training.
    num_trees: usize,
    /// Names of functions.
    functions: Vec<String>,
    /// Paths, callers first.
    paths: Vec<StoredPath>,
    /// The pairs of caller's function and function, in order of their first path.
    edges: Vec<StoredEdge>,
    /// The functions that calls of a function are expected to call.
    expected: Vec<StoredExpectation>,
    /// Kinds of trees, the most common first.
    kinds: Vec<StoredTree<UsualPath>>,
    /// Trees of rare shapes.
    others: Vec<StoredTree<PathTotal>>,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPath {
    /// Path of the caller; `None` for a root.
    caller: Option<CallPath>,
    /// Index of the name.
    function: usize,
    /// Number of normal trees that have it.
    num_trees: usize,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEdge {
    num_trees: usize,
    time: CallTime,
}

#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredExpectation {
    caller: usize,
    function: usize,
    rarity: f64,
}

/// A kind, or a tree.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredTree<P> {
    num_trees: usize,
    duration_ns: i64,
    paths: Vec<P>,
}

impl UsualArtifact {
    /// Creates the stored form of `usual`, the usual trees of `forest` with its `paths`.
    pub fn new(forest: &Forest, paths: &CallPaths, usual: &UsualTrees) -> Self {
        let mut num_free = MAX_STORED_PATHS;
        let mut fits = |len: usize| {
            let fits = len <= num_free;
            num_free -= if fits { len } else { 0 };
            fits
        };
        let kinds = usual.kinds.iter().map(|kind| &kind.usual);
        let kinds: Vec<&UsualTree> = kinds.filter(|kind| fits(kind.paths.len())).collect();
        let others: Vec<&MergedTree> = usual.others.iter().collect();
        let num_paths: usize = others.iter().map(|tree| tree.totals.len()).sum();
        let most = others.len() * MAX_STORED_PATHS / num_paths.max(1);
        let mut others = spread(&others, most);
        others.retain(|tree| fits(tree.totals.len()));
        let mut stored = PathCollector::new(forest);
        let of_kinds = kinds.iter().flat_map(|kind| kind.paths.iter());
        let of_others = others.iter().flat_map(|tree| tree.totals.iter());
        let of_kinds = of_kinds.map(|usual| usual.path);
        let needed: BTreeSet<CallPath> =
            of_kinds.chain(of_others.map(|total| total.path)).collect();
        for path in needed {
            stored.keep(path, paths, usual);
        }
        let expected = usual.calls.expected().filter_map(|(caller, expected)| {
            Some(StoredExpectation {
                caller: *stored.place_of_func.get(&caller)?,
                function: *stored.place_of_func.get(&expected.func)?,
                rarity: expected.rarity,
            })
        });
        let place = |path: CallPath| stored.place_of_path[&path];
        Self {
            tick_ns: paths.tick_ns,
            num_trees: usual.num_trees,
            expected: expected.collect(),
            kinds: kinds.iter().map(|kind| stored_kind(kind, place)).collect(),
            others: others.iter().map(|tree| stored_tree(tree, place)).collect(),
            functions: stored.functions,
            paths: stored.paths,
            edges: stored.edges,
        }
    }

    /// Returns the usual trees, together with the paths of `forest`, and the names of all functions: those of the
    /// forest and of the model.
    ///
    /// # Errors
    /// [`MlError::Cancelled`].
    pub fn of_forest(
        &self,
        forest: &Forest,
        progress: Progress<'_>,
    ) -> Result<(NameTable<FuncId>, CallPaths, UsualTrees)> {
        let mut names = forest.trace().names.clone();
        let matched = FunctionMatch::new(&self.functions, &names, |_| true);
        let functions = self.functions.iter().enumerate();
        let funcs: Vec<FuncId> = functions
            .map(|(place, name)| matched.run_of(place).unwrap_or_else(|| names.intern(name)))
            .collect();
        let mut paths = CallPaths {
            known: KnownPaths::default(),
            shapes: Shapes::default(),
            tick_ns: self.tick_ns,
        };
        for path in &self.paths {
            let caller = path.caller.unwrap_or(NONE);
            paths.known.intern(caller, funcs[path.function]);
        }
        let mut kinds = Vec::with_capacity(self.kinds.len());
        for kind in &self.kinds {
            let counts = kind.paths.iter().map(|usual| (usual.path, usual.count[1]));
            kinds.push(UsualKind {
                shape: paths.shapes.intern(counts),
                usual: UsualTree {
                    paths: kind.paths.clone(),
                    middle: None,
                    duration_ns: kind.duration_ns,
                    num_trees: kind.num_trees,
                    is_same_shape: true,
                    is_kind: true,
                },
            });
        }
        let mut kind_of_shape = vec![None; paths.shapes.len()];
        for (place, kind) in kinds.iter().enumerate() {
            kind_of_shape[kind.shape] = Some(place);
        }
        let others = self.others.iter().map(|tree| MergedTree {
            tree: None,
            shape: (paths.shapes).intern(tree.paths.iter().map(|it| (it.path, it.count))),
            duration_ns: tree.duration_ns,
            totals: tree.paths.clone(),
        });
        let others = others.collect();
        let mut expected: BTreeMap<FuncId, Vec<Expected>> = BTreeMap::new();
        for stored in &self.expected {
            let of_caller = expected.entry(funcs[stored.caller]).or_default();
            of_caller.push(Expected {
                func: funcs[stored.function],
                rarity: stored.rarity,
            });
        }
        let times = self.edges.iter().map(|edge| edge.time).collect();
        let usual = UsualTrees {
            num_trees: self.num_trees,
            num_with_path: self.paths.iter().map(|path| path.num_trees).collect(),
            num_with_edge: self.edges.iter().map(|edge| edge.num_trees).collect(),
            calls: UsualCalls::new(times, expected),
            kinds,
            kind_of_shape,
            others,
        };
        paths.extend(forest, progress)?;
        Ok((names, paths, usual))
    }

    /// Checks that all its parts are consistent.
    ///
    /// # Errors
    /// [`MlError::DamagedModel`] if they are not.
    pub fn check(&self) -> Result<()> {
        let is_number = |number: f64| number.is_finite() && number >= 0.0;
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        let is_time = |time_ns: i64| u64::try_from(time_ns).is_ok_and(|it| it <= MAX_VALUE);
        let is_count = |num_trees: usize| num_trees <= self.num_trees;
        let is_function = |function: usize| function < self.functions.len();
        let is_of_paths = |path: CallPath| path < self.paths.len();
        let edges = self.edges.iter();
        let expected = self.expected.iter();
        let is_valid = self.tick_ns >= 1
            && self.num_trees >= 1
            && is_distinct(self.functions.iter())
            && is_distinct(self.paths.iter().map(|it| (it.caller, it.function)))
            && self.paths.iter().enumerate().all(|(at, it)| {
                it.caller.is_none_or(|caller| caller < at)
                    && is_function(it.function)
                    && is_count(it.num_trees)
            })
            && self.edges.len() == self.num_edges()
            && edges.clone().all(|it| is_count(it.num_trees))
            && edges.flat_map(|it| it.time.numbers()).all(is_number)
            && expected
                .clone()
                .all(|it| is_function(it.caller) && is_function(it.function))
            && expected.map(|it| it.rarity).all(is_share);
        let kinds = self.kinds.iter();
        let are_kinds_valid = kinds.clone().all(|kind| {
            kind.paths.is_sorted_by(|a, b| a.path < b.path)
                && (1..=self.num_trees).contains(&kind.num_trees)
                && is_time(kind.duration_ns)
        }) && kinds.flat_map(|kind| &kind.paths).all(|it| {
            is_of_paths(it.path)
                && is_share(it.share)
                && it.count.iter().all(|&count| count <= MAX_VALUE)
                && it.exclusive_ns.iter().all(|&time| is_time(time))
        });
        let others = self.others.iter();
        let are_others_valid = others.clone().all(|tree| {
            tree.paths.is_sorted_by(|a, b| a.path < b.path) && is_time(tree.duration_ns)
        }) && others
            .flat_map(|tree| &tree.paths)
            .all(|it| is_of_paths(it.path) && it.count <= MAX_VALUE && is_time(it.exclusive_ns));
        if is_valid
            && are_kinds_valid
            && are_others_valid
            && self.num_stored_paths() <= MAX_STORED_PATHS
        {
            return Ok(());
        }
        Err(MlError::DamagedModel {
            reason: "its usual trees are inconsistent",
        })
    }

    fn num_stored_paths(&self) -> usize {
        let kinds = self.kinds.iter().map(|kind| kind.paths.len());
        let others = self.others.iter().map(|tree| tree.paths.len());
        kinds.chain(others).sum()
    }

    /// Returns the number of pairs of caller's function and function; that of a root is its own.
    fn num_edges(&self) -> usize {
        let of_caller = |path: &StoredPath| Some(self.paths.get(path.caller?)?.function);
        let edges = self
            .paths
            .iter()
            .map(|path| (of_caller(path), path.function));
        edges.collect::<BTreeSet<_>>().len()
    }
}

fn is_distinct<T: Ord>(items: impl Iterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    items.into_iter().all(|item| seen.insert(item))
}

fn stored_kind(kind: &UsualTree, place: impl Fn(CallPath) -> CallPath) -> StoredTree<UsualPath> {
    let paths = kind.paths.iter().map(|usual| UsualPath {
        path: place(usual.path),
        count: usual.count.map(|count| count.min(MAX_VALUE)),
        exclusive_ns: usual.exclusive_ns.map(stored_ns),
        ..*usual
    });
    StoredTree {
        num_trees: kind.num_trees,
        duration_ns: stored_ns(kind.duration_ns),
        paths: paths.collect(),
    }
}

fn stored_tree(tree: &MergedTree, place: impl Fn(CallPath) -> CallPath) -> StoredTree<PathTotal> {
    let paths = tree.totals.iter().map(|total| PathTotal {
        path: place(total.path),
        count: total.count.min(MAX_VALUE),
        exclusive_ns: stored_ns(total.exclusive_ns),
    });
    StoredTree {
        num_trees: 1,
        duration_ns: stored_ns(tree.duration_ns),
        paths: paths.collect(),
    }
}

fn stored_ns(time_ns: i64) -> i64 {
    time_ns.clamp(0, i64::try_from(MAX_VALUE).unwrap_or(i64::MAX))
}

/// Collects the stored paths, and renumbers them.
struct PathCollector<'f> {
    names: &'f NameTable<FuncId>,
    functions: Vec<String>,
    place_of_func: BTreeMap<FuncId, usize>,
    known: KnownPaths,
    place_of_path: BTreeMap<CallPath, CallPath>,
    paths: Vec<StoredPath>,
    edges: Vec<StoredEdge>,
}

impl<'f> PathCollector<'f> {
    fn new(forest: &'f Forest) -> Self {
        Self {
            names: &forest.trace().names,
            functions: Vec::new(),
            place_of_func: BTreeMap::new(),
            known: KnownPaths::default(),
            place_of_path: BTreeMap::new(),
            paths: Vec::new(),
            edges: Vec::new(),
        }
    }

    /// Stores the next path; that of its caller is stored already, since a tree that has a path has its caller's too.
    fn keep(&mut self, path: CallPath, paths: &CallPaths, usual: &UsualTrees) {
        let func = paths.func(path);
        let caller = paths.caller(path).map(|caller| self.place_of_path[&caller]);
        let place = self.known.intern(caller.unwrap_or(NONE), func);
        self.place_of_path.insert(path, place);
        let next = self.functions.len();
        let function = *self.place_of_func.entry(func).or_insert(next);
        if function == next {
            self.functions.push(self.names.name(func).to_owned());
        }
        self.paths.push(StoredPath {
            caller,
            function,
            num_trees: usual.num_with_path[path],
        });
        if self.known.edge(place) == self.edges.len() {
            let edge = paths.edge(path);
            self.edges.push(StoredEdge {
                num_trees: usual.num_with_edge[edge],
                time: usual.calls.time(edge),
            });
        }
    }
}
