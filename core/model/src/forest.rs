//! A forest: every execution of a function as a call stack tree.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::executions::Executions;
use crate::id::{
    ExecIdx, ExecLabel, ExecRef, FuncId, LaneIdx, ProgramId, RankId, ThreadId, TreeCode, TreeIdx,
};
use crate::lane::Lane;
use crate::names::{FunctionName, FunctionPattern};
use crate::time::{DurationNs, TimeNs, WeightUnit};
use crate::trace::Trace;

/// The position of a tree in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TreeRef {
    /// The root.
    pub root: ExecRef,
    /// Its code `#rank-index`.
    pub code: TreeCode,
}

/// All call stack trees (CSTrees) of a function of interest, section 3.1 of the paper.
///
/// Trees are ordered by program, rank and time of entry. They share the columns of the trace.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    trace: Arc<Trace>,
    functions: Vec<FuncId>,
    trees: Vec<TreeRef>,
    /// The rows of the roots in a trace that holds nothing else; `None` in a complete trace.
    root_rows: Option<Vec<ExecIdx>>,
    num_unclosed: usize,
    /// True if the run has such trees before the first one, and after the last one.
    lacks: [bool; 2],
}

/// A call stack tree T = (V, E, w): vertices in pre-order, the root first. The weight of a vertex is its inclusive
/// time. The order of children has no meaning.
#[derive(Clone, Copy, Debug)]
pub struct CsTree<'a> {
    executions: &'a Executions,
    start: usize,
    end: usize,
}

impl Forest {
    /// Builds the forest of the executions of `functions`.
    ///
    /// An execution whose exit was not seen has no duration; it is left out and counted.
    pub fn grow(trace: Arc<Trace>, functions: &[FuncId]) -> Self {
        let mut functions = functions.to_vec();
        functions.sort();
        functions.dedup();
        let mut roots = Vec::new();
        let mut num_unclosed = 0;
        for (lane_idx, lane) in trace.lanes() {
            for (row, func) in lane.executions.func.iter().enumerate() {
                if functions.binary_search(func).is_err() {
                    continue;
                }
                if lane.executions.closed[row] {
                    roots.push(ExecRef {
                        lane: lane_idx,
                        exec: ExecIdx::from_index(row),
                    });
                } else {
                    num_unclosed += 1;
                }
            }
        }
        let trees = number_per_rank(&trace, roots);
        Self {
            trace,
            functions,
            trees,
            root_rows: None,
            num_unclosed,
            lacks: [false; 2],
        }
    }

    /// Builds the forest of all finished executions without a caller, of any function. So a recursive tree is not split
    /// into several trees.
    pub fn of_outermost(trace: Arc<Trace>) -> Self {
        let mut roots = Vec::new();
        let mut functions = Vec::new();
        let mut num_unclosed = 0;
        for (lane, columns) in trace.lanes() {
            let executions = &columns.executions;
            let mut row = 0;
            while row < executions.len() {
                if executions.closed[row] {
                    let exec = ExecIdx::from_index(row);
                    roots.push(ExecRef { lane, exec });
                    functions.push(executions.func[row]);
                } else {
                    num_unclosed += 1;
                }
                row = executions.subtree_end[row].index().max(row + 1);
            }
        }
        functions.sort_unstable();
        functions.dedup();
        let trees = number_per_rank(&trace, roots);
        Self {
            trace,
            functions,
            trees,
            root_rows: None,
            num_unclosed,
            lacks: [false; 2],
        }
    }

    /// Returns the forest with these trees, as returned by [`Forest::trees`], or `None` if the trace lacks one.
    pub fn of_trees(
        trace: Arc<Trace>,
        functions: Vec<FuncId>,
        trees: Vec<TreeRef>,
        num_unclosed: usize,
    ) -> Option<Self> {
        let exists = |tree: &TreeRef| {
            let lane = trace.lanes.get(tree.root.lane.index());
            lane.is_some_and(|lane| tree.root.exec.index() < lane.executions.len())
        };
        let is_known = |func: &FuncId| func.index() < trace.names.len();
        let fits = trees.iter().all(exists) && functions.iter().all(is_known);
        fits.then_some(Self {
            trace,
            functions,
            trees,
            root_rows: None,
            num_unclosed,
            lacks: [false; 2],
        })
    }

    /// Returns the forest with these trees on a trace that holds nothing but the roots: each tree is its root alone,
    /// with its code and indices in the complete trace.
    pub(crate) fn of_roots(
        roots: Arc<Trace>,
        functions: Vec<FuncId>,
        trees: Vec<TreeRef>,
        num_unclosed: usize,
    ) -> Option<Self> {
        let mut rows: Vec<Vec<ExecIdx>> = vec![Vec::new(); roots.lanes.len()];
        for tree in &trees {
            rows.get_mut(tree.root.lane.index())?.push(tree.root.exec);
        }
        for rows in &mut rows {
            rows.sort_unstable();
        }
        let root_row = |tree: &TreeRef| {
            let rows = &rows[tree.root.lane.index()];
            let row = rows.partition_point(|row| *row < tree.root.exec);
            ExecIdx::from_index(row)
        };
        let root_rows: Vec<ExecIdx> = trees.iter().map(root_row).collect();
        let exists = |(tree, row): (&TreeRef, &ExecIdx)| {
            row.index() < roots.lane(tree.root.lane).executions.len()
        };
        let is_known = |func: &FuncId| func.index() < roots.names.len();
        let fits = trees.iter().zip(&root_rows).all(exists) && functions.iter().all(is_known);
        fits.then_some(Self {
            trace: roots,
            functions,
            trees,
            root_rows: Some(root_rows),
            num_unclosed,
            lacks: [false; 2],
        })
    }

