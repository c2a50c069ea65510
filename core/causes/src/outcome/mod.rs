//! The results of the search: waits, the cause of each delay, and incidents.

mod delay;
mod incident;
mod incidents;
mod wait;

pub use delay::{CauseKind, DelayCause, DelayRole, Hop, RootCause};
pub use incident::{Incident, MissingState, SimilarIncidents, Unentered};
pub use incidents::Incidents;
pub(crate) use incidents::period;
pub use wait::{Collective, Wait, WaitCell, WaitKind, WaitedFor, Waits};
