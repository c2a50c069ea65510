//! The rows of a table as the content of a file.

use std::io;
use std::sync::Arc;

use callgrove_export::{ResultTable, SinkFormat};
use callgrove_model::{Progress, TreeIdx};
use callgrove_session::{Explainer, Snapshot, listed_rows};
use callgrove_tables::TreeTable;

use crate::background::FileMaker;

/// Makes a table in a format.
pub(crate) type TableMaker = Box<dyn FnOnce(SinkFormat) -> FileMaker + Send>;

/// Number of rows between two reports of the progress.
const ROWS_PER_REPORT: usize = 1 << 10;
/// Fraction of the work that compares the trees of a table with usual ones.
const COMPARED: f32 = 0.4;

/// Returns the maker of a table with these rows.
pub(crate) fn table_of<T>(table: T, rows: Vec<T::Row>) -> TableMaker
where
    T: ResultTable + Send + 'static,
    T::Row: Send,
{
    Box::new(move |format| {
        Box::new(move |progress| write(&table, (rows.len(), rows.into_iter()), format, progress))
    })
}

/// Returns the maker of a table of trees in this order, with the reasons of those that are called abnormal.
pub(crate) fn candidates_table(snapshot: Arc<Snapshot>, trees: Vec<TreeIdx>) -> TableMaker {
    Box::new(move |format| {
        Box::new(move |progress| {
            let (Some(analysis), Some(detection)) = (snapshot.analysis(), snapshot.detection())
            else {
                return Err("no executions are judged: open a trace first".to_owned());
            };
            let forest = &analysis.forest;
            let labels = &snapshot.edits.labels_by_tree;
            let explainer = Explainer::new(forest, detection, labels, progress.part(0.0, COMPARED));
            let explainer = explainer.map_err(|cause| cause.to_string())?;
            let rows = listed_rows(
                (forest, detection, labels),
                snapshot.causes().map(AsRef::as_ref),
                trees.iter().copied(),
                |tree| {
                    // As in the table of `callgrove analyze`.
                    if detection.is_abnormal(tree) {
                        explainer.reasons(tree)
                    } else {
                        Vec::new()
                    }
                },
            );
            let table = TreeTable::new(forest, true);
            write(
                &table,
                (trees.len(), rows),
                format,
                progress.part(COMPARED, 1.0),
            )
        })
    })
}

fn write<T: ResultTable>(
    table: &T,
    (num_rows, rows): (usize, impl Iterator<Item = T::Row>),
    format: SinkFormat,
    progress: Progress<'_>,
) -> Result<Vec<u8>, String> {
    let mut content = Vec::new();
    let as_text = |error: io::Error| error.to_string();
    let mut sink = format.sink(table, &mut content).map_err(as_text)?;
    for (number, row) in rows.enumerate() {
        if number % ROWS_PER_REPORT == 0 {
            let done = progress.at(number as f32 / num_rows as f32);
            done.map_err(|cause| cause.to_string())?;
        }
        sink.write(&row).map_err(as_text)?;
    }
    sink.finish().map_err(as_text)?;
    Ok(content)
}
