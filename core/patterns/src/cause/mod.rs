//! Who did it: wait states, causes and incidents, over all ranks of a run.
//!
//! | step | module |
//! |---|---|
//! | each lane in gaps of own work and operations in which it can wait | `segments` |
//! | which calls of the ranks, or of threads, belong together | `meetings` |
//! | what released each operation, and how long it waited | `release` |
//! | what is usual at a place, and what is longer | `usual` |
//! | every lane replayed with what is longer taken away: who waited because of whom | `replay` |
//! | of several lanes that stalled in the library at once, which one the others waited for | `standstill` |
//! | kinds, what a person would call one incident, and how sure that is | `grouping`, `busy_host`, `by_design` |
//!
//! [`Causes::find`] does all of it once; [`Causes::of`] answers for any execution, of whatever function. [`Causes::of_stalls`] does the
//! same with what ranks of a running job report, which is too little to say what is usual.
//!
//! The terms are Scalasca's: late sender, late receiver, wait at N×N and barrier, short-term and long-term delay costs
//! (D. Böhme, M. Geimer, F. Wolf, L. Arnold: Identifying the root causes of wait states in large-scale parallel
//! applications, ICPP 2010; D. Böhme et al., ACM TOPC 3(2), 2016). Where we deviate:
//!
//! - **Excess.** Scalasca compares the late rank with the one that waits. That cannot tell what is by design from what is slower
//!   today, and takes a fast peer for a delay of the other. We compare with what is usual at that place: call path, function
//!   that ended before, event that comes next. Nothing depends on how often a delay happens in the run.
//! - **One replay.** Instead of two replays, forward for waits and backward for costs, each lane has a lag by root on one
//!   forward replay with two clocks. Chains, wavefronts, threads and devices need no code of their own.
//! - **Standstills.** Within milliseconds after one rank is stopped all others stand too, in sends as in receives. TAU stamps a
//!   send when its call is entered and a receive when its call ends, so a message can look sent in time though its sender
//!   was stopped within the send. The sender that is still in the send of the very message is what a receiver waits for, unless the
//!   receiver moved clearly first; else the order decides in which ranks fell silent and moved again.
//! - **What cannot be decided.** When a receive was posted, when a message arrived, which of several sends a call
//!   completes. A rank stopped in a collective that all had entered shows only in the order of leaving. In own work without
//!   events, computing and being stopped look alike. [`RootCause::confidence_percent`] says how sure a rank is.
//! - **Not a rank's doing.** [`CauseKind::Transfer`], [`CauseKind::BusyHost`], [`CauseKind::TracerWrite`], and what is by
//!   design ([`CauseKind::is_by_design`]).
//!
//! Times are nanoseconds on the clock of the lane that they belong to; an incident's are on its root's. While causes are
//! searched they are on the common clock of [`Clocks`].

mod busy_host;
mod by_design;
mod call_kind;
mod causes;
mod clock;
mod delay;
mod delay_root;
mod grouping;
mod held;
mod incident;
mod incidents;
mod meetings;
mod release;
mod replay;
mod segments;
mod standstill;
mod usual;
mod wait;
mod wait_states;

pub use causes::Causes;
pub(crate) use clock::hosts;
pub use clock::{BackInTime, Clocks, HostClock};
pub use delay::{CauseKind, DelayCause, DelayRole, Hop, RootCause};
pub use incident::{Incident, LikeGroup};
pub use incidents::Incidents;
pub use wait::{Collective, Wait, WaitCell, WaitKind, WaitedFor, Waits};
