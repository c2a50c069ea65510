//! How rare values are in normal trees.

mod normal_ranks;
mod null_tail;
mod pareto;
mod svm_tail;

pub use normal_ranks::NormalRanks;
pub use null_tail::{NullTail, Observation};
pub use svm_tail::SvmTail;
