//! The results of a model on the trees that a job has recorded, before it is published.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::Result;
use callgrove_export::{TableCell, TableColumn};
use callgrove_model::{Forest, Label, TreeIdx, thousands};
use callgrove_session::{LabelSet, SavedModel};
use serde::Serialize;

/// The results of a model on the newest recorded trees of a job, compared with the model in force.
#[derive(Serialize)]
pub struct PublicationTrial {
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

impl PublicationTrial {
    /// Runs a model on the recorded trees of the `last_steps` steps, or of all. `in_force` is the version and the model
    /// that it would replace.
    ///
    /// # Errors
    /// A model cannot judge the trees.
    pub fn new(
        model: &SavedModel,
        in_force: Option<&(u32, SavedModel)>,
        forest: &Forest,
        labels: &LabelSet,
        last_steps: Option<u64>,
    ) -> Result<Self> {
        let flagged = abnormal_trees(model, forest)?;
        let before = match in_force {
            Some((_, current)) => abnormal_trees(current, forest)?,
            None => BTreeSet::new(),
        };
        let labels = labels.by_tree(forest);
        let labelled = |wanted: Label| {
            let labels = labels.iter().enumerate();
            labels
                .filter(move |(_, label)| **label == Some(wanted))
                .map(|(tree, _)| flagged.contains(&TreeIdx::from_index(tree)))
        };
        Ok(Self {
            trees: forest.len(),
            last_steps,
            abnormal: flagged.len(),
            in_force: in_force.map(|(version, _)| *version),
            new: flagged.difference(&before).count(),
            gone: before.difference(&flagged).count(),
            labelled_abnormal: labelled(Label::Abnormal).count(),
            missed: labelled(Label::Abnormal).filter(|found| !found).count(),
            false_alarms: labelled(Label::Normal).filter(|found| *found).count(),
        })
    }

    /// Returns the columns of the results, with their values.
    pub fn row(&self) -> Vec<(TableColumn, TableCell)> {
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

    /// Prints the results as text.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
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

fn abnormal_trees(model: &SavedModel, forest: &Forest) -> Result<BTreeSet<TreeIdx>> {
    let verdicts = model.verdicts(forest)?;
    let of_trees = verdicts.iter().enumerate();
    let abnormal = of_trees.filter(|(_, verdict)| verdict.is_abnormal);
    Ok(abnormal
        .map(|(tree, _)| TreeIdx::from_index(tree))
        .collect())
}
