//! The names of functions as tools record them.

mod recorded_name;
mod xla_name;

pub use recorded_name::RecordedName;
