//! Compares the results of two models on the executions of a run.

use std::path::Path;

use anyhow::{Context, Result};
use callgrove_detect::TreeVerdict;
use callgrove_export::{ResultTable, SinkFormat, TableColumn, rounded};
use callgrove_model::{FunctionName, TreeIdx, thousands};
use callgrove_pipeline::read_tree_model;
use serde::Serialize;

use crate::args::TableArgs;
use crate::cmd::forest::forest_of;
use crate::output::{Clock, warn};

/// Compares the results of two models on the executions of a run.
pub(super) fn diff(before: &Path, after: &Path, trace: &str, table: &TableArgs) -> Result<()> {
    let destination = table.destination()?;
    let (old, new) = (read_tree_model(before)?, read_tree_model(after)?);
    let function = new
        .functions()
        .first()
        .context("the model has no function")?;
    let function = FunctionName::parse(function).qualified.to_owned();
    let (forest, _) = forest_of(trace, Some(&function), None, &mut Clock::new(false))?;
    let (old, new) = (old.verdicts(&forest)?, new.verdicts(&forest)?);
    let changed = |pair: &(usize, (&TreeVerdict, &TreeVerdict))| {
        let (old, new) = pair.1;
        old.is_abnormal != new.is_abnormal
    };
    let rows: Vec<_> = old.iter().zip(&new).enumerate().filter(changed).collect();
    let lines = rows.iter().map(|(tree, (old, new))| ChangedTree {
        tree: forest.code(TreeIdx::from_index(*tree)).to_string(),
        before: class_name(old),
        score_before: old.score,
        after: class_name(new),
        score_after: new.score,
    });
    destination.write_rows(&ChangeTable, lines)?;
    if destination.format() == SinkFormat::Json {
        return Ok(());
    }
    let count = |all: &[TreeVerdict]| all.iter().filter(|it| it.is_abnormal).count();
    warn(&format!(
        "of {} executions, the first model calls {} abnormal, the second {}; they differ on {}",
        thousands(forest.len()),
        thousands(count(&old)),
        thousands(count(&new)),
        thousands(rows.len())
    ));
    Ok(())
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
struct ChangedTree {
    tree: String,
    before: &'static str,
    score_before: f64,
    after: &'static str,
    score_after: f64,
}

/// The table of `callgrove model diff`.
struct ChangeTable;

impl ResultTable for ChangeTable {
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
