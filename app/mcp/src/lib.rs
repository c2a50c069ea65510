//! A server of the model context protocol, through which an assistant asks about runs.
//!
//! Tools answer from the same session that a window shows, one run at a time, on a thread of its own; nothing is changed
//! but labels, and these only if the settings allow it.
//!
//! ```text
//!  assistant ◀── standard input and output ──▶ tools ── question ─▶ worker (thread) ─▶ open run ── session
//!                                                ▲                                        │
//!                                                └── answer: rows and the number left out ┘
//!  The program opens sessions, compares runs and searches databases: RunAccess, of places that a person named.
//! ```

mod access;
mod allowed_places;
mod answer;
mod drawn_view;
mod open_run;
mod server;
mod tools;
mod worker;

pub use access::{FoundRecords, RunAccess, ServerSettings, WantedRecords};
pub use server::serve_stdio;
