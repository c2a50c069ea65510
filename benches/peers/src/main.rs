//! Callgrove's t-SNE and nearest neighbours beside those of manifolds-rs, on the same rows.

fn main() {}
