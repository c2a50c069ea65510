//! What reads the tables of one profiler.

use crate::database::Database;
use crate::profiled_run::ProfiledRun;
use crate::scan::{Cells, Scan};

/// Reads the tables of one profiler.
pub(crate) trait ToolReader: Send {
    /// Returns the tables to read, in their order, after reading small ones about processes and clocks.
    fn begin(&mut self, database: &Database, run: &mut ProfiledRun) -> Vec<Scan>;

    /// Takes in a row of the table at an index of [`ToolReader::begin`]; returns `None` if the row is invalid.
    fn take(
        &mut self,
        table: usize,
        cells: &Cells<'_>,
        database: &Database,
        run: &mut ProfiledRun,
    ) -> Option<()>;

    /// Adds what follows from all rows.
    fn finish(&mut self, run: &mut ProfiledRun);
}
