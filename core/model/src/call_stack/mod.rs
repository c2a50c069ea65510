//! Call stacks: the executions of a lane from its entries and exits, and exits on another lane than their entries.

mod builder;
mod moved_exits;
mod moved_in_step;

pub use builder::CallStackBuilder;
pub(crate) use builder::top;
pub(crate) use moved_exits::pair_moved_exits;
pub use moved_in_step::move_exits;
