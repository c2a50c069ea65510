//! What Callgrove's end-to-end tests share.
//!
//! * [`browser`]: Chromium for the tests of the page
//! * [`cli_page`]: the page of the program's commands in `docs/`
//! * [`picture`]: what a screen or a page shows
//! * [`program`]: the program `callgrove` that the tests run
//! * [`numbers`]: what tests choose at random
//! * [`process`]: one that runs beside a test, listened to and ended
//! * [`shell`]: its subcommands with real traces in, text and exit codes out
//! * [`xvfb`]: a display of their own to run it in, with a hand for keys and mouse, and eyes
//! * [`tidy`]: the house rules that `tests/tidy.rs` checks

pub mod browser;
pub mod cli_page;
pub mod numbers;
pub mod picture;
pub mod process;
pub mod program;
pub mod shell;
pub mod tidy;
pub mod xvfb;
