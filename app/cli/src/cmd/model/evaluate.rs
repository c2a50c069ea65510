//! Evaluates a model on a run.

use anyhow::{Context, Result};
use callgrove_evaluation_report::ModelEvaluation;
use callgrove_export::{SinkFormat, TableCell, TableColumn, UntypedTable, write_json_line};
use callgrove_judge::detector::Yardstick;
use callgrove_model::FunctionName;
use callgrove_pipeline::read_tree_model;

use crate::cmd::evaluate::read_truth;
use crate::cmd::forest::forest_of;
use crate::output::{Clock, warn, with_progress};
use crate::table_output::TableDestination;
use callgrove_args::ModelEvaluateArgs;

/// Prints the evaluation of a model on a run.
pub(super) fn evaluate(args: &ModelEvaluateArgs) -> Result<()> {
    let destination = TableDestination::of(&args.table)?;
    let model = read_tree_model(&args.model)?;
    let model = model.tree_model();
    let table = args.truth.as_deref().map(read_truth).transpose()?;
    let function = if let Some(function) = &args.function {
        function.clone()
    } else {
        let of_model = model.artifact().functions.first();
        let of_model = of_model.context("the model has no function")?;
        FunctionName::parse(of_model).qualified.to_owned()
    };
    let part = args.part.between;
    let (forest, function) = forest_of(
        &args.trace.source(),
        Some(&function),
        part,
        &mut Clock::new(false),
    )?;
    let judged = with_progress("Judging", |progress| {
        model.judge(&forest, Yardstick::Run, progress)
    })?;
    let classes = &args.classes;
    let truth = table.map(|table| {
        let positive = classes.positive.as_deref();
        let truth = table.truth(&forest, positive, &classes.negative, &warn);
        truth.context("cannot use the truth")
    });
    let truth = truth.transpose()?;
    let evaluation =
        ModelEvaluation::new(model.artifact(), function, &forest, judged, truth.as_ref());
    destination.write(|out| match destination.format() {
        SinkFormat::Text => Ok(evaluation.print(out)?),
        SinkFormat::Json => Ok(write_json_line(out, &evaluation)?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            let (columns, cells): (Vec<TableColumn>, Vec<TableCell>) =
                evaluation.row().into_iter().unzip();
            out.rows(
                &UntypedTable::new("model_evaluation", &columns),
                [((), cells)],
            )
        }
    })
}
