//! The views, one folder each; no view uses another.

pub mod candidates;
pub(crate) mod changes;
pub(crate) mod counters;
pub mod details;
mod focus;
pub(crate) mod incidents;
mod labels;
pub(crate) mod overview;
pub(crate) mod patterns;
pub(crate) mod profile;
pub(crate) mod record;
pub(crate) mod records;
pub mod scatter;
pub mod timeline;
pub mod tree;
pub(crate) mod waits;
