//! The trees that two models judge differently.

use callgrove_detect::TreeVerdict;
use callgrove_export::{ResultTable, TableColumn, rounded};
use callgrove_model::{Forest, TreeIdx};
use serde::Serialize;

/// Returns the trees of a forest that one model calls abnormal and the other normal, in order of the forest. `before` and
/// `after` have the verdict of each tree, shape `[n_trees]`.
pub fn changed_trees(
    forest: &Forest,
    before: &[TreeVerdict],
    after: &[TreeVerdict],
) -> Vec<ChangedTree> {
    let pairs = before.iter().zip(after).enumerate();
    let changed = pairs.filter(|(_, (before, after))| before.is_abnormal != after.is_abnormal);
    changed
        .map(|(tree, (before, after))| ChangedTree {
            tree: forest.code(TreeIdx::from_index(tree)).to_string(),
            before: class_name(before),
            score_before: before.score,
            after: class_name(after),
            score_after: after.score,
        })
        .collect()
}

fn class_name(verdict: &TreeVerdict) -> &'static str {
    if verdict.is_abnormal {
        "abnormal"
    } else {
        "normal"
    }
}

/// A tree that the models judge differently.
#[derive(Clone, Serialize)]
pub struct ChangedTree {
    tree: String,
    before: &'static str,
    score_before: f64,
    after: &'static str,
    score_after: f64,
}

/// The table of the trees that two models judge differently.
pub struct ModelChangeTable;

impl ResultTable for ModelChangeTable {
    type Row = ChangedTree;

    fn name(&self) -> &'static str {
        "model_changes"
    }

    fn columns(&self) -> Vec<TableColumn> {
        vec![
            TableColumn::text("tree"),
            TableColumn::text("before"),
            TableColumn::float("score_before"),
            TableColumn::text("after"),
            TableColumn::float("score_after"),
        ]
    }

    fn headings(&self) -> Vec<&str> {
        vec!["tree", "before", "score", "after", "score"]
    }

    fn cells(&self, row: &ChangedTree) -> Vec<String> {
        vec![
            row.tree.clone(),
            row.before.to_owned(),
            rounded(row.score_before),
            row.after.to_owned(),
            rounded(row.score_after),
        ]
    }

    fn record(&self, row: &ChangedTree) -> impl Serialize {
        row.clone()
    }

    fn document(&self, row: &ChangedTree) -> impl Serialize {
        row.clone()
    }
}
