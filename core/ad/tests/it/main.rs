//! An AD instance on streams that the tests write, with a parameter server and a store in memory.

#![expect(clippy::unwrap_used, reason = "what is missing fails the test")]

mod budget;
mod excess;
mod instance;
mod instructions;
mod late;
mod opening;
mod storing;
mod support;
mod trees;
mod trends;
