//! The timeline: when the calls of a tree happened, and the messages that held them up (section
//! 5.3.2 of the paper).
//!
//! The tree's lane is a stack; the lanes it exchanges messages with are strips of their innermost
//! functions, or stacks when opened. [`callgrove_session::layout_timeline`] says what is drawn; it
//! is asked again only when the window leaves the tile that was laid out or the zoom changes by two.

mod axis;
mod layout;
mod paint;
mod state;
mod tooltip;
mod ui;
mod window;

pub use state::TimelineState;
pub use ui::timeline_ui;
