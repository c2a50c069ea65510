//! Layout of the timeline: pure functions whose cost depends on pixels, not on calls.
//!
//! Every lane of a trace is a row ([`order_rows`]); the caller decides which rows are laid out. Level of detail: a
//! call narrower than the smallest width is merged with those that follow it within that width, and the merged bar
//! has their number. Nothing is drawn inside it, so a row costs O(pixels × depth × log calls) for any number of calls
//! ([`layout_lane`]). Marks that must stay visible at any zoom are kept separately ([`SpanIndex`]). Messages are
//! selected by importance, and the others are counted per column ([`MessageIndex`]).

mod bar;
mod details;
#[cfg(test)]
pub(crate) mod fixture;
mod messages;
mod rows;
mod search;
mod spans;
mod statistics;

pub use bar::{Bar, RowKind, Tile, layout_lane, num_levels};
pub use details::{
    CallDetails, CallTimes, CounterDetails, MessageDetails, NamedCall, innermost_at,
};
pub use messages::{Arrow, ArrowOf, LaneView, MessageIndex, MessageQuery, MessagesInView};
pub use rows::{
    LaneNames, LaneRow, RankFilter, RankFilterError, RankSort, RowQuery, order_rows, partners_of,
};
pub(crate) use search::CallSearch;
pub use search::DurationHistogram;
pub use spans::{MergedSpan, Span, SpanIndex, merge_spans};
pub use statistics::FunctionTotals;
pub(crate) use statistics::RangeStatistics;
