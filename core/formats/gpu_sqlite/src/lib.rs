//! SQLite files of GPU profilers: NVIDIA Nsight Systems (`nsys export --type sqlite`), AMD's rocpd (rocprofv3,
//! rocprofiler-systems) and rocmProfileData (rpd). Not in a browser: SQLite opens files by their path.
//!
//! ```text
//! file ─ Database (read-only, bounded) ─ Scan (a table or view, in chunks of rows) ─┬─ nsight ─┐
//!                                                                                   ├─ rocpd  ─┼─ ProfiledRun ─ ranks
//!                                                                                   └─ rpd    ─┘
//! ```
//!
//! | what | becomes |
//! |---|---|
//! | API calls, MPI calls, NVTX and ROCTX ranges, operating system calls | calls of their thread |
//! | kernels, copies, memory sets, graphs | calls of their stream, launched by the API call of the same correlation |
//! | NVTX start/end ranges, which may overlap; synchronisations of a GPU | calls of lanes of their own |
//! | bytes of copies and memory sets | sizes of their calls |
//! | synchronisations; API calls that wait by their names | waits of their API call for a stream, or for all |
//! | MPI point-to-point rows | messages, received when the call or the wait that completes it ends |
//! | MPI collectives with a communicator of `MPI_COMMUNICATORS` | collectives, numbered by time |
//! | NCCL and RCCL kernels | collectives of communicator 0, numbered by time on their device; none for `SendRecv` |
//!
//! Tables and columns differ by version and by what was traced, so the reader queries the schema for them. Of rocpd the
//! views are read, since its tables changed between versions 3 and 4.
//!
//! A file holds one process or several. Their ranks are those of `MPI_RANKS`, else of the environment variables of the
//! launcher; else the file is a rank if one of its processes uses a GPU, and the others are its helpers; else
//! processes are numbered in the order of their ids.
//!
//! Sources: the SQLite schema reference in NVIDIA's Nsight Systems user guide (2021.5 to 2025); the SQL of
//! `rocprofiler-sdk-rocpd` 3.0.0, 3.0.3 and 4.1.0 and `generateRocpd.cpp` in ROCm/rocm-systems; the schema and the
//! data sources of ROCm/rocmProfileData; a public `.rpd` file.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod compressed;
mod correlation;
mod database;
mod decoder;
mod environment;
mod error;
mod format;
mod func_names;
mod nsight;
mod process;
mod profiled_run;
mod rank_choice;
mod rocpd;
mod rpd;
mod scan;
mod tool;
mod tool_reader;

pub use error::GpuSqliteError;
pub use format::GpuSqliteFormat;
