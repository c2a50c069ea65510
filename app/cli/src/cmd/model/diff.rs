//! Compares the results of two models on the executions of a run.

use std::path::Path;

use anyhow::{Context, Result};
use callgrove_detect::TreeVerdict;
use callgrove_evaluation_report::{ModelChangeTable, changed_trees};
use callgrove_export::SinkFormat;
use callgrove_model::{FunctionName, thousands};
use callgrove_pipeline::read_tree_model;

use crate::cmd::forest::forest_of;
use crate::output::{Clock, warn};
use crate::table_output::TableDestination;
use callgrove_args::TableArgs;

/// Compares the results of two models on the executions of a run.
pub(super) fn diff(before: &Path, after: &Path, trace: &str, table: &TableArgs) -> Result<()> {
    let destination = TableDestination::of(table)?;
    let (old, new) = (read_tree_model(before)?, read_tree_model(after)?);
    let function = new
        .functions()
        .first()
        .context("the model has no function")?;
    let function = FunctionName::parse(function).qualified.to_owned();
    let (forest, _) = forest_of(trace, Some(&function), None, &mut Clock::new(false))?;
    let (old, new) = (old.verdicts(&forest)?, new.verdicts(&forest)?);
    let rows = changed_trees(&forest, &old, &new);
    let num_changed = rows.len();
    destination.write_rows(&ModelChangeTable, rows)?;
    if destination.format() == SinkFormat::Json {
        return Ok(());
    }
    let count = |all: &[TreeVerdict]| all.iter().filter(|it| it.is_abnormal).count();
    warn(&format!(
        "of {} executions, the first model calls {} abnormal, the second {}; they differ on {}",
        thousands(forest.len()),
        thousands(count(&old)),
        thousands(count(&new)),
        thousands(num_changed)
    ));
    Ok(())
}
