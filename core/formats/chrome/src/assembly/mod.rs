//! Makes ranks and lanes of the rows of all files.

mod assembler;
mod gpu_facts;
mod own_lanes;
mod ranks;

pub(crate) use assembler::assemble;
