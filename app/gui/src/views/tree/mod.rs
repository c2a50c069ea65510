//! The tree: which calls the focused execution is made of, and which of them make it unlike its
//! neighbours (section 5.3.1 of the paper).
//!
//! A vertex is a call (or repeated calls), its area the time, its colour the function; springs and
//! collisions make the drawing compact. Beside it are the subtrees that matter most.

mod findings;
mod forces;
mod layout;
mod outline;
mod paint;
mod state;
#[cfg(test)]
mod tests;
mod ui;

pub use state::TreeState;
pub use ui::tree_ui;
