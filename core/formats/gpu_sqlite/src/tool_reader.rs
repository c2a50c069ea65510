//! The interface of a reader of one profiler's tables.

use crate::database::Database;
use crate::profiled_run::ProfiledRun;
use crate::scan::{Cells, Scan};

/// Reads the tables of one profiler.
pub(crate) trait ToolReader: Send {
    /// Returns the tables to read, in their order, after reading small ones about processes and clocks.
    fn begin(&mut self, database: &Database, run: &mut ProfiledRun) -> Vec<Scan>;

    /// Processes a row of the table at an index of [`ToolReader::begin`]; returns `None` if the row is invalid.
    fn take(
        &mut self,
        table: usize,
        cells: &Cells<'_>,
        database: &Database,
        run: &mut ProfiledRun,
    ) -> Option<()>;

    /// Adds the events that follow from all rows together.
    fn finish(&mut self, run: &mut ProfiledRun);
}
