//! The subcommands.

pub(crate) mod ad;
pub(crate) mod analyze;
pub(crate) mod causes;
pub(crate) mod cluster;
pub(crate) mod command_line;
pub(crate) mod comparison;
pub(crate) mod demo;
pub(crate) mod drawing;
pub(crate) mod evaluate;
pub(crate) mod export;
mod forest;
pub(crate) mod info;
pub(crate) mod mcp;
pub(crate) mod model;
pub(crate) mod open;
pub(crate) mod patterns;
pub(crate) mod provdb;
pub(crate) mod pserver;
pub(crate) mod query;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod streams;
pub(crate) mod token;
pub(crate) mod trends;
mod upkeep;
