//! The origin of a model: the run and trees that it was learned from.

use std::io::{Result as IoResult, Write};

use anyhow::Result;
use callgrove_export::{TableCell, TableColumn};
use callgrove_judge::detector::{LabelDigest, ModelArtifact};
use callgrove_model::{DurationNs, WeightUnit, thousands};
use serde_json::{Value, json};

/// Returns the columns of a model, with its values. Lists are separated by semicolons, as function names have commas.
///
/// # Errors
/// The settings cannot be encoded.
pub fn model_row(model: &ModelArtifact, name: &str) -> Result<Vec<(TableColumn, TableCell)>> {
    let run = (!model.run.is_empty()).then(|| model.run.id());
    let median = model.median_duration_ns as f64 / 1e3;
    let mut row = vec![
        (TableColumn::text("name"), name.into()),
        (TableColumn::int("version"), model.version.into()),
        (
            TableColumn::text("functions"),
            model.functions.join("; ").into(),
        ),
        (
            TableColumn::text("programs"),
            model.programs.join("; ").into(),
        ),
        (TableColumn::text("run").optional(), run.into()),
        (TableColumn::text("run_words"), model.run.to_string().into()),
        (TableColumn::int("ranks"), model.num_ranks.into()),
        (TableColumn::int("trees"), model.num_trees.into()),
        (TableColumn::int("abnormal"), model.num_abnormal.into()),
        (
            TableColumn::int("labelled_abnormal"),
            model.labels.num_abnormal.into(),
        ),
        (
            TableColumn::int("labelled_normal"),
            model.labels.num_normal.into(),
        ),
        (
            TableColumn::text("settings"),
            serde_json::to_string(&model.params)?.into(),
        ),
        (TableColumn::int("seed"), model.seed.into()),
    ];
    row.extend(match &model.unit {
        WeightUnit::Time => vec![(TableColumn::float("median_duration_us"), median.into())],
        WeightUnit::Other(unit) => vec![
            (TableColumn::float("median_weight"), median.into()),
            (TableColumn::text("unit"), unit.clone().into()),
        ],
    });
    Ok(row)
}

/// Returns what a model was learned from, as JSON.
pub fn model_json(model: &ModelArtifact, name: &str) -> Value {
    let mut line = json!({
        "name": name,
        "version": model.version,
        "functions": model.functions,
        "programs": model.programs,
        "run": (!model.run.is_empty()).then(|| model.run.id()),
        "run_words": model.run.to_string(),
        "ranks": model.num_ranks,
        "trees": model.num_trees,
        "abnormal": model.num_abnormal,
        "labels": model.labels,
        "settings": model.params,
        "seed": model.seed,
    });
    let median = json!(model.median_duration_ns as f64 / 1e3);
    match &model.unit {
        WeightUnit::Time => line["median_duration_us"] = median,
        WeightUnit::Other(unit) => {
            line["median_weight"] = median;
            line["unit"] = json!(unit);
        }
    }
    line
}

/// Prints what a model was learned from, as text.
///
/// # Errors
/// Those of `out`.
pub fn print_model(out: &mut dyn Write, model: &ModelArtifact, name: &str) -> IoResult<()> {
    writeln!(out, "{name}")?;
    let mut line = |what: &str, text: String| writeln!(out, "  {what:<16} {text}");
    line("functions", model.functions.join(", "))?;
    line("programs", model.programs.join(", "))?;
    line("run", model.run.to_string())?;
    line("ranks", model.num_ranks.to_string())?;
    line("trees", thousands(model.num_trees))?;
    line("abnormal", thousands(model.num_abnormal))?;
    let median = DurationNs(model.median_duration_ns);
    let heading = format!("median {}", model.unit.heading());
    line(&heading, model.unit.amount(median).to_string())?;
    line("labels", labels(&model.labels))?;
    line("seed", model.seed.to_string())?;
    let settings = serde_json::to_string(&model.params)?;
    line("settings", settings)?;
    line("format", format!("version {}", model.version))
}

fn labels(labels: &LabelDigest) -> String {
    let Some(newest) = labels.newest else {
        return "none".to_owned();
    };
    format!(
        "{} abnormal, {} normal; the newest of the execution of {}; hash {}",
        thousands(labels.num_abnormal),
        thousands(labels.num_normal),
        newest.utc(),
        labels.hash
    )
}
