//! TAU's trace stream over ADIOS2: BP4 and BP5 folders or SST streams, one per rank.
//!
//! Each step has scalars with the numbers of names and rows, three arrays of rows (function events, counter samples,
//! messages; absent when empty), and attributes that define the indices in rows. ADIOS2 does not validate its input, so
//! a folder's index is checked against its files before it is opened. A folder whose files describe all of TAU's data,
//! such as a closed one, is read without ADIOS2.

mod bp3_file;
mod bp4_lists;
mod bp5_records;
mod bp_index;
mod colliding_writers;
mod decode;
mod descriptions;
mod order;
mod other_ranks;
mod reader;
mod run_clock;
mod schema;
mod step;
mod step_origin;
mod stored_attributes;
mod stored_rows;
mod stored_step;
mod stream;
mod writer;

pub(crate) use bp3_file::is_bp3;
pub(crate) use decode::ARRAYS;
pub(crate) use reader::TauSource;
pub(crate) use step::OUT_OF_BOUNDS;
pub(crate) use stream::{BeginResult, BpStream, is_read_without_adios2};
pub use writer::{EVENT_TYPES, QueueFull, SstWriter, TauStep, TauWriter, WriterEngine};
pub(crate) use writer::{begin_step, put, write_error};
