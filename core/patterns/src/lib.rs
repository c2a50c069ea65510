//! Recurring patterns of events, their usual durations, and the iterations of the program.
//!
//! A long trace repeats few things often. [`Patterns::find`] factorises the event sequence of every lane (rank and
//! thread) into recurring patterns and loops of them. The occurrences of a pattern are compared by their durations on
//! a [`ReferenceCurve`]. [`Iterations::find`] returns the time range of each pass of the program's time step loop.
//!
//! # Source
//!
//! F. Trahay and others: Selecting points of interest in traces using patterns of events, PDP 2015; and M. S. Mosli
//! Bouksiaa, F. Trahay, G. Thomas: Détection automatique d'anomalies de performance (slides), the source of the terms
//! *extension*, *wrapping*, q, d and s.
//!
//! # Events
//!
//! An event is the entry or the exit of a function ([`CallEvent`]); messages and counters are not events. A call
//! inside which nothing was recorded is one symbol for both of its events, so that a pattern consists of whole calls;
//! it is never a pattern by itself. A call that was never left has no exit and is part of a pattern only inside a
//! call that was left.
//!
//! Very short calls are kept. Eight or more equal calls in a row (polling, one call per particle) are one symbol
//! whose count is not part of the pattern: `8–30 × MPI_Test`. Counts that differ between occurrences are stored next
//! to the grammar, so that [`Patterns::expand`] returns exactly the events of a lane. Shorter runs, and loops of
//! sequences, are equal only if their counts are equal.
//!
//! # Algorithm
//!
//! 1. Bottom up over all lanes, calls of one function with equal calls inside them become one symbol. Its content is
//!    a hash of 122 bits over the function names and the structure.
//! 2. The bodies of these distinct calls, each once, are factorised lane by lane as in the slides: a pair that recurs
//!    becomes a pattern, and a pattern that follows itself becomes a loop k × pattern. A pattern that is always
//!    followed by the same symbol is extended; if that happens several times it is wrapped; if once, it is left
//!    alone. A pair that is a pattern on one lane is a pattern on all later lanes. We deviate from the slides in
//!    three points: we use call trees instead of a flat list, so that no pattern begins inside one call and ends in
//!    another; patterns respect the passes of the time step loop; and a pair waits where a loop begins next to it.
//! 3. A sequence that occurs twice or more is a [`Pattern`]; one that is used in one place only is merged into it. A
//!    sequence that occurs once is written out event by event.
//! 4. Each lane is walked together with the grammar, which yields the occurrences.
//!
//! Steps 1 and 4 are linear in the executions; steps 2 and 3 are linear in the distinct bodies, times a few passes.
//! The result does not depend on time of day, threads or hash maps; the grammar depends on the order of lanes.
//!
//! # Memory
//!
//! Four bytes per execution while it runs; the result keeps 32 bytes per occurrence of a pattern.
//!
//! # Units
//!
//! Times and durations are integer nanoseconds. The duration of an occurrence runs from the entry of its first call
//! to the exit of its last, and so includes what its caller did between them. The tracer's own writes in that time are
//! not subtracted. Shares are fractions of 1.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod calls;
mod content;
mod event;
mod expand;
mod factorise;
mod iterations;
mod pattern;
mod patterns;
mod reference_curve;
mod rules;
mod symbols;
mod text;
mod time_loop;
mod walk;

pub use event::{CallEvent, events};
pub use iterations::{Imbalance, Iterations, LanePasses};
pub use pattern::{Occurrence, Pattern, PatternId, PatternItem, PatternSymbol, Times};
pub use patterns::Patterns;
pub use reference_curve::{
    DEFAULT_ANOMALY_FACTOR, DEFAULT_REFERENCE_SHARE, ReferenceCurve, Standing,
};
