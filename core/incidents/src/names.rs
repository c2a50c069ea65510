//! The names of functions, which the caller has.

use callgrove_model::FuncId;

/// The names of a run's functions, by global index.
pub trait FunctionNames {
    /// Returns the name of a function; empty if it is unknown.
    fn name(&self, fid: FuncId) -> &str;
}
