//! Tables of what an expert needs to trust the decision boundary: parts of runs, wrong labels, models of other runs.

use std::error::Error;

use callgrove_evaluate::evaluate::{Alarms, CurveParams, Truth, learning_curve};
use callgrove_judge::active::QueryStrategy;
use callgrove_judge::detector::{
    Detector, DetectorParams, Embedding, Judgement, Label, ModelArtifact, TreeModel, Yardstick,
    causes, listed_scores,
};
use callgrove_model::Forest;
use callgrove_trees::Progress;

use crate::case::{Case, average_precision};
use callgrove_benches::markdown_table::{MarkdownTable, share};

/// Parts of a run, as fractions of it.
const PARTS: [(f64, f64); 3] = [(0.0, 1.0), (0.0, 0.1), (0.3, 0.6)];
/// Number of draws of wrong labels, of which the worst is reported.
const NUM_DRAWS: usize = 20;

/// Table K: parts of runs, each learned from itself, and judged by a model of the first clean trace.
pub(crate) fn parts(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let mut table = MarkdownTable::new(
        "K. Parts of runs",
        "Average precision, anomalies called normal + normal trees called abnormal, after what a trace write \
         explains is set apart; learned from the part itself, and judged by a model of the first clean run of \
         the same function, or why it is refused.",
        [
            "trace",
            "part",
            "trees",
            "anomalies",
            "by itself",
            "by a clean run",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    let clean = cases.iter().find(|case| case.is_clean());
    let ready = |forest: &Forest| -> Result<TreeModel, Box<dyn Error>> {
        Ok(TreeModel::new(model_of(forest)?)?)
    };
    let model = clean.map(|case| ready(case.forest())).transpose()?;
    for case in cases {
        for (from, to) in PARTS {
            let (part, truth) = case.part(from, to)?;
            let by_itself = judged_by_itself(&part)?;
            let by_clean = match &model {
                Some(model) if !case.is_clean() => {
                    let judged = model.judge(&part, Yardstick::Run, Progress::none())?;
                    match &judged.misfit {
                        Some(misfit) => format!("refused: {misfit}"),
                        None => cell(&truth, &listed_by(&judged)),
                    }
                }
                _ => "-".to_owned(),
            };
            table.push(vec![
                case.name.clone(),
                format!("{:.0} to {:.0} %", 100.0 * from, 100.0 * to),
                part.len().to_string(),
                truth.num_positive().to_string(),
                cell(&truth, &by_itself),
                by_clean,
            ]);
        }
    }
    Ok(table)
}

/// Table L: trees judged abnormal before and after wrong labels on ordinary trees, and the number of labels until less
/// than 1 % of the normal trees are judged abnormal.
pub(crate) fn labels(cases: &[Case]) -> Result<MarkdownTable, Box<dyn Error>> {
    let mut table = MarkdownTable::new(
        "L. Wrong labels, and few labels",
        &format!(
            "Trees called abnormal without labels, and after this number of wrong \"abnormal\" on ordinary trees (the \
             worst of {NUM_DRAWS} draws); right labels, asked for automatically, until less than 1 % of the \
             normal trees are called abnormal and not explained by a trace write, and anomalies missed then."
        ),
        [
            "trace",
            "none",
            "1 wrong",
            "3 wrong",
            "5 wrong",
            "labels to 1 %",
            "missed",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    for case in cases {
        let embedding = case.embed(DetectorParams::default())?;
        let none = vec![None; embedding.num_trees()];
        let plain = Detector::train(&embedding, &none, None, Progress::none())?;
        let ordinary: Vec<usize> = (0..none.len())
            .filter(|&tree| !plain.abnormal()[tree])
            .collect();
        let mut row = vec![case.name.clone(), num_abnormal(&plain).to_string()];
        for num_wrong in [1, 3, 5] {
            let mut worst = 0;
            for draw in 0..NUM_DRAWS {
                let mut labels = none.clone();
                for label in 0..num_wrong {
                    // Spread over the run with steps that are coprime with most lengths.
                    let place = (7_919 * draw + 104_729 * label + 17) % ordinary.len();
                    labels[ordinary[place]] = Some(Label::Abnormal);
                }
                let wrong = Detector::train(&embedding, &labels, Some(&plain), Progress::none())?;
                worst = worst.max(num_abnormal(&wrong));
            }
            row.push(worst.to_string());
        }
        let checkpoints = (0..=20).collect();
        let params = CurveParams { checkpoints }.check()?;
        let query = QueryStrategy::Automatic;
        let points = learning_curve(&embedding, &case.truth, &params, query, Progress::none())?;
        let max_false = case.truth.num_negative() / 100;
        let reached = points
            .iter()
            .find(|point| point.alarms.num_false <= max_false);
        row.push(reached.map_or_else(
            || "more than 20".to_owned(),
            |point| point.num_labels.to_string(),
        ));
        row.push(reached.map_or_else(
            || "-".to_owned(),
            |point| point.alarms.num_missed.to_string(),
        ));
        table.push(row);
    }
    Ok(table)
}

fn model_of(forest: &Forest) -> Result<ModelArtifact, Box<dyn Error>> {
    let params = DetectorParams::default().check()?;
    let embedding = Embedding::fit(forest, &params, crate::case::SEED, Progress::none())?;
    let none = vec![None; forest.len()];
    let detector = Detector::train(&embedding, &none, None, Progress::none())?;
    Ok(ModelArtifact::new(
        forest,
        &embedding,
        &detector,
        Progress::none(),
    )?)
}

/// Returns the scores of a forest as listed, learned from itself.
fn judged_by_itself(forest: &Forest) -> Result<Vec<f64>, Box<dyn Error>> {
    let params = DetectorParams::default().check()?;
    let embedding = Embedding::fit(forest, &params, crate::case::SEED, Progress::none())?;
    let none = vec![None; forest.len()];
    let detector = Detector::train(&embedding, &none, None, Progress::none())?;
    let abnormal = detector.abnormal();
    let causes = causes(abnormal, &none, embedding.write_shares());
    Ok(listed_scores(detector.scores(), abnormal, &causes))
}

fn listed_by(judged: &Judgement) -> Vec<f64> {
    listed_scores(&judged.scores, &judged.abnormal, &judged.causes)
}

fn cell(truth: &Truth, listed: &[f64]) -> String {
    let alarms = Alarms::of(truth, listed);
    format!(
        "{}, {} + {}",
        share(average_precision(truth, listed)),
        alarms.num_missed,
        alarms.num_false
    )
}

fn num_abnormal(detector: &Detector) -> usize {
    detector.abnormal().iter().filter(|&&it| it).count()
}
