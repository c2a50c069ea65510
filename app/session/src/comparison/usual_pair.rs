//! The usual executions of a function in two runs, as one small run with a rank for each.

use std::sync::Arc;

use callgrove_model::{
    CsTree, Forest, FuncEventKind, FuncId, NameTable, ProgramId, Progress, RankBuilder, RankId,
    RankTrace, StepBatch, StepId, ThreadId, TimeNs, Trace, TreeIdx, Warnings,
};
use callgrove_query::unplaced_name;
use callgrove_trees::MlError;
use callgrove_trees::explain::{CallPaths, TreeExplanation, UsualTrees, explain};

use crate::root::grow_forest;

/// The usual execution of a function in AFTER, and its differences from the usual one in BEFORE.
#[derive(Clone, Debug)]
pub struct UsualPair {
    root: String,
    forest: Forest,
    found: Arc<TreeExplanation>,
}

/// The tree of the execution of AFTER.
const AFTER: TreeIdx = TreeIdx(0);

impl UsualPair {
    /// Compares the usual executions of `root` in two runs.
    ///
    /// # Errors
    /// Cancelled. Inside, the reason why there is no such pair.
    pub(crate) fn new(
        root: &str,
        [before, after]: [&Arc<Trace>; 2],
        progress: Progress<'_>,
    ) -> Result<Result<Self, String>, MlError> {
        let mut ranks = Vec::new();
        for (rank, (trace, name)) in (0_u8..).zip([(after, "AFTER"), (before, "BEFORE")]) {
            let part = f32::from(rank) / 2.0;
            let Ok((forest, _)) = grow_forest(trace, root) else {
                return Ok(Err(format!("{name} never calls {root}")));
            };
            let usual = usual_tree(&forest, progress.part(part, part + 0.5))?;
            let Some(tree) = usual else {
                return Ok(Err(format!("{name} has no complete call of {root}")));
            };
            ranks.push(rank_of(
                forest.tree(tree),
                &trace.names,
                RankId(rank.into()),
            ));
        }
        let trace = Arc::new(Trace::assemble(ranks, Warnings::default()));
        let forest = Forest::of_outermost(Arc::clone(&trace));
        if forest.len() != 2 {
            return Ok(Err(format!("the calls of {root} cannot be compared")));
        }
        let paths = CallPaths::of(&forest, Progress::none())?;
        let found = explain(
            &forest,
            &paths,
            &UsualTrees::of(&forest, &paths, &[false, true]),
            AFTER,
        );
        Ok(Ok(Self {
            root: root.to_owned(),
            forest,
            found: Arc::new(found),
        }))
    }

    /// Returns the function.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns both executions as a run of its own: rank 0 is AFTER, and rank 1 is BEFORE.
    pub fn forest(&self) -> &Forest {
        &self.forest
    }

    /// Returns the differences of AFTER's execution from BEFORE's.
    pub fn found(&self) -> &Arc<TreeExplanation> {
        &self.found
    }
}

/// Returns the execution in the centre of the commonest kind; in the centre of all if no kind is common.
fn usual_tree(forest: &Forest, progress: Progress<'_>) -> Result<Option<TreeIdx>, MlError> {
    if forest.is_empty() {
        return Ok(None);
    }
    let paths = CallPaths::of(forest, progress)?;
    let usual = UsualTrees::of(forest, &paths, &[]);
    let centre = || explain(forest, &paths, &usual, TreeIdx(0)).usual;
    Ok(usual.commonest().or_else(centre))
}

/// Returns an execution as a rank whose time begins with it.
fn rank_of(tree: CsTree<'_>, from: &NameTable<FuncId>, rank: RankId) -> RankTrace {
    let mut events: Vec<(FuncEventKind, usize, TimeNs)> = Vec::with_capacity(2 * tree.len());
    let mut open: Vec<usize> = Vec::new();
    let exit = |vertex: usize| {
        let time = tree.entry()[vertex] + tree.inclusive()[vertex];
        (FuncEventKind::Exit, vertex, time)
    };
    for vertex in 0..tree.len() {
        while let Some(caller) = open.pop_if(|caller| tree.subtree_end(*caller) <= vertex) {
            events.push(exit(caller));
        }
        events.push((FuncEventKind::Entry, vertex, tree.entry()[vertex]));
        open.push(vertex);
    }
    events.extend(open.into_iter().rev().map(exit));
    let mut names = NameTable::default();
    let mut batch = StepBatch::empty(ProgramId(0), rank, StepId(0));
    let start = tree.entry()[0];
    for (order, (kind, vertex, time)) in (0..).zip(events) {
        let func = names.intern(unplaced_name(from.name(tree.funcs()[vertex])));
        let time = TimeNs(time.since(start).0);
        batch.funcs.push(ThreadId(0), kind, func, time, order);
    }
    let mut builder = RankBuilder::new(ProgramId(0), rank);
    builder.push(batch);
    builder.finish(names, NameTable::default())
}
