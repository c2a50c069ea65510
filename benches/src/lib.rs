//! Inputs of the benches: generated, so that they need no files and can have any size.

mod forest;
pub mod generator;
pub mod markdown_table;
pub mod meter;
pub mod program_study;
pub mod programs;
mod random_trees;
pub mod recorded_run;
mod rows;
pub mod tau_trace;

pub use forest::molecular_dynamics_forest;
pub use random_trees::RandomTrees;
pub use rows::clustered_rows;
