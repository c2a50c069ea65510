//! The forest: every execution of a function as a call stack tree.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    DurationNs, ExecIdx, ExecLabel, ExecRef, Executions, FuncId, FunctionName, FunctionPattern,
    Lane, LaneIdx, ProgramId, ThreadId, TimeNs, Trace, TreeCode, TreeIdx, WeightUnit,
};

/// Where a tree stands in the trace.
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
    /// Where the roots stand in a trace that has nothing but them; `None` where it has all that they called.
    places: Option<Vec<ExecIdx>>,
    num_unclosed: usize,
}

/// A call stack tree T = (V, E, w): vertices in pre-order, the root first. The weight of a vertex is
/// its inclusive time; the order of children has no meaning.
#[derive(Clone, Copy, Debug)]
pub struct CsTree<'a> {
    executions: &'a Executions,
    start: usize,
    end: usize,
}

impl Forest {
    /// Grows the forest of the executions of `functions`.
    ///
    /// An execution whose exit was never seen has no duration; it is left out and counted.
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
            places: None,
            num_unclosed,
        }
    }

    /// The forest of all finished executions that nothing called, whatever their functions. So trees
    /// that call themselves are not cut into more trees.
    pub fn of_outermost(trace: Arc<Trace>) -> Self {
        let mut roots = Vec::new();
        let mut functions = Vec::new();
        let mut num_unclosed = 0;
        for (lane, held) in trace.lanes() {
            let executions = &held.executions;
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
            places: None,
            num_unclosed,
        }
    }

    /// A forest whose trees are known already, as [`Forest::trees`] gives them; `None` where the trace lacks one.
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
            places: None,
            num_unclosed,
        })
    }

    /// The same of a trace that has nothing but the roots: each tree is its root alone, and is called what it is
    /// called in the whole trace.
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
        let place = |tree: &TreeRef| {
            let rows = &rows[tree.root.lane.index()];
            let place = rows.partition_point(|row| *row < tree.root.exec);
            ExecIdx::from_index(place)
        };
        let places: Vec<ExecIdx> = trees.iter().map(place).collect();
        let exists = |(tree, place): (&TreeRef, &ExecIdx)| {
            place.index() < roots.lane(tree.root.lane).executions.len()
        };
        let is_known = |func: &FuncId| func.index() < roots.names.len();
        let fits = trees.iter().zip(&places).all(exists) && functions.iter().all(is_known);
        fits.then_some(Self {
            trace: roots,
            functions,
            trees,
            places: Some(places),
            num_unclosed,
        })
    }

    /// The trees that are entered within `times`, with the codes that they have here.
    #[must_use]
    pub fn between(&self, times: Range<TimeNs>) -> Self {
        self.selected(|tree| times.contains(&self.tree(tree).entry()[0]))
    }

    /// Some of the trees, with the codes that they have here.
    #[must_use]
    pub fn selected(&self, is_wanted: impl Fn(TreeIdx) -> bool) -> Self {
        let wanted: Vec<usize> = (0..self.len())
            .filter(|&tree| is_wanted(TreeIdx::from_index(tree)))
            .collect();
        let places = self.places.as_ref();
        Self {
            trace: Arc::clone(&self.trace),
            functions: self.functions.clone(),
            trees: wanted.iter().map(|&tree| self.trees[tree]).collect(),
            places: places.map(|places| wanted.iter().map(|&tree| places[tree]).collect()),
            num_unclosed: self.num_unclosed,
        }
    }

    /// Whether what is usual is learned from each tree, shape `[n_trees]`: all but those that a selection has only because
    /// they stood out; all, where it has no others.
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

    /// The functions of `trace` that `pattern` names, in order of id.
    pub fn functions_named(trace: &Trace, pattern: &FunctionPattern) -> Vec<FuncId> {
        trace
            .names
            .iter()
            .filter(|(_, name)| pattern.matches(&FunctionName::parse(name)))
            .map(|(func, _)| func)
            .collect()
    }

    /// The trace it grew from.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// What the weights of the trees are.
    pub fn unit(&self) -> &WeightUnit {
        &self.trace.unit
    }

    /// The functions of the roots.
    pub fn functions(&self) -> &[FuncId] {
        &self.functions
    }

    /// Number of trees.
    pub fn len(&self) -> usize {
        self.trees.len()
    }

    /// Whether the function was never executed (and left).
    pub fn is_empty(&self) -> bool {
        self.trees.is_empty()
    }

    /// Executions of the function that were left out because their exit was never seen.
    pub fn num_unclosed(&self) -> usize {
        self.num_unclosed
    }

    /// Trees in order.
    pub fn trees(&self) -> &[TreeRef] {
        &self.trees
    }

    /// A tree.
    pub fn tree(&self, tree: TreeIdx) -> CsTree<'_> {
        CsTree::new(&self.lane_of(tree).executions, self.place(tree).exec)
    }

    /// The event label of a tree's root.
    pub fn label(&self, tree: TreeIdx) -> ExecLabel {
        self.trace.label(self.place(tree))
    }

    /// The root of a tree in the trace that is there.
    fn place(&self, tree: TreeIdx) -> ExecRef {
        let root = self.trees[tree.index()].root;
        let places = self.places.as_ref();
        ExecRef {
            exec: places.map_or(root.exec, |places| places[tree.index()]),
            ..root
        }
    }

    /// The code of a tree.
    pub fn code(&self, tree: TreeIdx) -> TreeCode {
        self.trees[tree.index()].code
    }

    /// The lane that a tree ran on.
    pub fn lane_of(&self, tree: TreeIdx) -> &Lane {
        self.trace.lane(self.trees[tree.index()].root.lane)
    }

    /// All trees with a code; more than one only where several programs ran.
    pub fn find(&self, code: TreeCode) -> impl Iterator<Item = TreeIdx> + '_ {
        let of_code = move |tree: &(usize, &TreeRef)| tree.1.code == code;
        self.trees
            .iter()
            .enumerate()
            .filter(of_code)
            .map(|(index, _)| TreeIdx::from_index(index))
    }

    /// The innermost tree that holds an execution with this call stack on a lane; `None` if none does.
    pub fn tree_around(&self, lane: LaneIdx, stack: &[ExecIdx]) -> Option<TreeIdx> {
        let holds = |root: ExecRef| root.lane == lane && stack.contains(&root.exec);
        let holders = (0..self.trees.len()).filter(|&at| holds(self.trees[at].root));
        let innermost = holders.max_by_key(|&at| self.trees[at].root.exec)?;
        Some(TreeIdx::from_index(innermost))
    }

    /// Vertices of all trees together; nested trees count every time.
    pub fn num_vertices(&self) -> usize {
        (0..self.len())
            .map(|index| self.tree(TreeIdx::from_index(index)).len())
            .sum()
    }
}

