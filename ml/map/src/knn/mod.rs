//! Exact nearest neighbours: of one row, of all rows, and of new rows among old ones.

mod all;
mod candidates;
mod distance;
mod nearest;
mod packed;

pub use all::{Neighbours, all_nearest, nearest_among};
pub(crate) use distance::squared_distance;
pub use nearest::nearest;
