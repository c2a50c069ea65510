//! The structure of a subtree as an outline: one line per function, discs of one size.

use std::collections::BTreeMap;

use callgrove_model::{CsTree, FuncId};

/// A line of an outline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line {
    pub(super) func: FuncId,
    /// Calls of the function along this path.
    pub(super) num_calls: usize,
    /// Levels below the root of the subtree.
    pub(super) depth: usize,
    /// The line of the caller, above its own; `None` for the root.
    pub(super) parent: Option<usize>,
}

/// An outline, possibly truncated.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Outline {
    /// Callers above callees, siblings in order of their first call.
    pub(super) lines: Vec<Line>,
    /// Number of truncated lines.
    pub(super) num_left_out: usize,
}

/// Returns the outline of the subtree of `tree` at `root`, down to `degree` levels, with at most `max_lines` lines.
/// Calls of one function along one path are one line.
pub(super) fn outline(tree: CsTree<'_>, root: usize, degree: usize, max_lines: usize) -> Outline {
    let nodes = merged_paths(tree, root, degree);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for (child, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent {
            children[parent].push(child);
        }
    }
    let mut lines: Vec<Line> = Vec::new();
    let mut pending: Vec<(usize, Option<usize>)> = if nodes.is_empty() {
        Vec::new()
    } else {
        vec![(0, None)]
    };
    while let Some((node, parent)) = pending.pop() {
        pending.extend(
            children[node]
                .iter()
                .rev()
                .map(|&child| (child, Some(lines.len()))),
        );
        lines.push(Line {
            parent,
            ..nodes[node]
        });
    }
    let num_left_out = lines.len().saturating_sub(max_lines);
    lines.truncate(max_lines);
    Outline {
        lines,
        num_left_out,
    }
}

/// Returns calls with the same path from `root` as one line, in order of first call.
fn merged_paths(tree: CsTree<'_>, root: usize, degree: usize) -> Vec<Line> {
    if root >= tree.len() {
        return Vec::new();
    }
    let mut nodes: Vec<Line> = Vec::new();
    let mut known: BTreeMap<(Option<usize>, FuncId), usize> = BTreeMap::new();
    let mut node_of_call: Vec<Option<usize>> = Vec::new();
    for call in root..tree.subtree_end(root) {
        let depth = tree.depth(call) - tree.depth(root);
        if depth > degree {
            node_of_call.push(None);
            continue;
        }
        let caller = if call == root {
            None
        } else {
            tree.parent(call)
        };
        let parent = caller.and_then(|caller| node_of_call[caller - root]);
        let func = tree.funcs()[call];
        let node = *known.entry((parent, func)).or_insert_with(|| {
            nodes.push(Line {
                func,
                num_calls: 0,
                depth,
                parent,
            });
            nodes.len() - 1
        });
        nodes[node].num_calls += 1;
        node_of_call.push(Some(node));
    }
    nodes
}

#[cfg(test)]
mod tests {
    use callgrove_app_tests::demo_run::forest_of;
    use callgrove_model::TreeIdx;

    use super::*;

    /// Returns lines as `depth:name×calls`, and the number of truncated lines.
    fn drawn(calls: &str, root: usize, degree: usize, max_lines: usize) -> (Vec<String>, usize) {
        let forest = forest_of(calls);
        let outline = outline(forest.tree(TreeIdx(0)), root, degree, max_lines);
        let name = |func| forest.trace().names.name(func);
        let line = |line: &Line| format!("{}:{}×{}", line.depth, name(line.func), line.num_calls);
        for (at, line) in outline.lines.iter().enumerate() {
            assert!(
                line.parent.is_none_or(
                    |parent| parent < at && outline.lines[parent].depth + 1 == line.depth
                )
            );
        }
        (
            outline.lines.iter().map(line).collect(),
            outline.num_left_out,
        )
    }

    fn lines(expected: &[&str]) -> Vec<String> {
        expected.iter().map(|&line| line.to_owned()).collect()
    }

    const CALLS: &str = "+r +a +b -b +c -c -a +d -d +a +b -b +b -b -a -r";

    #[test]
    fn calls_with_one_path_are_one_line_below_their_caller() {
        let expected = lines(&["0:r×1", "1:a×2", "2:b×3", "2:c×1", "1:d×1"]);
        assert_eq!(drawn(CALLS, 0, 9, 9), (expected, 0));
    }

    #[test]
    fn a_subtree_is_cut_at_its_degree_and_at_the_last_line() {
        assert_eq!(drawn(CALLS, 0, 1, 9).0, lines(&["0:r×1", "1:a×2", "1:d×1"]));
        assert_eq!(drawn(CALLS, 1, 9, 9).0, lines(&["0:a×1", "1:b×1", "1:c×1"]));
        assert_eq!(drawn(CALLS, 0, 9, 2), (lines(&["0:r×1", "1:a×2"]), 3));
        assert_eq!(
            drawn(CALLS, 99, 9, 9),
            (Vec::new(), 0),
            "not a vertex of this tree"
        );
    }
}
