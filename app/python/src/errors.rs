//! Python's exceptions and warnings, with the texts of the library's errors.

use std::ffi::CString;
use std::fmt::Display;
use std::io::{self, ErrorKind};

use anyhow::anyhow;
use callgrove_model::{Warnings, count_of};
use pyo3::exceptions::{
    PyException, PyFileNotFoundError, PyOSError, PyPermissionError, PyUserWarning,
};
use pyo3::prelude::*;

pyo3::create_exception!(
    callgrove,
    Error,
    PyException,
    "An error of Callgrove: what failed, where, and what helps."
);
pyo3::create_exception!(
    callgrove,
    DataWarning,
    PyUserWarning,
    "A run is damaged; what can be read is used."
);

/// Returns an exception with a text.
pub(crate) fn error(text: impl Display) -> PyErr {
    Error::new_err(text.to_string())
}

/// Returns the exception of an error: that of the file system, if it caused the error.
pub(crate) fn exception(error: impl Into<anyhow::Error>) -> PyErr {
    let error = error.into();
    let text = format!("{error:#}");
    let io = error.chain().find_map(|it| it.downcast_ref::<io::Error>());
    match io.map(io::Error::kind) {
        Some(ErrorKind::NotFound) => PyFileNotFoundError::new_err(text),
        Some(ErrorKind::PermissionDenied) => PyPermissionError::new_err(text),
        Some(_) => PyOSError::new_err(text),
        None => Error::new_err(text),
    }
}

/// Returns an error that Arrow or a table reported.
pub(crate) fn table_error(cause: impl Display) -> PyErr {
    exception(anyhow!("the table cannot be built: {cause}"))
}

/// Reports each kind of damage of a run as a warning.
pub(crate) fn warn_of_damage(py: Python<'_>, warnings: &Warnings) -> PyResult<()> {
    let category = py.get_type::<DataWarning>();
    for warning in warnings.damage() {
        let rank = warning
            .rank
            .map_or_else(String::new, |rank| format!("rank {rank}: "));
        let text = format!(
            "{rank}{} ({}; first {})",
            warning.kind,
            count_of(warning.count, "time"),
            warning.first.since(None)
        );
        // A text of a file may contain zero bytes.
        let text = CString::new(text.replace('\0', "?")).map_err(error)?;
        PyErr::warn(py, &category, &text, 1)?;
    }
    Ok(())
}
