//! What happens on each lane: which calls can wait, which lanes are streams of a GPU, and the segments of own work and
//! of operations.

pub(super) mod call_kind;
pub(super) mod device_waits;
pub(super) mod gpu_streams;
pub(super) mod places;
pub(super) mod segments;
pub(super) mod wait_names;

pub use gpu_streams::StatedStreams;
pub use wait_names::can_wait;
