//! Compares the results of two models on the executions of a run.

use std::path::Path;

use anyhow::{Context, Result};
use callgrove_detect::TreeVerdict;
use callgrove_export::UntypedTable;
use callgrove_model::{FunctionName, TreeIdx, thousands};
use callgrove_pipeline::read_tree_model;
use serde_json::json;

use crate::args::TableFormat;
use crate::cmd::forest::forest_of;
use crate::output::{Clock, print_rows, warn};

/// Compares the results of two models on the executions of a run.
pub(super) fn diff(before: &Path, after: &Path, trace: &str, format: TableFormat) -> Result<()> {
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
    let word = |verdict: &TreeVerdict| {
        if verdict.is_abnormal {
            "abnormal"
        } else {
            "normal"
        }
    };
    let code = |tree: usize| forest.code(TreeIdx::from_index(tree)).to_string();
    let columns = ["tree", "before", "score", "after", "score"].map(str::to_owned);
    let lines = rows.iter().map(|(tree, (old, new))| {
        let document = json!({
            "tree": code(*tree),
            "before": word(old), "score_before": old.score,
            "after": word(new), "score_after": new.score,
        });
        let cells = vec![
            code(*tree),
            word(old).to_owned(),
            format!("{:.6}", old.score),
            word(new).to_owned(),
            format!("{:.6}", new.score),
        ];
        (document, cells)
    });
    print_rows(format, &UntypedTable::new(&columns), lines)?;
    if format == TableFormat::Json {
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
