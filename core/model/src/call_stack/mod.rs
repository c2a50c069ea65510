//! Call stacks: the executions of a lane from its entries and exits, and exits on another lane than their entries.

mod builder;
mod moved_exits;

pub use builder::CallStackBuilder;
pub(crate) use builder::top;
pub(crate) use moved_exits::pair_moved_exits;
