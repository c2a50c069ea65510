//! The views of executions as trees, each a folder that no other folder uses.
//!
//! ```text
//! candidates   executions, the most abnormal first
//! scatter      the map: close points are similar trees
//! tree         the calls of the focused execution
//! details      the selected call
//! labels       names next to discs, for candidates and tree
//! ```

pub mod candidates;
pub mod details;
mod labels;
pub mod scatter;
pub mod tree;
