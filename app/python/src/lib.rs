//! Callgrove for Python: the extension module of the package `callgrove`.
//!
//! ```text
//!  callgrove.open ── Run ─┬─ rank, causes, incidents, patterns ── the commands' tables ─┐
//!                         ├─ calls, messages, events ── batches made while they are ────┴─ Table ── __arrow_c_stream__
//!                         │                             read, from the columns of the run
//!                         ├─ tree ── Tree, which prints itself
//!                         └─ label, train, save_model, to_perfetto
//! ```
//!
//! Long work runs without Python's global lock. A [`watch::WorkReporter`] shows its progress and cancels it at Ctrl+C.

mod batch;
mod errors;
mod executions;
mod opened;
mod opening;
mod rows;
mod run;
mod table;
mod trace_file;
mod tree;
mod watch;

use pyo3::prelude::*;

/// The extension module; the package `callgrove` re-exports its items.
#[pymodule]
fn _callgrove(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("Error", py.get_type::<errors::Error>())?;
    module.add("DataWarning", py.get_type::<errors::DataWarning>())?;
    module.add_class::<run::PyRun>()?;
    module.add_class::<table::PyTable>()?;
    module.add_class::<tree::Tree>()?;
    module.add_function(wrap_pyfunction!(opening::open, module)?)
}
