//! Runs side by side: what changed, and whether runs are as good as a reference.

pub(crate) mod baseline;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod nodes;
pub(in crate::cmd) mod sides;
