//! Trends: persistent and slow changes of a run, which no single execution shows.
//!
//! ```text
//! Trace ─ own times (calls of a function under its caller, lane by lane) ─ windows ─ tests ─ Trends
//! ```
//!
//! [`Trends::find`] (of a trace) and [`Trends::of_windows`] (of a running job, which keeps no calls) answer three questions: which lanes are slower than their peers throughout, on which lanes a function takes
//! longer and longer, and from when on a lane differs from before.
//!
//! # Own time
//!
//! A lane that waits for a slow lane is slow too. So only exclusive times count, and none in which a lane can wait: calls of MPI and
//! what the tracer adds to them, barriers and joins of threads, synchronisation with a GPU. Calls are compared with calls of
//! the same function under the same caller: a rank that calls a function more often, as one with more patches of an adaptive mesh does, is
//! not slow for it; nor is a corner of a wavefront, which waits longer. A loop that polls outside these functions counts as work.
//!
//! # Statistics
//!
//! The usual duration of a set of calls is its quantile .40: where a third of them are longer by something else, it moves
//! to the quantile .6 of the rest. Where the clock is coarse, it is interpolated within the tick, as grouped data are. A series of calls is split into up to 20 windows of equally
//! many calls.
//!
//! - *Slow*: the usual duration of a lane exceeds the median of the lanes by 15 % and by 5 spreads, in nine of ten windows by at least half
//!   of that. The spread is the median absolute deviation of the lanes × 1.4826 (Hampel, JASA 69, 1974, doi:10.1080/01621459.1974.10482962;
//!   it holds while at most half of the lanes are slow), at least 2 %, and at least the standard error of the lane's own quantile.
//! - *Growth*: the line through the windows has the Theil-Sen slope (Sen, JASA 63, 1968,
//!   doi:10.1080/01621459.1968.10480934: the median of the slopes of all pairs; 29 % of the windows may be wrong), the growth is above 15 %
//!   and 4 standard errors of a window, and Kendall's τ is above .5 (of 20 independent windows without a trend, 1 in 1,000 has that). With .7, growth by
//!   half is lost in the noise of a real run on few cores.
//! - *Change*: the split of the windows with the least sum of absolute deviations from the medians of its two sides. It is a change if
//!   these medians differ by 20 % and by 5 spreads of either side. A steady growth spreads both sides, so it is no change. Each side has at least
//!   4 windows, so that neither a warm-up nor a disturbance that ends is one.
//!
//! The thresholds are those of a prototype on generated programs, except τ and the 5 spreads (there .7 and 8), which were chosen on a recorded run of LAMMPS whose
//! calls on one rank were made longer.
//!
//! All three must cost their lane at least 2 % of the work of the busiest lane, that is, of its own time in functions that recur. What several lanes or functions have in common is one finding.
//!
//! # Limits
//!
//! Where more than half of the lanes are slow, the others are the exception and nothing is found. A lane with another share of the problem in
//! every call cannot be distinguished from a slow one: findings in a part of the lane's work say so ([`TrendDoubt::OtherWorkUsual`]). Fewer than 4 lanes
//! are not compared. A growth in the number of calls, not in their length, is not looked for.
//!
//! Times are integer nanoseconds. Cost: two passes over the executions, and selections within those of functions that matter.
//! The result is deterministic.

mod group;
mod judge;
mod lane_windows;
mod own_time;
mod robust;
#[expect(
    clippy::module_inception,
    reason = "a file is named after its main type"
)]
mod trend;
mod trends;

mod words;

pub use lane_windows::{LaneWindows, OwnTimeWindows, TimeWindow, TrendLane};
pub use trend::{Trend, TrendDoubt, TrendKind};
pub use trends::Trends;
pub use words::ranges_in_words;
