//! The tree: which calls the focused execution is made of, and what sets it apart from the usual ones.
//!
//! A vertex is a call (or repeated calls), its area the time, its colour the function; springs and
//! collisions make the drawing compact. Beside it are the differences that matter most. On request it is
//! drawn as one with the usual tree of its kind, or any other that was kept, what differs marked with
//! signs, and the calls of both stand below on one axis of time.

mod aligned;
mod findings;
mod forces;
mod layout;
mod outline;
mod paint;
mod sign;
mod state;
#[cfg(test)]
mod tests;
mod ui;

pub use state::TreeState;
pub use ui::tree_ui;
