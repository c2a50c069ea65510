//! The timeline: what all ranks did, when, and the messages that held them up (section 5.3.2 of the
//! paper).
//!
//! The selected tree's lane is a stack, and it and the ranks it exchanges messages with stand first; all others
//! are folded below them. Above the rows stands the whole run with its abnormal executions.

mod cascade;
mod header;
mod marks;
mod occurrences;
mod search;
mod state;
mod statistics;
mod strip;
mod trend;
mod ui;

pub use state::TimelineState;
pub use ui::timeline_ui;