fn number_per_rank(trace: &Trace, roots: Vec<ExecRef>) -> Vec<TreeRef> {
    let place = |root: &ExecRef| -> (ProgramId, crate::RankId, TimeNs, ThreadId, LaneIdx, ExecIdx) {
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
    roots.sort_by_key(place);
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
    /// The tree of an execution.
    pub fn new(executions: &'a Executions, root: ExecIdx) -> Self {
        let rows = executions.subtree(root);
        Self {
            executions,
            start: rows.start,
            end: rows.end,
        }
    }

    /// Number of vertices.
    pub fn len(&self) -> usize {
        self.end - self.start
    }

    /// Never true: a tree has a root.
    pub fn is_empty(&self) -> bool {
        self.start == self.end
    }

    /// Function of each vertex.
    pub fn funcs(&self) -> &'a [FuncId] {
        &self.executions.func[self.start..self.end]
    }

    /// Weight of each vertex: inclusive time.
    pub fn inclusive(&self) -> &'a [DurationNs] {
        &self.executions.inclusive[self.start..self.end]
    }

    /// Exclusive time of each vertex.
    pub fn exclusive(&self) -> &'a [DurationNs] {
        &self.executions.exclusive[self.start..self.end]
    }

    /// Time of entry of each vertex.
    pub fn entry(&self) -> &'a [TimeNs] {
        &self.executions.entry[self.start..self.end]
    }

    /// Time of exit of the root.
    pub fn exit(&self) -> TimeNs {
        self.executions.exit(ExecIdx::from_index(self.start))
    }

    /// Duration of the root.
    pub fn duration(&self) -> DurationNs {
        self.executions.inclusive[self.start]
    }

    /// The caller of a vertex, smaller than the vertex itself; `None` for the root.
    pub fn parent(&self, vertex: usize) -> Option<usize> {
        if vertex == 0 {
            return None;
        }
        let parent = self
            .executions
            .parent(ExecIdx::from_index(self.start + vertex))?;
        parent.index().checked_sub(self.start)
    }

    /// Depth of a vertex below the root.
    pub fn depth(&self, vertex: usize) -> usize {
        let depth = &self.executions.depth;
        usize::from(depth[self.start + vertex].saturating_sub(depth[self.start]))
    }

    /// One past the last vertex of the subtree rooted at `vertex`.
    pub fn subtree_end(&self, vertex: usize) -> usize {
        self.executions.subtree_end[self.start + vertex].index() - self.start
    }

    /// The children of a vertex in order of entry.
    pub fn children(&self, vertex: usize) -> impl Iterator<Item = usize> + use<'a> {
        let tree = *self;
        let end = tree.subtree_end(vertex);
        let first = Some(vertex + 1).filter(|&child| child < end);
        std::iter::successors(first, move |&child| {
            Some(tree.subtree_end(child)).filter(|&next| next < end)
        })
    }

    /// The execution of a vertex in the columns of its lane.
    pub fn exec(&self, vertex: usize) -> ExecIdx {
        ExecIdx::from_index(self.start + vertex)
    }

    /// Rows of the lane's columns that the tree covers.
    pub fn rows(&self) -> std::ops::Range<usize> {
        self.start..self.end
    }
}
