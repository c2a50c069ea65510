//! Recurring patterns of events, their usual durations, and the iterations of the program.

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
