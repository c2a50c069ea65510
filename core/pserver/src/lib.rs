//! The parameter server: merges the models and statistics of all AD instances.

pub mod overview;
pub mod packet;
