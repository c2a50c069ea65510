//! Files whose events are not in order of time: their events are collected, ordered, and cut into steps.
//!
//! ```text
//! file ─ FileDecoder ─ RankEvents (one for each rank) ─ calls nested, lane by lane ─ RankSteps ─ OrderingStream
//! ```

mod call_order;
mod event_pieces;
mod followers;
mod listed_calls;
mod named_ends;
mod nesting;
mod open_asyncs;
mod part;
mod rank_events;
mod rank_steps;
mod row_counts;
mod stream;

pub use event_pieces::EventPieces;
pub use listed_calls::ListedCalls;
pub use open_asyncs::OpenAsyncs;
pub use part::{OpenDecoder, decoded_file};
pub use rank_events::{LaneIdentity, LaneNumber, RankEvents};
pub use row_counts::RowCounts;
pub use stream::{DecodedRun, FileDecoder, OrderingStream};
