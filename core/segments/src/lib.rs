//! What each lane of a run does over time: its own work, and the operations in which it can wait for others.
//!
//! | step | module |
//! |---|---|
//! | finds which calls can wait, and how | `call_kind`, `wait_names`, `device_waits` |
//! | finds which lanes are streams of a GPU | `gpu_streams` |
//! | splits each lane into gaps of own work and operations | `segments`, `operation` |
//! | identifies equal gaps of all lanes | `places`, `numbers` |
//! | keeps the durations of the short ones | `short_visits` |
//! | finds gaps that are waits for another thread or for the GPU | `thread_waits` |
//! | finds the operations of the ranks, or of threads, that belong together | `meetings` |
//! | compares the clocks of hosts by messages and collectives | `clock`, `clock_bounds`, `clock_evidence`, `common_clock` |
//! | finds the own work of a lane at a time | `own_work` |
//! | sums up the own work of each rank by iteration | `iteration_work` |
//! | lists the calls that are open at the end of the trace | `open_calls` |
//!
//! Times are nanoseconds on the given [`Clocks`]: the common clock, or that of each lane.

#![warn(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_lossless
)]

mod call_kind;
mod call_series;
mod clock;
mod clock_bounds;
mod clock_evidence;
mod common_clock;
mod device_waits;
mod gpu_streams;
mod iteration_work;
mod meetings;
mod numbers;
mod open_calls;
mod operation;
mod own_work;
mod places;
mod segments;
mod short_visits;
mod thread_waits;
mod wait_names;

pub use call_kind::CallKind;
pub use call_series::TIE;
pub use clock::{BackInTime, Clocks, HostClock, hosts};
pub use common_clock::segments_on_common_clock;
pub use gpu_streams::StatedStreams;
pub use iteration_work::{PathWork, RankWork, iteration_work};
pub use meetings::{Meeting, Meetings};
pub use numbers::{index, number};
pub use open_calls::{OpenCall, innermost_open, is_open_at_end, open_calls};
pub use operation::{Operation, OperationKind, OperationRef};
pub use own_work::{OwnWork, OwnWorkSearch};
pub use places::{GapPart, PathIdx, Places};
pub use segments::{Gap, LaneSegments, MIN_WORK, Segments};
pub use short_visits::ShortVisits;
pub use wait_names::can_wait;
