//! Bytes as text, and as a number that stands for them.

mod escape;
mod hash;

pub use escape::{hex, percent_decoded, percent_encoded};
pub use hash::fnv1a;
