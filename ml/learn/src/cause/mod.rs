//! Causes outside the program: the tracer writes its own data.

mod spans;
mod write_share;

pub use write_share::{WriteShare, write_shares};
