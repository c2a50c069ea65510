//! Wait states, causes and incidents, over all ranks of a run.
//!
//! The segments of all lanes, on a common clock, are those of `callgrove-segments`. From there:
//!
//! | step | module |
//! |---|---|
//! | finds the release of each operation, and so its wait | `release` |
//! | finds the usual duration at each place, its drift over the run, and the excesses over it | `usual`, `work_excesses` |
//! | finds places where work varies by much, by design | `usual::place_tail` |
//! | replays every lane without the excesses: attributes each wait to a delay | `replay` |
//! | finds messages between hosts that were late, or whose receivers were stopped | `late_network` |
//! | decides among lanes that stalled in the library at once which one the others waited for | `stall` |
//! | finds collectives that not all ranks entered, the roots of all delays that follow | `unentered` |
//! | assigns kinds, groups roots into incidents | `grouping`, `background`, `by_design` |
//! | estimates the confidence in the rank | `confidence` |
//! | replays the run without an incident: how much shorter it would be | `run_time` |
//!
//! [`Causes::find`] does all of this once; [`Causes::of`] then returns the cause for any execution of any function.
//! [`Causes::of_stalls`] does the same with the reports of the ranks of a running job, which are too few to determine
//! usual durations.
//!
//! The terms are Scalasca's: late sender, late receiver, wait at N×N and barrier, short-term and long-term delay costs
//! (D. Böhme, M. Geimer, F. Wolf, L. Arnold: Identifying the root causes of wait states in large-scale parallel
//! applications, ICPP 2010; D. Böhme et al., ACM TOPC 3(2), 2016). Where we deviate:
//!
//! - **Excess.** Scalasca compares the late rank with the one that waits. That cannot separate causes by design from
//!   slowness in this run, and attributes the speed of a fast peer to the other as a delay. We compare with the usual
//!   duration at that place: call path, function that ended before, event that comes next. The result does not depend
//!   on how often a delay happens in the run.
//! - **One replay.** Instead of two replays, forward for waits and backward for costs, one forward replay with two
//!   clocks keeps a lag by root for each lane. Chains, wavefronts, threads and devices need no special code.
//! - **Stalls.** Within milliseconds after one rank is stopped all others stall too, in sends as in receives. TAU
//!   stamps a send when its call is entered and a receive when its call ends, so a message can appear to be sent in time
//!   although its sender was stopped within the send. A receiver waits for the sender that is still in the send of
//!   its message, unless the receiver moved clearly first; otherwise the order decides in which ranks fell silent and
//!   moved again.
//! - **Undecidable.** The trace does not show when a receive was posted, when a message arrived, or which of several
//!   sends a call completes. A rank that was stopped in a collective after all had entered it shows only in the order
//!   of leaving. In own work without events, computing and being stopped are indistinguishable.
//!   [`RootCause::confidence_percent`] is the confidence in a rank.
//! - **No rank as the cause.** [`CauseKind::Transfer`], [`CauseKind::BusyHost`], [`CauseKind::TracerWrite`], and
//!   causes by design ([`CauseKind::is_by_design`]).
//!
//! What moves if one of the constants is halved or doubled is in `tests/lab/README.md`.
//!
//! Times are nanoseconds on the clock of their lane; those of an incident are on the clock of its root. During the
//! search times are on the common clock of [`Clocks`](callgrove_segments::Clocks).

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod background;
mod by_design;
mod causes;
mod confidence;
mod delay_root;
mod found;
mod grouping;
mod lane_delays;
mod late_network;
mod operation_excesses;
mod outcome;
mod release;
mod replay;
mod replay_order;
mod run_time;
mod stall;
mod unentered;
mod usual;
mod wait_states;
mod work_excesses;

pub use causes::Causes;
pub use outcome::{
    CauseKind, Collective, DelayCause, DelayRole, Hop, Incident, Incidents, MissingState,
    RootCause, SimilarIncidents, Unentered, Wait, WaitCell, WaitKind, WaitedFor, Waits,
};
