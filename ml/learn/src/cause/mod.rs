//! What explains that a tree took long and is not the program's doing: the tracer wrote its own data.

mod spans;
mod write_share;

pub use write_share::{WriteShare, write_shares};
