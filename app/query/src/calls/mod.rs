//! Queries of the views on the calls of a run and on the results computed from them, local or remote.
//!
//! A view never reads the columns of a trace. It sends questions to [`Calls`], which belongs to the snapshot. Answers
//! are plain data and no larger than the picture drawn from them. Names, lanes, ranks, the span and the size of the run
//! are always available; incidents and the list of patterns, once computed. Waits and occurrences are as numerous as
//! calls, so views query them ([`WaitsIn`], [`AnomalousOf`] and others).
//!
//! ```text
//!                              ┌ local: answered at once, a long one a little in each frame
//! view ─ Calls::ask ─ cache ───┤
//!          ▲            │      └ remote: SessionLink ─ Ask ─▶ server, from its whole trace
//!          └── answer ──┘◀─────────────────────── Answer ──┘
//! ```
//!
//! In every frame, a view asks for the data that it draws, and draws the previous data until there is an answer. So the
//! query cache knows which answers are wanted. It evicts the least recently used ones beyond its size limit, sends a
//! repeated question only once, and drops or cancels questions that no recent frame asked.

mod answers;
mod bars;
mod call;
mod lane;
mod pattern;
mod query;
mod query_cache;
mod question;
mod search;
mod source;
mod tree;
mod wait;

pub use bars::LaneBars;
pub use call::{CallOf, CallWay, CallsOutside, FoundCall, Labelled, PartnersOf, StepFrom, TimesOf};
pub use lane::{BarsOf, LaneLevels, LevelsOf, MessagesOf};
pub use pattern::{
    AnomalousOf, CurveOf, IterationAt, JudgedBy, JudgedPattern, ListedOccurrence, OccurrenceOrder,
    OccurrencesIn, OutlineOf, UnevenIteration, UnevenOf,
};
pub use query::{AskCalls, AskState, CallsRefusal, CallsReply, LocalCalls};
pub use query_cache::CallRequest;
pub use question::CallQuestion;
pub use search::{CallsNamed, CallsOfFunction, FoundCalls, TotalsOf};
pub use source::Calls;
pub use source::CallsFacts;
pub use tree::{SummaryOf, TreeOf};
pub use wait::WaitsIn;
