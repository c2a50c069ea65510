//! Small synthetic sessions for the tests of sessions and views: their figures follow from a few constants.
//!
//! ```text
//! change         changes of the snapshots of the others
//! small_session  a session over a small trace, on a disk in memory
//! demo_run       slow executions, their scores and a map; runs of any size
//! stall_run      a rank stalls, and the others wait for it
//! trend_run      a rank is slow throughout, a function grows
//! ```

mod change;
pub mod demo_run;
pub mod small_session;
pub mod stall_run;
pub mod trend_run;

pub use change::{changed, forest_in, run_of};
