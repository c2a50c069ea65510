//! Bytes as text, and hashes of bytes.

mod escape;
mod hash;

pub use escape::{hex, percent_decoded, percent_encoded};
pub use hash::fnv1a;
