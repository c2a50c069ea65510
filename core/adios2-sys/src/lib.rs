//! ADIOS2's C API, loaded at run time, with one safe type per handle.
//!
//! One binary of Callgrove serves every site, because it uses the ADIOS2 that is installed there:
//! [`default_candidates`] returns the search locations, [`Library::load`] loads the first that works. Any release
//! from 2.8 on is supported; functions that only newer releases have are looked up when loading.
//!
//! ```text
//! Library ─ Adios::new ─ declare_io ─ Io ─ open ─ AdiosEngine ─┬─ variable(name)  ─ Variable  ┐ live no longer
//!                                         (consumed)           └─ attribute(name) ─ Attribute ┘ than the step
//! ```
//!
//! * **Ownership.** An [`Adios`] becomes its [`Io`], which becomes its [`AdiosEngine`]; dropping the last one closes
//!   the engine and frees everything. Handles inside it are borrowed from the [`Io`], and everything that may make
//!   ADIOS2 forget a variable or attribute ([`AdiosEngine::begin_step`], [`AdiosEngine::end_step`],
//!   [`AdiosEngine::forget_attributes`]) borrows the engine mutably, so that no handle can dangle.
//! * **Errors.** Every return code becomes an [`Adios2Error`] with the operation and the name. The C API drops the
//!   text of the C++ exception after printing it to the standard error stream. This cannot be disabled, so a failing
//!   call leaves such a line there. Callers that can check a file beforehand should do so.
//! * **Threads.** Nothing in ADIOS2 may be used by two threads at once, but the chain above is one unit that shares
//!   nothing mutable with another [`Adios`]: it is `Send` and not `Sync`. So each thread reads with its own.
//! * **Processes.** Over SST one library identifies the processes that it talks to by numbers, which two processes
//!   may share; then it confuses them. [`Library::load_again`] loads a copy that shares no state with the first.
//! * **Trust.** ADIOS2 trusts the metadata that it reads: a truncated or altered file can crash the process inside
//!   the library, where no return code helps. Check files before opening them.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]
#![expect(
    unsafe_code,
    reason = "this crate is the one place that calls into the C library"
)]

mod adios;
mod api;
mod attribute;
mod element;
mod engine;
mod error;
mod gets;
mod io;
mod library;
mod library_search;
mod malloc;
mod on_demand;
mod open_turn;
mod variable;

pub use adios::Adios;
pub use attribute::Attribute;
pub use element::{DataType, Element};
pub use engine::{AdiosEngine, OpenMode, StepStatus};
pub use error::{Adios2Error, Attempt, ErrorCode};
pub use gets::Gets;
pub use io::Io;
pub use library::Library;
pub use library_search::{Candidate, LibraryLocation, default_candidates};
pub use malloc::expose_stray_reads;
pub use on_demand::LibraryOnDemand;
pub use variable::Variable;
