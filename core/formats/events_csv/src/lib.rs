//! Events as comma-separated values, in the columns of Pipit: the simplest form in which other tools and scripts can
//! provide a run.
//!
//! ```text
//! Timestamp (ns),Event Type,Name,Thread,Process,Attributes
//! 0,Enter,main,0,0,
//! 1500,Enter,MPI_Send,0,0,
//! 1600,Instant,MpiSend,0,0,"{'receiver': 1, 'msg_tag': 7, 'msg_length': 4096}"
//! 9000,Leave,MPI_Send,0,0,
//! ```
//!
//! | column | |
//! |---|---|
//! | `Timestamp (ns)`, or `(us)`, `(ms)`, `(s)` | time, a decimal number; required |
//! | `Event Type` | `Enter`, `Leave` or `Instant`; required |
//! | `Name` | the function; required |
//! | `Process` | the rank; 0 if the column is missing |
//! | `Thread` | the thread; 0 if the column is missing |
//! | `Attributes` | of a message, as Python writes a dictionary: `receiver` or `sender`, `msg_tag`, `msg_length` |
//!
//! The columns may be in any order, and others are ignored. Instants named `MpiSend` and `MpiIsend` are messages sent,
//! `MpiRecv` and `MpiIrecv` messages received; other instants are ignored. A partner is interpreted as a process,
//! as in Pipit, whatever its communicator. Rows of one thread should be in order of time.
//!
//! Columns and names as in Pipit's data structure: A. Bhatele et al., "Pipit: Scripting the analysis of parallel
//! execution traces", 2023.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod columns;
mod format;
mod pending_step;
mod row;
mod stream;
mod timestamp_unit;

pub use format::EventsCsvFormat;
