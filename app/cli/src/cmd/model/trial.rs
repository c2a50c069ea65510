//! A dry run of a publication, on the trees that the job has recorded.

use anyhow::{Context, Result, bail};
use callgrove_evaluation_report::PublicationTrial;
use callgrove_export::{SinkFormat, TableCell, TableColumn, UntypedTable, write_json_line};
use callgrove_model::{Forest, RunIdentity};
use callgrove_pipeline::recorded_trees;
use callgrove_provdb::TreeRecord;
use callgrove_server::client::Client;
use callgrove_session::{LabelSet, SavedModel};
use callgrove_watch::recorded_forest;

use crate::output::warn;
use crate::table_output::TableDestination;
use callgrove_args::{PublishArgs, TableArgs};

/// Runs a model on the newest recorded trees of a job.
pub(super) fn try_model(
    client: &Client,
    model: &SavedModel,
    name: &str,
    args: &PublishArgs,
) -> Result<PublicationTrial> {
    let labels = match &args.labels {
        None => LabelSet::default(),
        Some(path) => {
            let text =
                std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            LabelSet::from_csv(&text)
                .with_context(|| format!("cannot use the labels in {}", path.display()))?
        }
    };
    let current = in_force(client, name)?;
    let forest = recorded(client, model.functions(), args.last)?;
    PublicationTrial::new(model, current.as_ref(), &forest, &labels, args.last)
}

/// Prints the results.
pub(super) fn print_trial(trial: &PublicationTrial, args: &TableArgs) -> Result<()> {
    let destination = TableDestination::of(args)?;
    destination.write(|out| match destination.format() {
        SinkFormat::Text => Ok(trial.print(out)?),
        SinkFormat::Json => Ok(write_json_line(out, trial)?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            let (columns, cells): (Vec<TableColumn>, Vec<TableCell>) =
                trial.row().into_iter().unzip();
            out.rows(&UntypedTable::new("model_trial", &columns), [((), cells)])
        }
    })
}

/// Returns the version of a model in force.
fn in_force(client: &Client, name: &str) -> Result<Option<(u32, SavedModel)>> {
    let models = client.tree_models()?.models.into_iter();
    let in_force = models
        .filter(|it| it.name == name)
        .find_map(|it| it.in_force);
    let Some(version) = in_force else {
        return Ok(None);
    };
    let text = client.tree_model(name, Some(version))?.model;
    Ok(Some((version, SavedModel::read(text.as_bytes())?)))
}

/// Returns the trees of functions that a job has recorded in its `last` steps.
fn recorded(client: &Client, functions: &[String], last: Option<u64>) -> Result<Forest> {
    let mut records: Vec<TreeRecord> = Vec::new();
    for function in functions {
        let quoted = function.replace('\'', "''");
        records.extend(recorded_trees(client, Some(&format!("func = '{quoted}'")))?);
    }
    if let Some(last) = last {
        let newest = records.iter().map(|record| record.io_step).max();
        let first = (newest.unwrap_or(0) + 1).saturating_sub(last);
        records.retain(|record| record.io_step >= first);
    }
    let (forest, num_left_out) = recorded_forest(&records, RunIdentity::default());
    if num_left_out > 0 {
        warn(&format!(
            "{num_left_out} recorded trees were too large to be stored, or damaged"
        ));
    }
    if forest.is_empty() {
        bail!(
            "the job has recorded no tree of {} yet: start it with --trees",
            functions.join(", ")
        );
    }
    Ok(forest)
}
