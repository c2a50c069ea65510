//! Prints what a model was learned from.

use std::io::{Result as IoResult, Write};

use anyhow::Result;
use callgrove_judge::detector::{LabelDigest, ModelArtifact};
use callgrove_model::{DurationNs, WeightUnit, thousands};
use callgrove_session::SavedModel;
use serde_json::json;

use crate::args::SummaryFormat;
use crate::output::print;

/// Prints what a model was learned from.
pub(super) fn show(model: &SavedModel, name: &str, format: SummaryFormat) -> Result<()> {
    let model = model.tree_model().artifact();
    print(|out| match format {
        SummaryFormat::Table => print_table(out, model, name),
        SummaryFormat::Json => {
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
            writeln!(out, "{line}")
        }
    })
}

fn print_table(out: &mut dyn Write, model: &ModelArtifact, name: &str) -> IoResult<()> {
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
