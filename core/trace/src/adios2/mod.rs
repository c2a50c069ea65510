//! TAU's trace stream over ADIOS2: BP4 and BP5 folders or SST streams, one per rank.
//!
//! The stream: each step has scalars that count names and rows, three arrays of rows (function events,
//! counter samples, messages; absent when empty), and attributes that name what the rows' indices mean.
//! ADIOS2 trusts what it reads, so a folder's index is checked against its files before it is opened. Where that shows all
//! that TAU writes, as in a folder that is closed, the folder is read without ADIOS2.

mod bp3_file;
mod bp4_lists;
mod bp5_records;
mod clock;
mod decode;
mod descriptions;
mod index;
mod namesakes;
mod order;
mod other_ranks;
mod reader;
mod schema;
mod step;
mod step_origin;
mod stored_attributes;
mod stored_rows;
mod stored_step;
mod stream;
mod writer;

pub(crate) use bp3_file::error as bp3_error;
pub(crate) use decode::ARRAYS;
pub(crate) use reader::TauSource;
pub(crate) use step::LED_ASTRAY;
pub(crate) use stream::{Begun, BpStream, is_read_without_adios2};
pub use writer::{EVENT_TYPES, QueueFull, SstWriter, TauStep, TauWriter, WriterEngine};
pub(crate) use writer::{begin_step, put, write_error};
