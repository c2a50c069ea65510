//! The Tree view: the calls of the focused execution, and its differences from usual ones.
//!
//! A vertex is a call (or repeated calls), its area the time, its colour the function; springs and collisions make the
//! drawing compact. Next to it are the most important differences. On request it is merged with the usual tree of its
//! kind, or with a pinned one: signs mark the differences, and the calls of both are shown below on one time axis.

mod aligned;
mod both_runs;
mod findings;
mod forces;
mod layout;
mod outline;
mod paint;
mod picture;
mod sign;
mod state;
#[cfg(test)]
mod tests;
mod ui;

pub use both_runs::tree_ui;
pub use picture::tree_picture_ui;
pub use state::TreeState;
