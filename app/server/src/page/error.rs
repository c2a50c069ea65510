//! Errors of the page.

use thiserror::Error;

/// The reason why the page cannot be served.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PageError {
    /// The program was built before the page.
    #[error(
        "this program was built without the page: run `cargo xtask web`, then build it again (`cargo xtask demo` and \
         `cargo xtask test` do both)"
    )]
    Missing,
    /// The bundle has no index.
    #[error(
        "the page in this program has no index.html: run `cargo xtask web` and build the program again"
    )]
    NoIndex,
    /// The bundle cannot be read as a page.
    #[error(
        "the page in this program is damaged: run `cargo xtask web` and build the program again"
    )]
    Damaged,
}
