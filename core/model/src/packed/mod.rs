//! Traces as bytes, for browsers and bundles: lane by lane, a few bytes per call.
//!
//! Derived columns are not written: caller, end of the subtree and exclusive time of a call follow from the depths and
//! the inclusive times of a lane in pre-order, and the messages from the mates. If the columns of a trace differ from
//! the derived ones (for instance a stack deeper than its column can hold), the lane is written in full. So unpacking
//! always returns the same trace. Bytes may come from an untrusted source: inconsistent data are refused, and accepted
//! data only refer to existing parts.

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

/// An error in packed bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PackedError {
    /// The data end too early.
    Short,
    /// There are data after the end.
    Long,
    /// A number is out of range.
    Number,
    /// A reference to a missing part, which the text names.
    Missing(&'static str),
    /// The number of lanes differs from the head.
    Lanes,
}

impl std::fmt::Display for PackedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Short => f.write_str("unexpected end of data"),
            Self::Long => f.write_str("unexpected data after the end"),
            Self::Number => f.write_str("a number is out of range"),
            Self::Missing(what) => write!(f, "missing {what}"),
            Self::Lanes => f.write_str("wrong number of lanes"),
        }
    }
}

impl std::error::Error for PackedError {}

impl From<std::num::TryFromIntError> for PackedError {
    fn from(_: std::num::TryFromIntError) -> Self {
        Self::Number
    }
}
