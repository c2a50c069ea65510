//! Recurring patterns of events, their usual durations, and the iterations of the program.
//!
//! A long trace says few things often. [`Patterns::find`] factorises the event sequence of every lane (rank and
//! thread) into patterns that recur and loops of them; a pattern's occurrences are compared by their durations on a
//! [`ReferenceCurve`]; and [`Iterations::find`] says when each pass of the program's time step loop ran.
//!
//! # Source
//!
//! F. Trahay and others: Selecting points of interest in traces using patterns of events, PDP 2015; and
//! M. S. Mosli Bouksiaa, F. Trahay, G. Thomas: Détection automatique d'anomalies de performance (slides), which the
//! words *extension*, *wrapping*, q, d and s are from.
//!
//! # Events
//!
//! An event is the entry or the exit of a function ([`CallEvent`]); messages and counters are none. A call inside
//! which nothing was recorded is one symbol for both of its events, so that a pattern consists of whole calls; it is
//! never a pattern by itself. A call that was never left has no exit and is part of a pattern only inside a call
//! that was left.
//!
//! Very short calls are not left out. But eight or more equal calls in a row (polling, one call per particle) are one
//! symbol whose number is no part of the pattern: `8–30 × MPI_Test`. Numbers that differ between occurrences are kept
//! beside the grammar, so that [`Patterns::expand`] gives back exactly the events of a lane. Shorter runs, and loops
//! of sequences, are equal only if their numbers are.
//!
//! # Algorithm
//!
//! 1. Bottom up, equal calls with equal calls inside them become one symbol, over all lanes: content is a hash of
//!    122 bits, of the function names and the structure.
//! 2. The bodies of these distinct calls, each once, are factorised lane by lane as the slides say: a pair that recurs
//!    becomes a pattern, a pattern that follows itself a loop k × pattern; followed always by the same it is
//!    extended, several times by the same it is wrapped, once by the same it is left alone. A pair that is a pattern
//!    on one lane is one on all later lanes. We deviate in looking at call trees, not at a flat list, so that no
//!    pattern begins inside one call and ends in another; in keeping to the passes of the time step loop; and in
//!    putting off a pair where a loop begins next to it.
//! 3. What occurs twice or more is a [`Pattern`]; a sequence that is used in one place only is taken into that one.
//!    What occurs once is written out event by event.
//! 4. Each lane is gone through together with the grammar, which gives the occurrences.
//!
//! Steps 1 and 4 are linear in the executions, 2 and 3 in the distinct bodies, times a few passes. The result does
//! not depend on time of day, threads or hash maps; the grammar does depend on the order of lanes.
//!
//! # Memory
//!
//! Four bytes for each execution while it runs, and 32 for each occurrence of a pattern that stay.
//!
//! # Units
//!
//! Times and durations are integer nanoseconds; the duration of an occurrence runs from the entry of its first to the
//! exit of its last call, and so includes what its caller did between them. What the tracer itself wrote meanwhile is
//! not taken off. Shares are fractions of 1.

mod calls;
mod content;
mod event;
mod expand;
mod factorise;
mod iterations;
#[expect(
    clippy::module_inception,
    reason = "a file is named after its main type"
)]
mod pattern;
mod patterns;
mod reference_curve;
mod rules;
mod symbols;
mod time_loop;
mod walk;
mod words;

pub use event::{CallEvent, events};
pub use iterations::{Imbalance, Iterations, LanePasses};
pub use pattern::{Occurrence, Pattern, PatternId, PatternItem, PatternSymbol, Times};
pub use patterns::Patterns;
pub use reference_curve::{
    DEFAULT_ANOMALY_FACTOR, DEFAULT_REFERENCE_SHARE, ReferenceCurve, Standing,
};
