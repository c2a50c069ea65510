//! Questions about the CSTree of an execution.

use callgrove_model::{CsTree, ExecRef, PackedTree};
use serde::{Deserialize, Serialize};

use super::query::{AskCalls, CallsRefusal, CallsReply, LocalCalls, check_number};
use crate::summary::{SummaryNode, summarize};

/// Largest number of calls in a tree that is drawn.
const MAX_CALLS: usize = 4 << 20;
/// Largest number of nodes in a summary.
const MAX_NODES: usize = 1_000;

/// All calls of an execution as a tree.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct TreeOf(pub ExecRef);

/// The summary of an execution's tree ([`summarize`]).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct SummaryOf {
    /// The execution.
    pub root: ExecRef,
    /// Largest number of nodes.
    pub max_nodes: usize,
}

impl AskCalls for TreeOf {
    type Answer = PackedTree;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<PackedTree>, CallsRefusal> {
        check_number(tree(calls, self.0)?.len() <= MAX_CALLS, "calls")?;
        Ok(CallsReply::Done(PackedTree::of(&calls.trace, self.0)))
    }

    fn answer_bytes(tree: &PackedTree) -> usize {
        tree.num_bytes()
    }
}

impl AskCalls for SummaryOf {
    type Answer = Vec<SummaryNode>;

    fn begin(&self, calls: &LocalCalls) -> Result<CallsReply<Vec<SummaryNode>>, CallsRefusal> {
        check_number(self.max_nodes <= MAX_NODES, "nodes")?;
        let tree = tree(calls, self.root)?;
        check_number(tree.len() <= MAX_CALLS, "calls")?;
        Ok(CallsReply::Done(summarize(tree, self.max_nodes)))
    }

    fn answer_bytes(nodes: &Vec<SummaryNode>) -> usize {
        size_of_val(nodes.as_slice())
    }
}

fn tree(calls: &LocalCalls, root: ExecRef) -> Result<CsTree<'_>, CallsRefusal> {
    calls.check_call(root)?;
    let executions = &calls.trace.lane(root.lane).executions;
    Ok(CsTree::new(executions, root.exec))
}