    /// Returns the trees entered within `times`, with their codes in this forest.
    #[must_use]
    pub fn between(&self, times: Range<TimeNs>) -> Self {
        let entries =
            || (0..self.len()).map(|tree| self.tree(TreeIdx::from_index(tree)).entry()[0]);
        let [lacks_begin, lacks_end] = self.lacks;
        Self {
            lacks: [
                lacks_begin || entries().any(|entry| entry < times.start),
                lacks_end || entries().any(|entry| entry >= times.end),
            ],
            ..self.selected(|tree| times.contains(&self.tree(tree).entry()[0]))
        }
    }

    /// Returns whether the run has such trees before the first one, because the forest is a part of a run.
    pub fn lacks_begin(&self) -> bool {
        self.lacks[0]
    }

    /// Returns whether the run has such trees after the last one, because the forest is a part of a run.
    pub fn lacks_end(&self) -> bool {
        self.lacks[1]
    }

    /// Returns some of the trees, with their codes in this forest.
    #[must_use]
    pub fn selected(&self, is_wanted: impl Fn(TreeIdx) -> bool) -> Self {
        let wanted: Vec<usize> = (0..self.len())
            .filter(|&tree| is_wanted(TreeIdx::from_index(tree)))
            .collect();
        let root_rows = self.root_rows.as_ref();
        Self {
            trace: Arc::clone(&self.trace),
            functions: self.functions.clone(),
            trees: wanted.iter().map(|&tree| self.trees[tree]).collect(),
            root_rows: root_rows.map(|rows| wanted.iter().map(|&tree| rows[tree]).collect()),
            num_unclosed: self.num_unclosed,
            lacks: self.lacks,
        }
    }

    /// Returns whether usual behaviour is learned from each tree, shape `[n_trees]`. True for all trees except those
    /// that a selection only holds because they are unusual; true for all if there are no others.
    pub fn sample(&self) -> Vec<bool> {
        let unsampled = &self.trace.unsampled;
        let sample: Vec<bool> = self
            .trees
            .iter()
            .map(|tree| !unsampled.contains(&tree.root))
            .collect();
        if sample.contains(&true) {
            sample
        } else {
            vec![true; self.len()]
        }
    }

    /// Returns the functions of `trace` that `pattern` matches, in order of id.
    pub fn functions_named(trace: &Trace, pattern: &FunctionPattern) -> Vec<FuncId> {
        trace
            .names
            .iter()
            .filter(|(_, name)| pattern.matches(&FunctionName::parse(name)))
            .map(|(func, _)| func)
            .collect()
    }

    /// Returns the trace of the forest.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// Returns the unit of the weights.
    pub fn unit(&self) -> &WeightUnit {
        &self.trace.unit
    }

    /// Returns the functions of the roots.
    pub fn functions(&self) -> &[FuncId] {
        &self.functions
    }

    /// Returns the number of trees.
    pub fn len(&self) -> usize {
        self.trees.len()
    }

    /// Returns whether there are no trees.
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Returns the number of executions left out because their exit was not seen.
    pub fn num_unclosed(&self) -> usize {
        self.num_unclosed
    }

    /// Returns the trees in order.
    pub fn trees(&self) -> &[TreeRef] {
        &self.trees
    }

    /// Returns a tree.
    pub fn tree(&self, tree: TreeIdx) -> CsTree<'_> {
        CsTree::new(
            &self.lane_of(tree).executions,
            self.root_in_trace(tree).exec,
        )
    }

    /// Returns the event label of a tree's root.
    pub fn label(&self, tree: TreeIdx) -> ExecLabel {
        self.trace.label(self.root_in_trace(tree))
    }

    /// Returns the root of a tree in the trace of this forest, which may hold only roots.
    fn root_in_trace(&self, tree: TreeIdx) -> ExecRef {
        let root = self.trees[tree.index()].root;
        let root_rows = self.root_rows.as_ref();
        ExecRef {
            exec: root_rows.map_or(root.exec, |rows| rows[tree.index()]),
            ..root
        }
    }

    /// Returns the code of a tree.
    pub fn code(&self, tree: TreeIdx) -> TreeCode {
        self.trees[tree.index()].code
    }

    /// Returns the lane on which a tree ran.
    pub fn lane_of(&self, tree: TreeIdx) -> &Lane {
        self.trace.lane(self.trees[tree.index()].root.lane)
    }

    /// Returns all trees with a code; several only if several programs ran.
    pub fn find(&self, code: TreeCode) -> impl Iterator<Item = TreeIdx> + '_ {
        let of_code = move |tree: &(usize, &TreeRef)| tree.1.code == code;
        self.trees
            .iter()
            .enumerate()
            .filter(of_code)
            .map(|(index, _)| TreeIdx::from_index(index))
    }

    /// Returns the innermost tree that contains an execution with this call stack on a lane.
    pub fn tree_around(&self, lane: LaneIdx, stack: &[ExecIdx]) -> Option<TreeIdx> {
        let holds = |root: ExecRef| root.lane == lane && stack.contains(&root.exec);
        let holders = (0..self.trees.len()).filter(|&at| holds(self.trees[at].root));
        let innermost = holders.max_by_key(|&at| self.trees[at].root.exec)?;
        Some(TreeIdx::from_index(innermost))
    }

    /// Returns the number of vertices of all trees; vertices of nested trees count several times.
    pub fn num_vertices(&self) -> usize {
        (0..self.len())
            .map(|index| self.tree(TreeIdx::from_index(index)).len())
            .sum()
    }
}

