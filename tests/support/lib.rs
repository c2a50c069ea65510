//! Support of Callgrove's end-to-end tests.
//!
//! * [`browser`]: Chromium for the tests of the page
//! * [`cli_page`]: the page of the program's commands in `docs/`
//! * [`picture`]: the picture of a screen or a page
//! * [`program`]: the program `callgrove` that the tests run
//! * [`numbers`]: reproducible random numbers
//! * [`process`]: background processes of a test
//! * [`shell`]: subcommands on real traces, with text and exit codes as results
//! * [`xvfb`]: a private display with keyboard, mouse and pictures
//! * [`tidy`]: the repository's rules, which `tests/tidy.rs` checks

pub mod browser;
pub mod cli_page;
pub mod numbers;
pub mod picture;
pub mod process;
pub mod program;
pub mod shell;
pub mod tidy;
pub mod xvfb;
