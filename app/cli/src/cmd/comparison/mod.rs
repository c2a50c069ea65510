//! Two runs side by side: what changed, and whether a run is as good as a reference.

pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod nodes;
mod outcome;
mod report;
