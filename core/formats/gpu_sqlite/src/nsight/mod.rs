//! Files that `nsys export --type sqlite` writes. Tables are made lazily, so most are missing in most files.

mod facts;
mod global_id;
mod mpi_calls;
mod mpi_ranks;
mod synchronizations;
mod table_names;
mod tables;

pub(crate) use tables::NsightReader;
