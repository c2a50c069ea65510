//! Who did it: wait states, causes and incidents, over all ranks of a run.
//!
//! ```text
//! Trace ─ Clocks ─ Waits (who waited for whom) ─ Causes (where each delay began) ─ Incidents (what a person calls one event)
//! ```
//!
//! [`Causes::find`] does all of it once; [`Causes::of`] answers for any execution, of whatever function.
//!
//! The terms are Scalasca's: late sender, late receiver, wait at N×N and barrier, short-term and long-term delay costs
//! (D. Böhme, M. Geimer, F. Wolf, L. Arnold: Identifying the root causes of wait states in large-scale parallel
//! applications, ICPP 2010; D. Böhme et al., ACM TOPC 3(2), 2016). Where we deviate:
//!
//! - **Stalls.** Scalasca measures every excess of computation; we take gaps without any event, longer than all but one
//!   in a thousand gaps of the run. Within milliseconds after one rank stood still all others stand too, in sends as
//!   in receives, and only the gaps tell that.
//! - **Set-up.** Until its first call without calls in it a process starts, and nothing is said of it. What a lane does
//!   once cannot be compared with itself: a stall in a function that is called once is none if it is at most twice as
//!   long as in the median of all lanes, unless it could wait there for others.
//! - **Order.** TAU stamps a send when its call is entered and a receive when its call ends, so a message can look sent
//!   in time though its sender stood within the send. Whether a stall waited for that of its peer is proven where the
//!   peer came within it (sent, called to receive, entered the collective last) and it was over then. Else the order
//!   decides in which the two fell silent and moved again: the first counts more, less what the stall is known to
//!   have waited for messages that were not sent yet.
//! - **What cannot be decided.** When a receive was posted, when a message arrived, which of several sends a call
//!   completes, and which communicator a collective belongs to. A tie of a few microseconds between two ranks that
//!   stand for each other is a guess; where a stall has no message and no collective at all, it is
//!   [`DelayRole::Undecided`].
//! - **Not a rank's doing.** Stalls in which the tracer wrote are [`CauseKind::TracerWrite`]; several roots of one host
//!   at once, none of which explains most of what stands there, are [`CauseKind::BusyHost`].
//!
//! Times are nanoseconds on the clock of the lane that they belong to; an incident's are on its root's.

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
mod set_up;
mod stall;
mod wait;
mod wait_states;

pub use causes::{Causes, WaitCycle};
pub(crate) use clock::hosts;
pub use clock::{BackInTime, Clocks, HostClock};
pub use delay::{CauseKind, DelayCause, DelayRole, Hop, RootCause};
pub use incident::{Incident, LikeGroup};
pub use incidents::Incidents;
pub use wait::{Collective, Wait, WaitCell, WaitKind, WaitedFor, Waits};
