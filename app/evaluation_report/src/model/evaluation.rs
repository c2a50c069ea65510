//! The evaluation of a model on a run.

use std::io::{Result as IoResult, Write};

use callgrove_evaluate::evaluate::{Alarms, Quality, Truth};
use callgrove_export::{TableCell, TableColumn};
use callgrove_judge::detector::{Judgement, Misfit, ModelArtifact, listed_scores};
use callgrove_model::{Forest, TreeIdx, thousands};
use serde::Serialize;

/// The results of a model on the executions of a run.
#[derive(Serialize)]
pub struct ModelEvaluation {
    function: String,
    trees: usize,
    abnormal: usize,
    /// Share of the trees that the model calls abnormal, 0..=1.
    share: f64,
    /// The same share of the training's trees.
    share_in_training: f64,
    /// Share of the trees with a structure that the training does not have.
    new_structure_share: f64,
    /// Share of the time of all trees in functions that the training does not have.
    unseen_time_share: f64,
    /// The reason why the model does not fit this run; `None` if it fits.
    misfit: Option<Misfit>,
    misfit_words: Option<String>,
    /// The accuracy, if the truth is known.
    truth: Option<Accuracy>,
}

/// The results of a model compared with the truth.
#[derive(Serialize)]
struct Accuracy {
    positive: usize,
    negative: usize,
    missed: usize,
    false_alarms: usize,
    /// Share of the abnormal trees that are anomalies; `None` if no tree is abnormal.
    precision: Option<f64>,
    /// Share of the anomalies that are called abnormal; `None` if there are no anomalies.
    recall: Option<f64>,
    roc_auc: Option<f64>,
    average_precision: Option<f64>,
}

fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

impl ModelEvaluation {
    /// Returns the evaluation of the model with this artifact, from its results on a forest. The accuracy needs the truth.
    pub fn new(
        artifact: &ModelArtifact,
        function: String,
        forest: &Forest,
        judged: Judgement,
        truth: Option<&Truth>,
    ) -> Self {
        let truth = truth.map(|truth| {
            let listed = listed_scores(&judged.scores, &judged.abnormal, &judged.causes);
            let alarms = Alarms::of(truth, &listed);
            let quality = Quality::of_all(truth, &listed);
            Accuracy::new(
                [truth.num_positive(), truth.num_negative()],
                alarms,
                quality,
            )
        });
        let abnormal = judged.abnormal.iter().filter(|&&it| it).count();
        let num_new = judged.unseen.iter().filter(|it| it.is_new_structure);
        let times = (0..forest.len()).map(TreeIdx::from_index);
        let times = times.map(|tree| forest.tree(tree).duration().0 as f64);
        let (mut all, mut unseen) = (0.0, 0.0);
        for (time, of_tree) in times.zip(&judged.unseen) {
            all += time;
            unseen += time * of_tree.time_share;
        }
        Self {
            function,
            trees: forest.len(),
            abnormal,
            share: share(abnormal, forest.len()),
            share_in_training: share(artifact.num_abnormal, artifact.num_trees),
            new_structure_share: share(num_new.count(), forest.len()),
            unseen_time_share: if all > 0.0 { unseen / all } else { 0.0 },
            misfit_words: judged.misfit.as_ref().map(ToString::to_string),
            misfit: judged.misfit,
            truth,
        }
    }

    /// Returns the columns of the evaluation, with its values.
    pub fn row(&self) -> Vec<(TableColumn, TableCell)> {
        let truth = self.truth.as_ref();
        let count = |name: &str, of: fn(&Accuracy) -> usize| {
            (
                TableColumn::int(name).optional(),
                TableCell::from(truth.map(of)),
            )
        };
        let measure = |name: &str, of: fn(&Accuracy) -> Option<f64>| {
            let value = truth.and_then(of);
            (TableColumn::float(name).optional(), TableCell::from(value))
        };
        vec![
            (TableColumn::text("function"), (&*self.function).into()),
            (TableColumn::int("trees"), self.trees.into()),
            (TableColumn::int("abnormal"), self.abnormal.into()),
            (TableColumn::float("share"), self.share.into()),
            (
                TableColumn::float("share_in_training"),
                self.share_in_training.into(),
            ),
            (
                TableColumn::float("new_structure_share"),
                self.new_structure_share.into(),
            ),
            (
                TableColumn::float("unseen_time_share"),
                self.unseen_time_share.into(),
            ),
            (
                TableColumn::text("misfit_words").optional(),
                self.misfit_words.clone().into(),
            ),
            count("positive", |truth| truth.positive),
            count("negative", |truth| truth.negative),
            count("missed", |truth| truth.missed),
            count("false_alarms", |truth| truth.false_alarms),
            measure("precision", |truth| truth.precision),
            measure("recall", |truth| truth.recall),
            measure("roc_auc", |truth| truth.roc_auc),
            measure("average_precision", |truth| truth.average_precision),
        ]
    }

    /// Prints the evaluation as text.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn print(&self, out: &mut dyn Write) -> IoResult<()> {
        writeln!(
            out,
            "{}: {} executions",
            self.function,
            thousands(self.trees)
        )?;
        let mut line = |what: &str, text: String| writeln!(out, "  {what:<18} {text}");
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let of_training = percent(self.share_in_training);
        line(
            "abnormal",
            format!(
                "{} ({}; in its training {of_training})",
                thousands(self.abnormal),
                percent(self.share)
            ),
        )?;
        line(
            "unseen structure",
            format!(
                "{} of the executions, functions with {} of their time",
                percent(self.new_structure_share),
                percent(self.unseen_time_share)
            ),
        )?;
        let fit = self.misfit_words.as_deref();
        line(
            "fit",
            fit.map_or("it fits".to_owned(), |why| {
                format!("it does not fit: {why}")
            }),
        )?;
        let Some(truth) = &self.truth else {
            return Ok(());
        };
        let number = |number: Option<f64>| number.map_or("-".to_owned(), |it| format!("{it:.4}"));
        let (positive, negative) = (thousands(truth.positive), thousands(truth.negative));
        line("truth", format!("{positive} anomalies, {negative} normal"))?;
        let (missed, false_alarms) = (thousands(truth.missed), thousands(truth.false_alarms));
        line("missed", missed)?;
        line("false alarms", false_alarms)?;
        line("precision", number(truth.precision))?;
        line("recall", number(truth.recall))?;
        line("average precision", number(truth.average_precision))?;
        line("ROC AUC", number(truth.roc_auc))
    }
}

impl Accuracy {
    fn new([positive, negative]: [usize; 2], alarms: Alarms, quality: Option<Quality>) -> Self {
        let found = positive - alarms.num_missed;
        let flagged = found + alarms.num_false;
        Self {
            positive,
            negative,
            missed: alarms.num_missed,
            false_alarms: alarms.num_false,
            precision: (flagged > 0).then(|| share(found, flagged)),
            recall: (positive > 0).then(|| share(found, positive)),
            roc_auc: quality.map(|quality| quality.ranking.roc_auc),
            average_precision: quality.map(|quality| quality.ranking.average_precision),
        }
    }
}
