//! The subcommands.

pub(crate) mod analyze;
pub(crate) mod demo;
pub(crate) mod evaluate;
mod forest;
pub(crate) mod info;
pub(crate) mod open;
