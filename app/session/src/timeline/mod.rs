//! What the timeline draws: pure, and as much work as there are pixels, not calls.
//!
//! Every lane of a trace is a row ([`order_rows`]); which of them are laid out is the business of
//! who draws them. Level of detail: a call narrower than the smallest width is merged with what
//! follows it within that width, and the merged bar says how many calls it stands for. Inside it
//! nothing is drawn, so a row costs O(pixels × depth × log calls) however many calls it spans
//! ([`layout_lane`]). What must never be merged away is kept apart ([`SpanIndex`]). Messages are
//! chosen by importance and the rest is told as density ([`MessageIndex`]).

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
pub use details::{CallDetails, CounterDetails, MessageDetails, NamedCall, innermost_at};
pub use messages::{Arrow, ArrowOf, LaneView, MessageIndex, MessageQuery, MessagesInView};
pub use rows::{
    LaneNames, LaneRow, RankFilter, RankFilterError, RankSort, RowQuery, order_rows, partners_of,
};
pub(crate) use search::CallSearch;
pub use search::DurationHistogram;
pub use spans::{MergedSpan, Span, SpanIndex, merge_spans};
pub use statistics::FunctionTotals;
pub(crate) use statistics::RangeStatistics;
