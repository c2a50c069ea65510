//! A dry run of a publication, on the trees that the job has recorded.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, Result, bail};
use callgrove_export::{SinkFormat, TableCell, TableColumn, UntypedTable, write_json_line};
use callgrove_model::{Forest, Label, RunIdentity, TreeIdx, thousands};
use callgrove_pipeline::recorded_trees;
use callgrove_provdb::TreeRecord;
use callgrove_server::client::Client;
use callgrove_session::{LabelSet, SavedModel};
use callgrove_watch::recorded_forest;
use serde::Serialize;

use crate::args::{PublishArgs, TableArgs};
use crate::output::warn;

/// The results of a model on the newest recorded trees of a job, compared with the model in force.
#[derive(Serialize)]
pub(super) struct DryRun {
    /// Number of trees.
    trees: usize,
    /// Number of last steps in which the trees ended; `None` for all.
    last_steps: Option<u64>,
    /// Number of trees that the model calls abnormal.
    abnormal: usize,
    /// Version of the model in force.
    in_force: Option<u32>,
    /// Number of trees that only the new model calls abnormal.
    new: usize,
    /// Number of trees that only the model in force calls abnormal.
    gone: usize,
    /// Number of trees labelled abnormal.
    labelled_abnormal: usize,
    /// Number of trees labelled abnormal that the model calls normal.
    missed: usize,
    /// Number of trees labelled normal that the model calls abnormal.
    false_alarms: usize,
}

impl DryRun {
    /// Runs a model on the recorded trees.
    pub(super) fn of(
        client: &Client,
        model: &SavedModel,
        name: &str,
        args: &PublishArgs,
    ) -> Result<Self> {
        let labels = match &args.labels {
            None => LabelSet::default(),
            Some(path) => {
                let text = std::fs::read(path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                LabelSet::from_csv(&text)
                    .with_context(|| format!("cannot use the labels in {}", path.display()))?
            }
        };
        let current = in_force(client, name)?;
        let forest = recorded(client, model.functions(), args.last)?;
        let flagged = abnormal_trees(model, &forest)?;
        let before = match &current {
            Some((_, current)) => abnormal_trees(current, &forest)?,
            None => BTreeSet::new(),
        };
        let labels = labels.by_tree(&forest);
        let labelled = |wanted: Label| {
            let labels = labels.iter().enumerate();
            labels
                .filter(move |(_, label)| **label == Some(wanted))
                .map(|(tree, _)| flagged.contains(&TreeIdx::from_index(tree)))
        };
        Ok(Self {
            trees: forest.len(),
            last_steps: args.last,
            abnormal: flagged.len(),
            in_force: current.map(|(version, _)| version),
            new: flagged.difference(&before).count(),
            gone: before.difference(&flagged).count(),
            labelled_abnormal: labelled(Label::Abnormal).count(),
            missed: labelled(Label::Abnormal).filter(|found| !found).count(),
            false_alarms: labelled(Label::Normal).filter(|found| *found).count(),
        })
    }

    /// Prints the results.
    pub(super) fn print(&self, args: &TableArgs) -> Result<()> {
        let destination = args.destination()?;
        destination.write(|out| match destination.format() {
            SinkFormat::Text => Ok(self.print_text(out)?),
            SinkFormat::Json => Ok(write_json_line(out, self)?),
            SinkFormat::Csv | SinkFormat::Parquet => {
                let (columns, cells): (Vec<TableColumn>, Vec<TableCell>) =
                    self.row().into_iter().unzip();
                out.rows(&UntypedTable::new("model_trial", &columns), [((), cells)])
            }
        })
    }

    /// Returns the columns of the results, with their values.
    fn row(&self) -> Vec<(TableColumn, TableCell)> {
        let count = |name: &str, number: usize| (TableColumn::int(name), TableCell::from(number));
        vec![
            count("trees", self.trees),
            (
                TableColumn::int("last_steps").optional(),
                self.last_steps.into(),
            ),
            count("abnormal", self.abnormal),
            (
                TableColumn::int("in_force").optional(),
                self.in_force.into(),
            ),
            count("new", self.new),
            count("gone", self.gone),
            count("labelled_abnormal", self.labelled_abnormal),
            count("missed", self.missed),
            count("false_alarms", self.false_alarms),
        ]
    }

    fn print_text(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let of = match self.last_steps {
            Some(steps) => format!("that the job has recorded of its last {steps} steps"),
            None => "that the job has recorded".to_owned(),
        };
        write!(
            out,
            "of the {} trees {of}, this model calls {} abnormal",
            thousands(self.trees),
            thousands(self.abnormal)
        )?;
        match self.in_force {
            Some(version) => writeln!(
                out,
                "; version {version}, which is in force, calls {} of these normal and {} others abnormal",
                thousands(self.new),
                thousands(self.gone)
            )?,
            None => writeln!(out, "; no model is in force now")?,
        }
        if self.labelled_abnormal > 0 {
            writeln!(
                out,
                "of the {} that you labelled abnormal, it misses {}",
                thousands(self.labelled_abnormal),
                thousands(self.missed)
            )?;
        }
        if self.false_alarms > 0 {
            writeln!(
                out,
                "it calls {} abnormal that you labelled normal",
                thousands(self.false_alarms)
            )?;
        }
        Ok(())
    }
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

fn abnormal_trees(model: &SavedModel, forest: &Forest) -> Result<BTreeSet<TreeIdx>> {
    let verdicts = model.verdicts(forest)?;
    let of_trees = verdicts.iter().enumerate();
    let abnormal = of_trees.filter(|(_, verdict)| verdict.is_abnormal);
    Ok(abnormal
        .map(|(tree, _)| TreeIdx::from_index(tree))
        .collect())
}
