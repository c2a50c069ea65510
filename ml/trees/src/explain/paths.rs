//! Call paths of a forest, and trees merged by them.

use callgrove_model::{CsTree, Forest, FuncId, Progress, TreeIdx};

use super::merge::{CallPath, Merger, NONE, PathTotal};
use super::shape::Shapes;
use crate::error::Result;
use crate::real::fraction;
use crate::wl::mixing::MixedMap;

/// Number of trees between two reports of progress.
const TREES_PER_REPORT: usize = 1_024;

/// All call paths of a forest and the shape of each tree.
///
/// Computed once for a forest, in time linear in its vertices; memory grows with the different paths and shapes, not
/// with the vertices.
#[derive(Clone, Debug)]
pub struct CallPaths {
    pub(super) known: KnownPaths,
    pub(super) shapes: Shapes,
    /// Greatest common divisor of all inclusive times, which is the resolution of the clock, at least 1.
    pub(super) tick_ns: i64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct KnownPaths {
    func: Vec<FuncId>,
    /// Caller of each path; [`NONE`] for a root.
    caller: Vec<CallPath>,
    /// Number of the pair of caller's function and function; that of a root is its own.
    edge: Vec<usize>,
    paths: MixedMap<u64, CallPath>,
    edges: MixedMap<u64, usize>,
}

impl CallPaths {
    /// Reads all trees of `forest`.
    ///
    /// # Errors
    /// [`crate::MlError::Cancelled`].
    pub fn of(forest: &Forest, progress: Progress<'_>) -> Result<Self> {
        let mut paths = Self {
            known: KnownPaths::default(),
            shapes: Shapes::default(),
            tick_ns: 0,
        };
        paths.extend(forest, progress)?;
        for index in 0..forest.len() {
            for time in forest.tree(TreeIdx::from_index(index)).inclusive() {
                if paths.tick_ns != 1 {
                    paths.tick_ns = common_divisor(paths.tick_ns, time.0);
                }
            }
        }
        paths.tick_ns = paths.tick_ns.max(1);
        Ok(paths)
    }

    /// Reads all trees of `forest`, whose shapes become the first ones; the resolution of the clock stays.
    pub(super) fn extend(&mut self, forest: &Forest, progress: Progress<'_>) -> Result<()> {
        let mut merger = Merger::default();
        for index in 0..forest.len() {
            if index.is_multiple_of(TREES_PER_REPORT) {
                progress.at(fraction(index, forest.len()))?;
            }
            let tree = forest.tree(TreeIdx::from_index(index));
            let totals = merger.merge(tree, |caller, func| self.known.intern(caller, func));
            self.shapes.push(totals);
        }
        Ok(())
    }

    /// Returns the number of paths.
    pub(super) fn len(&self) -> usize {
        self.known.func.len()
    }

    /// Returns the number of different pairs of caller's function and function.
    pub(super) fn num_edges(&self) -> usize {
        self.known.edges.len()
    }

    pub(super) fn func(&self, path: CallPath) -> FuncId {
        self.known.func[path]
    }

    /// Returns the path of the caller; `None` for a root.
    pub(super) fn caller(&self, path: CallPath) -> Option<CallPath> {
        Some(self.known.caller[path]).filter(|&caller| caller != NONE)
    }

    /// Returns the path of a callee of a path, if any tree has it.
    pub(super) fn callee(&self, path: CallPath, func: FuncId) -> Option<CallPath> {
        self.known.find(path, func)
    }

    /// Returns the number of the pair of caller's function and function.
    pub(super) fn edge(&self, path: CallPath) -> usize {
        self.known.edge(path)
    }

    /// Returns the functions of a path, the root first.
    pub(super) fn funcs(&self, path: CallPath) -> Vec<FuncId> {
        let mut funcs: Vec<FuncId> = std::iter::successors(Some(path), |&path| self.caller(path))
            .map(|path| self.func(path))
            .collect();
        funcs.reverse();
        funcs
    }

    /// Returns the totals of a tree of the forest that the paths belong to, in order of path.
    pub(super) fn merge<'a>(&self, merger: &'a mut Merger, tree: CsTree<'_>) -> &'a [PathTotal] {
        // Each path of the forest is known; in another forest's tree an unknown callee counts as its caller.
        merger.merge(tree, |caller, func| {
            let root = if caller == NONE { 0 } else { caller };
            self.known.find(caller, func).unwrap_or(root)
        })
    }
}

impl KnownPaths {
    /// Returns the number of the pair of caller's function and function: the next one if it is new.
    pub(super) fn edge(&self, path: CallPath) -> usize {
        self.edge[path]
    }

    fn find(&self, caller: CallPath, func: FuncId) -> Option<CallPath> {
        self.paths.get(&pair(caller, func)).copied()
    }

    /// Returns the path of a callee of a path; a new one has the next number.
    pub(super) fn intern(&mut self, caller: CallPath, func: FuncId) -> CallPath {
        if let Some(path) = self.find(caller, func) {
            return path;
        }
        let caller_func = self.func.get(caller).map_or(NONE, |func| func.index());
        let num_edges = self.edges.len();
        let edge = *self
            .edges
            .entry(pair(caller_func, func))
            .or_insert(num_edges);
        let path = self.func.len();
        self.func.push(func);
        self.caller.push(caller);
        self.edge.push(edge);
        self.paths.insert(pair(caller, func), path);
        path
    }
}

/// Returns a key for a table: paths and functions are fewer than 2^32, and a missing caller is the largest number.
fn pair(caller: usize, func: FuncId) -> u64 {
    u64::try_from(caller).unwrap_or(u64::MAX) << 32 | u64::from(func.0)
}

fn common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
