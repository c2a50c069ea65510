//! Commands about the command line itself: its configuration file, completions and manual pages.

mod completions;
mod config;
mod man;

pub(crate) use completions::run as completions;
pub(crate) use config::run as config;
pub(crate) use man::run as man;
