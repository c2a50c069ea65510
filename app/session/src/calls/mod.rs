//! What views ask of the calls of a run and of what was found in them, and how they are answered wherever the calls are.
//!
//! A view never reads the columns of a trace: it asks [`Calls`], which belongs to the snapshot, questions whose answers
//! are plain data and no larger than what is drawn of them. Names, lanes and ranks, the span of the run and how much it
//! holds are always there. So are the incidents and the list of what recurs, once they were found; waits and occurrences,
//! which are as many as calls, are asked for ([`crate::WaitsIn`], [`crate::AnomalousOf`] and the like).
//!
//! ```text
//!                              ┌ here: answered at once, a long one a little in each frame
//! view ─ Calls::ask ─ desk ────┤
//!          ▲            │      └ far: SessionLink ─ Ask ─▶ server, from its whole trace
//!          └── answer ──┘◀─────────────────────── Answer ──┘
//! ```
//!
//! A view asks in every frame for what it draws, and draws what it had before as long as there is no answer. So the desk
//! knows what is wanted: answers are kept while there is room, those asked for least recently go first; what is asked twice
//! is sent once; and what no frame asks for any more is not sent, or forgotten if it was.

mod answers;
mod ask;
mod bars;
mod call;
mod desk;
mod found;
mod lane;
mod question;
mod source;
mod tree;

pub use ask::{AskCalls, AskState, CallsRefusal, CallsReply, WholeCalls};
pub(crate) use ask::{check_number, check_tile, check_time};
pub use bars::LaneBars;
pub use call::{
    CallOf, CallTimes, CallWay, CallsOutside, FoundCall, Labelled, PartnersOf, StepFrom, TimesOf,
};
pub(crate) use desk::CallWish;
pub use found::{CallsNamed, CallsOfFunction, FoundCalls, TotalsOf};
pub use lane::{BarsOf, LaneLevels, LevelsOf, MessagesOf};
pub use question::CallQuestion;
pub use source::Calls;
pub(crate) use source::CallsFacts;
pub use tree::{SummaryOf, TreeOf};
