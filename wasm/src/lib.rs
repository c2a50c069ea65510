//! Callgrove in a browser: the application of the desktop's window, in a page.
//!
//! ```text
//! page/index.html ─ boot.js ─ start ─ WebApp ─ CallgroveApp ── Session ── SessionLink ── bytes ─▶ Engine
//!        ▲                              │                                     ▲                  │
//!        └── mirror: outline ◀──────────┘                                     └───── frames ◀────┘
//! ```
//!
//! * [`worker`] has the engine of a page that is alone, in a worker beside the page's thread (`worker.js`). A page from
//!   a server that has a session talks to that instead, over a WebSocket.
//! * [`shelf`] holds the files that a person gave to the page, which has no other files; [`sliced`] reads them slice by
//!   slice, and [`host`] lends them to the engine, with the browser's storage for journals and its downloads for what is
//!   saved.
//! * [`outline`] makes of what is drawn a list that a screen reader can read; the mirror keeps it in the page.
//!
//! `cargo xtask web` builds the page; `README.md` beside this crate's manifest says what the bundle holds.

#[cfg(test)]
mod fixture;
pub mod host;
pub mod outline;
pub mod shelf;
pub mod sliced;
#[cfg(target_arch = "wasm32")]
mod web;
pub mod worker;

#[cfg(target_arch = "wasm32")]
pub use web::{serve, start};
