//! The paper's views, one folder each; no view uses another.

pub mod candidates;
mod focus;
mod labels;
pub mod scatter;
pub mod timeline;
pub mod tree;
