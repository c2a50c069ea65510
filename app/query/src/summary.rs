//! The summary structure of a tree: calls with the same path from the root become one node.

use std::collections::BTreeMap;

use callgrove_model::{CsTree, DurationNs, FuncId};
use serde::{Deserialize, Serialize};

/// All calls of one function along one path from the root.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SummaryNode {
    /// Function.
    pub func: FuncId,
    /// Number of calls.
    pub num_calls: u32,
    /// Inclusive time of all calls.
    pub inclusive: DurationNs,
    /// Exclusive time of all calls.
    pub exclusive: DurationNs,
    /// Caller, smaller than the node's own index; `None` for the root.
    pub parent: Option<u32>,
    /// Number of callers below the root.
    pub depth: u32,
    /// The first vertex of the tree that belongs to the node.
    pub first_vertex: u32,
}

/// Returns the `max_nodes` heaviest nodes of the summary, in order of first call (parents before children).
///
/// A caller is never lighter than its callees, so the caller of every kept node is kept.
pub fn summarize(tree: CsTree<'_>, max_nodes: usize) -> Vec<SummaryNode> {
    let nodes = merge_paths(tree);
    let mut heaviest: Vec<u32> = (0..nodes.len() as u32).collect();
    heaviest.sort_by_key(|&node| (std::cmp::Reverse(nodes[node as usize].inclusive), node));
    heaviest.truncate(max_nodes);
    heaviest.sort_unstable();
    heaviest
        .iter()
        .map(|&node| {
            let mut node = nodes[node as usize];
            node.parent = node
                .parent
                .map(|parent| heaviest.partition_point(|&kept| kept < parent) as u32);
            node
        })
        .collect()
}

fn merge_paths(tree: CsTree<'_>) -> Vec<SummaryNode> {
    let mut nodes: Vec<SummaryNode> = Vec::new();
    let mut node_of_path: BTreeMap<(Option<u32>, FuncId), u32> = BTreeMap::new();
    let mut node_of_vertex: Vec<u32> = Vec::with_capacity(tree.len());
    for (vertex, &func) in tree.funcs().iter().enumerate() {
        let parent = tree.parent(vertex).map(|parent| node_of_vertex[parent]);
        let index = *node_of_path.entry((parent, func)).or_insert_with(|| {
            nodes.push(SummaryNode {
                func,
                num_calls: 0,
                inclusive: DurationNs::ZERO,
                exclusive: DurationNs::ZERO,
                parent,
                depth: parent.map_or(0, |parent| nodes[parent as usize].depth + 1),
                first_vertex: vertex as u32,
            });
            nodes.len() as u32 - 1
        });
        let node = &mut nodes[index as usize];
        node.num_calls += 1;
        node.inclusive += tree.inclusive()[vertex];
        node.exclusive += tree.exclusive()[vertex];
        node_of_vertex.push(index);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgrove_model::{
        Forest, FuncEventKind, NameTable, ProgramId, RankBuilder, RankId, StepBatch, StepId,
        ThreadId, TimeNs, Trace, TreeIdx, Warnings,
    };

    use super::*;

    /// Returns the summary of the first call of `+f` (enter) and `-f` (leave) events, one per nanosecond, as
    /// `depth:function×calls inclusive/exclusive <caller`.
    fn summary(events: &str, max_nodes: usize) -> Vec<String> {
        let mut names = NameTable::default();
        let mut batch = StepBatch::empty(ProgramId(0), RankId(0), StepId(0));
        for (time, event) in events.split_whitespace().enumerate() {
            let kind = if event.starts_with('+') {
                FuncEventKind::Entry
            } else {
                FuncEventKind::Exit
            };
            let (func, time) = (names.intern(&event[1..]), TimeNs(time as i64));
            batch
                .funcs
                .push(ThreadId(0), kind, func, time, time.0 as u32);
        }
        let mut builder = RankBuilder::new(ProgramId(0), RankId(0));
        builder.push(batch);
        let rank = builder.finish(names, NameTable::default());
        let trace = Arc::new(Trace::assemble(vec![rank], Warnings::default()));
        let forest = Forest::grow(trace, &[FuncId(0)]);
        let nodes = summarize(forest.tree(TreeIdx(0)), max_nodes);
        let name = |node: &SummaryNode| forest.trace().names.name(node.func).to_owned();
        nodes
            .iter()
            .map(|node| {
                let caller = node.parent.map_or(String::new(), |parent| {
                    format!(" <{}", name(&nodes[parent as usize]))
                });
                let times = format!("{}/{}", node.inclusive.0, node.exclusive.0);
                format!(
                    "{}:{}×{} {times}{caller}",
                    node.depth,
                    name(node),
                    node.num_calls
                )
            })
            .collect()
    }

    const CALLS: &str = "+r +a +b -b +b -b -a +c -c +a +c -c -a -r";

    #[test]
    fn calls_with_the_same_path_become_one_node_in_order_of_first_call() {
        let expected = [
            "0:r×1 13/4",
            "1:a×2 8/5",
            "2:b×2 2/2 <a",
            "1:c×1 1/1 <r",
            "2:c×1 1/1 <a",
        ];
        let nodes = summary(CALLS, usize::MAX);
        assert_eq!(nodes[0], expected[0]);
        assert_eq!(nodes[2..], expected[2..]);
        assert_eq!(nodes[1], "1:a×2 8/5 <r");
    }

    #[test]
    fn the_heaviest_nodes_are_kept_with_their_callers() {
        assert_eq!(
            summary(CALLS, 3),
            ["0:r×1 13/4", "1:a×2 8/5 <r", "2:b×2 2/2 <a"]
        );
        assert_eq!(summary(CALLS, 0), [""; 0]);
    }

    #[test]
    fn calls_without_duration_keep_their_callers_too() {
        // All events of the inner calls have the same time as a caller of the same length.
        let nodes = summary("+r +a -a -r", 2);
        assert_eq!(nodes, ["0:r×1 3/2", "1:a×1 1/1 <r"]);
    }
}
