//! Recurring patterns, the curve of durations, and iterations.

mod curve;
mod golden;
mod grammar;
mod iterations;
mod laws;
mod support;
