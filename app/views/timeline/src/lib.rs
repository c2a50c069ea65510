//! The Timeline view: what all ranks did over time, and the messages that delayed them (section 5.3.2 of the paper).
//!
//! The lane of the selected tree is a stack; it comes first, followed by the ranks that it exchanges messages with. All
//! others are folded below them. Above the rows is a strip of the whole run with its abnormal executions.

mod cascade;
mod earlier_run;
mod earlier_run_ui;
mod header;
mod marks;
mod occurrences;
mod picture;
mod search;
mod state;
mod statistics;
mod strip;
mod trend;
mod ui;

pub use picture::timeline_picture_ui;
pub use state::TimelineState;
pub use ui::timeline_ui;
