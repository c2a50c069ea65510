//! Who did it: wait states, causes and incidents, over all ranks of a run.
//!
//! ```text
//! Trace ─ Clocks ─ Waits (who waited for whom) ─ Causes (where each delay began) ─ Incidents (what a person calls one event)
//! ```
//!
//! [`Causes::find`] does all of it once; [`Causes::of`] answers for any execution, of whatever function.

mod call_kind;
mod causes;
mod clock;
mod cluster;
mod collectives;
mod delay;
mod evidence;
mod gap;
mod incident;
mod incidents;
mod like;
mod links;
mod origin;
mod roots;
mod stall;
mod wait;
mod wait_states;

pub use causes::{Causes, WaitCycle};
pub use clock::{BackInTime, Clocks, HostClock};
pub use delay::{CauseKind, DelayCause, DelayRole, Hop, RootCause};
pub use incident::{Incident, LikeGroup};
pub use incidents::Incidents;
pub use wait::{Collective, Wait, WaitCell, WaitKind, WaitedFor, Waits};
