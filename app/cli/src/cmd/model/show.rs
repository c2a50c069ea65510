//! Prints what a model was learned from.

use std::io::Write;

use anyhow::Result;
use callgrove_evaluation_report::{model_json, model_row, print_model};
use callgrove_export::{SinkFormat, TableCell, TableColumn, UntypedTable};
use callgrove_session::SavedModel;

use callgrove_args::TableArgs;

use crate::table_output::TableDestination;

/// Prints what a model was learned from.
pub(super) fn show(model: &SavedModel, name: &str, args: &TableArgs) -> Result<()> {
    let model = model.tree_model().artifact();
    let destination = TableDestination::of(args)?;
    destination.write(|out| match destination.format() {
        SinkFormat::Text => Ok(print_model(out, model, name)?),
        SinkFormat::Json => Ok(writeln!(out, "{}", model_json(model, name))?),
        SinkFormat::Csv | SinkFormat::Parquet => {
            let (columns, cells): (Vec<TableColumn>, Vec<TableCell>) =
                model_row(model, name)?.into_iter().unzip();
            out.rows(&UntypedTable::new("model", &columns), [((), cells)])
        }
    })
}
