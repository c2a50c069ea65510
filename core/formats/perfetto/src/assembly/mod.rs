//! Makes ranks and lanes of the recorded tracks.

mod assembler;
mod counters;
mod flows;
mod lane_facts;
mod slices;

pub(crate) use assembler::assemble;
