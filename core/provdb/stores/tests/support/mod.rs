//! Shared by the tests of all stores: records, documents, the conformance suite, and an oracle for filters.

#![allow(
    dead_code,
    unused_imports,
    clippy::allow_attributes,
    reason = "each test binary uses only a part of it"
)]

pub(crate) mod conforms;
pub(crate) mod oracle;
#[cfg(unix)]
pub(crate) mod postgres_server;
pub(crate) mod retention;
#[path = "../../../tests/support/samples.rs"]
mod samples;

pub(crate) use samples::{document, execution, one_of_each, tree};
