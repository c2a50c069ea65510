//! Traces as bytes, for browsers and bundles: lane by lane, a few bytes a call.
//!
//! What follows from something else is not written: caller, end of the subtree and exclusive time of a call follow
//! from the depths and the inclusive times of a lane in pre-order, the messages from the mates. Where a trace has
//! them otherwise (a stack deeper than its column can tell), the lane is written in full. So a trace comes out as
//! it went in, always. Bytes may come from anywhere: what does not fit together is refused, and nothing that is
//! accepted refers to what is not there.

mod bytes;
mod comms;
mod executions;
mod head;
mod lane;
mod roots;
mod tree;

pub use head::{PackedLanes, TraceHead};
pub use roots::PackedRoots;
pub use tree::{PackedTree, TreeCalls};

/// Why bytes are no packed trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PackedError {
    /// They end too soon.
    Short,
    /// There are more than there should be.
    Long,
    /// A number is larger than it can be.
    Number,
    /// Something refers to what is not there, in words.
    Missing(&'static str),
    /// There are more or fewer lanes than the head says.
    Lanes,
}

impl std::fmt::Display for PackedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("the bytes end too soon"),
            Self::Long => f.write_str("there are more bytes than there should be"),
            Self::Number => f.write_str("a number is larger than it can be"),
            Self::Missing(what) => write!(f, "there is no such {what}"),
            Self::Lanes => f.write_str("lanes are missing, or there are too many"),
        }
    }
}

impl std::error::Error for PackedError {}

impl From<std::num::TryFromIntError> for PackedError {
    fn from(_: std::num::TryFromIntError) -> Self {
        Self::Number
    }
}
