//! What the tests of all stores share: records, documents, the suite that every store must pass, and an oracle for
//! filters.

#![allow(
    dead_code,
    unused_imports,
    clippy::allow_attributes,
    reason = "each test binary uses its part of it"
)]

pub(crate) mod conforms;
pub(crate) mod oracle;
#[cfg(all(unix, feature = "postgres"))]
pub(crate) mod postgres_server;
#[cfg(feature = "sqlite")]
pub(crate) mod retained;
mod samples;

pub(crate) use samples::{document, execution, one_of_each, tree};
