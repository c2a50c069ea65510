//! Trends: persistent and slow changes of a run, which no single execution shows.
//!
//! ```text
//! Trace ─ own times (calls of a function under its caller, lane by lane) ─ windows ─ tests ─ Trends
//! ```
//!
//! [`Trends::find`] (for a trace) and [`Trends::of_windows`] (for a running job, whose calls are not kept) answer
//! three questions: which lanes are slower than their peers throughout, on which lanes the time of a function grows,
//! and when the time of a lane changes.
//!
//! # Own time
//!
//! A lane that waits for a slow lane is slow too. So only exclusive times count, except those in which a lane can
//! wait: MPI calls and what the tracer adds to them, barriers and joins of threads, synchronisation with a GPU. Calls
//! are compared with calls of the same function under the same caller. So a rank that calls a function more often,
//! such as one with more patches of an adaptive mesh, is not slow for that reason; nor is a corner of a wavefront,
//! which waits longer. A loop that polls outside these functions counts as work.
//!
//! # Statistics
//!
//! The usual duration of a set of calls is its quantile .40: where a third of them are prolonged by something else,
//! it moves to the quantile .6 of the rest. Where the clock is coarse, the quantile is interpolated within the tick,
//! as for grouped data. A series of calls is split into up to 20 windows with equal numbers of calls.
//!
//! - *Slow*: the usual duration of a lane exceeds the median of the lanes by 15 % and by 5 spreads, in nine of ten
//!   windows by at least half of that. The spread is the median absolute deviation of the lanes × 1.4826 (Hampel,
//!   JASA 69, 1974, doi:10.1080/01621459.1974.10482962; it holds while at most half of the lanes are slow), at least
//!   2 %, and at least the standard error of the lane's own quantile. If four lanes or more are slow, as on nodes of
//!   another kind, they are compared with one another by the same rule.
//! - *Growth*: the line through the windows has the Theil-Sen slope, the median of the slopes of all pairs (Sen, JASA
//!   63, 1968, doi:10.1080/01621459.1968.10480934; 29 % of the windows may be wrong). The growth is above 15 % and 4
//!   standard errors of a window, and Kendall's τ is above .5 (1 in 1,000 series of 20 independent windows without a
//!   trend reaches that). With .7, a growth by half is lost in the noise of a real run on few cores.
//! - *Change*: the split of the windows with the smallest sum of absolute deviations from the medians of its two
//!   sides. It is a change if these medians differ by 20 % and by 5 spreads of either side. A steady growth spreads
//!   both sides, so it is not a change. Each side has at least 4 windows, which excludes a warm-up and a disturbance
//!   that ends.
//!
//! The thresholds come from a prototype on generated programs, except τ and the 5 spreads (there .7 and 8), which
//! were chosen on a recorded run of LAMMPS in which the calls of one rank were prolonged.
//!
//! - *Slow in every iteration*: the own work of a rank in an iteration, on all threads and without waits, exceeds the
//!   median of the other ranks by 40 %, or by 15 % if half of the difference is in calls that no other rank makes. The
//!   usual work is the sum over call paths of the quantile .10 over the iterations: a host that takes cores away only
//!   adds time, at another path each time. The rank must be the first in both halves of the run, and in odd and even
//!   iterations. Chosen on jobs of PyTorch; 2 ranks are enough.
//!
//! Each finding must cost its lane at least 2 % of the work of the busiest lane, that is, of its own time in
//! recurring functions. Equal findings on several lanes or functions are one.
//!
//! # Limits
//!
//! Where more than half of the lanes are slow, the others are the exception and nothing is found. A lane with a
//! larger share of the problem in every call cannot be distinguished from a slow one: findings in a part of the
//! lane's work note this ([`TrendDoubt::OtherWorkUsual`]). The calls of fewer than 4 lanes are not compared. A growth in
//! the number of calls, as opposed to their duration, is not detected.
//!
//! Times are integer nanoseconds. Cost: two passes over the executions, and selections within those of the examined
//! functions. The result is deterministic.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod group;
mod judge;
mod lane_windows;
mod own_time;
mod robust;
mod slow_ranks;
mod text;
mod trend;
mod trends;

pub use lane_windows::{LaneWindows, OwnTimeWindows, TimeWindow, TrendLane};
pub use text::rank_ranges;
pub use trend::{Trend, TrendDoubt, TrendKind};
pub use trends::Trends;
