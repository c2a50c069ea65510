//! Trees merged by call path.

use callgrove_model::{CsTree, FuncId};
use serde::{Deserialize, Serialize};

/// A call path: the functions from a root to a vertex. Callers have smaller numbers.
pub(super) type CallPath = usize;

/// The missing path, such as that of the caller of a root.
pub(super) const NONE: usize = usize::MAX;

/// The calls of a tree along one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathTotal {
    pub(super) path: CallPath,
    /// Number of calls.
    pub(super) count: u64,
    /// Exclusive time of all of them, not below 0.
    pub(super) exclusive_ns: i64,
}

/// Merges trees by path; reuses its buffers from tree to tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Merger {
    /// Index of a path in `totals`, by path.
    slot: Vec<usize>,
    /// The last callee and its path, by path of the caller: runs of one function need no lookup.
    recent: Vec<(FuncId, CallPath)>,
    path_of_vertex: Vec<CallPath>,
    totals: Vec<PathTotal>,
}

impl Merger {
    /// Returns the path of each vertex of the tree that was merged last.
    pub(super) fn path_of_vertex(&self) -> &[CallPath] {
        &self.path_of_vertex
    }

    /// Returns the totals of a tree in order of path. `path_of` (path of the caller, function) returns paths.
    pub(super) fn merge(
        &mut self,
        tree: CsTree<'_>,
        mut path_of: impl FnMut(CallPath, FuncId) -> CallPath,
    ) -> &[PathTotal] {
        for total in self.totals.drain(..) {
            self.slot[total.path] = NONE;
        }
        self.path_of_vertex.clear();
        let exclusive = tree.exclusive();
        for (vertex, &func) in tree.funcs().iter().enumerate() {
            let caller = tree
                .parent(vertex)
                .map_or(NONE, |caller| self.path_of_vertex[caller]);
            let recent = self.recent.get(caller);
            let path = match recent.filter(|&&(known, path)| known == func && path != NONE) {
                Some(&(_, path)) => path,
                None => path_of(caller, func),
            };
            self.reserve(path);
            if caller != NONE {
                self.recent[caller] = (func, path);
            }
            let slot = &mut self.slot[path];
            if *slot == NONE {
                *slot = self.totals.len();
                self.totals.push(PathTotal {
                    path,
                    count: 0,
                    exclusive_ns: 0,
                });
            }
            let total = &mut self.totals[*slot];
            total.count += 1;
            total.exclusive_ns += exclusive[vertex].0.max(0);
            self.path_of_vertex.push(path);
        }
        self.totals.sort_unstable_by_key(|total| total.path);
        &self.totals
    }

    fn reserve(&mut self, path: CallPath) {
        let num_paths = path + 1;
        if self.slot.len() < num_paths {
            self.slot.resize(num_paths, NONE);
            self.recent.resize(num_paths, (FuncId(0), NONE));
        }
    }
}
