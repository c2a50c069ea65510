//! Root causes, patterns and trends of a run: wait states, causes and incidents across ranks; recurring patterns of
//! events and their usual durations; slow ranks, growth and change points.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

pub mod cause;
pub mod pattern;
mod stated_streams;
pub mod trend;
mod wait_names;

pub use wait_names::can_wait;
