//! Callgrove in a browser: the application of the desktop's window, in a page.
//!
//! ```text
//! page/index.html ─ boot.js ─ start ─ WebApp ─ CallgroveApp ── Session ── SessionLink ── bytes ─▶ Engine
//!        ▲                              │                                     ▲                  │
//!        └── mirror: outline ◀──────────┘                                     └───── frames ◀────┘
//! ```
//!
//! * [`worker`] runs the engine of a page without a server's session, in a worker next to the page's thread
//!   (`worker.js`). A page from a server with a session connects to that one instead, over a WebSocket.
//! * [`file_store`] holds the files that the user gave to the page, which has no other files; [`sliced_files`] reads
//!   them in slices, and [`host`] provides them to the engine, with the browser's storage for journals and its downloads
//!   for saved files.
//! * [`outline`] lists the widgets of a frame for screen readers; the mirror keeps that list in the document.
//!
//! `cargo xtask web` builds the page; `README.md` next to this crate's manifest describes the bundle.

pub mod file_store;
#[cfg(test)]
mod fixture;
pub mod host;
pub mod outline;
pub mod sliced_files;
#[cfg(target_arch = "wasm32")]
mod web;
pub mod worker;

#[cfg(target_arch = "wasm32")]
pub use web::{serve, start};