fn number_per_rank(trace: &Trace, roots: Vec<ExecRef>) -> Vec<TreeRef> {
    let order = |root: &ExecRef| -> (ProgramId, RankId, TimeNs, ThreadId, LaneIdx, ExecIdx) {
        let lane = trace.lane(root.lane);
        let entry = lane.executions.entry[root.exec.index()];
        (
            lane.program,
            lane.rank,
            entry,
            lane.thread,
            root.lane,
            root.exec,
        )
    };
    let mut roots = roots;
    roots.sort_by_key(order);
    let mut trees: Vec<TreeRef> = Vec::with_capacity(roots.len());
    let mut index = 0;
    for root in roots {
        let lane = trace.lane(root.lane);
        let is_same_rank = trees.last().is_some_and(|last| {
            let last = trace.lane(last.root.lane);
            (last.program, last.rank) == (lane.program, lane.rank)
        });
        index = if is_same_rank { index + 1 } else { 0 };
        trees.push(TreeRef {
            root,
            code: TreeCode {
                rank: lane.rank,
                index,
            },
        });
    }
    trees
}

impl<'a> CsTree<'a> {
    /// Returns the tree of an execution.
    pub fn new(executions: &'a Executions, root: ExecIdx) -> Self {
        let rows = executions.subtree(root);
        Self {
            executions,
            start: rows.start,
            end: rows.end,
        }
    }

    /// Returns the number of vertices.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Returns `false`, because a tree has a root.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Returns the function of each vertex.
    pub fn funcs(&self) -> &'a [FuncId] {
        &self.executions.func[self.start..self.end]
    }

    /// Returns the weight of each vertex: its inclusive time.
    pub fn inclusive(&self) -> &'a [DurationNs] {
        &self.executions.inclusive[self.start..self.end]
    }

    /// Returns the exclusive time of each vertex.
    pub fn exclusive(&self) -> &'a [DurationNs] {
        &self.executions.exclusive[self.start..self.end]
    }

    /// Returns the time of entry of each vertex.
    pub fn entry(&self) -> &'a [TimeNs] {
        &self.executions.entry[self.start..self.end]
    }

    /// Returns the time of exit of the root.
    pub fn exit(&self) -> TimeNs {
        self.executions.exit(ExecIdx::from_index(self.start))
    }

    /// Returns the duration of the root.
    pub fn duration(&self) -> DurationNs {
        self.executions.inclusive[self.start]
    }

    /// Returns the caller of a vertex, which is smaller than the vertex; `None` for the root.
    pub fn parent(&self, vertex: usize) -> Option<usize> {
        if vertex == 0 {
            return None;
        }
        let parent = self
            .executions
            .parent(ExecIdx::from_index(self.start + vertex))?;
        parent.index().checked_sub(self.start)
    }

    /// Returns the depth of a vertex below the root.
    pub fn depth(&self, vertex: usize) -> usize {
        let depth = &self.executions.depth;
        usize::from(depth[self.start + vertex].saturating_sub(depth[self.start]))
    }

    /// Returns one past the last vertex of the subtree rooted at `vertex`.
    pub fn subtree_end(&self, vertex: usize) -> usize {
        self.executions.subtree_end[self.start + vertex].index() - self.start
    }

    /// Returns the children of a vertex in order of entry.
    pub fn children(&self, vertex: usize) -> impl Iterator<Item = usize> + use<'a> {
        let tree = *self;
        let end = tree.subtree_end(vertex);
        let first = Some(vertex + 1).filter(|&child| child < end);
        std::iter::successors(first, move |&child| {
            Some(tree.subtree_end(child)).filter(|&next| next < end)
        })
    }

    /// Returns the execution of a vertex in the columns of its lane.
    pub fn exec(&self, vertex: usize) -> ExecIdx {
        ExecIdx::from_index(self.start + vertex)
    }

    /// Returns the rows of the lane's columns that the tree covers.
    pub fn rows(&self) -> std::ops::Range<usize> {
        self.start..self.end
    }
}
