//! All questions about calls as one type, for the wire.

use serde::{Deserialize, Serialize};

use super::answers::{AnyAnswer, AnyReply, begin_any, read_any, write_any};
use super::call::{CallOf, CallsOutside, Labelled, PartnersOf, StepFrom, TimesOf};
use super::lane::{BarsOf, LevelsOf, MessagesOf};
use super::pattern::{
    AnomalousOf, CurveOf, IterationAt, JudgedBy, OccurrencesIn, OutlineOf, UnevenOf,
};
use super::query::{CallsRefusal, LocalCalls};
use super::search::{CallsNamed, CallsOfFunction, TotalsOf};
use super::tree::{SummaryOf, TreeOf};
use super::wait::WaitsIn;

macro_rules! questions {
    ($($question:ident),* $(,)?) => {
        /// A question about the calls of a run.
        #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
        pub enum CallQuestion {
            $(
                #[doc = concat!("See [`", stringify!($question), "`].")]
                $question($question),
            )*
        }

        $(
            impl From<$question> for CallQuestion {
                fn from(question: $question) -> Self {
                    Self::$question(question)
                }
            }
        )*

        impl CallQuestion {
            /// See [`super::AskCalls::begin`].
            pub(super) fn begin(&self, calls: &LocalCalls) -> Result<AnyReply, CallsRefusal> {
                match self {
                    $(Self::$question(question) => begin_any(question, calls),)*
                }
            }

            /// Encodes an answer.
            pub(super) fn write(
                &self,
                answer: &AnyAnswer,
            ) -> Result<Vec<u8>, rmp_serde::encode::Error> {
                match self {
                    $(Self::$question(_) => write_any::<$question>(answer),)*
                }
            }

            /// Decodes an answer.
            pub(super) fn read(&self, bytes: &[u8]) -> Result<AnyAnswer, rmp_serde::decode::Error> {
                match self {
                    $(Self::$question(_) => read_any::<$question>(bytes),)*
                }
            }
        }
    };
}

questions!(
    BarsOf,
    LevelsOf,
    MessagesOf,
    CallOf,
    TimesOf,
    CallsOutside,
    StepFrom,
    PartnersOf,
    Labelled,
    CallsNamed,
    CallsOfFunction,
    TotalsOf,
    TreeOf,
    SummaryOf,
    WaitsIn,
    JudgedBy,
    CurveOf,
    AnomalousOf,
    OccurrencesIn,
    OutlineOf,
    IterationAt,
    UnevenOf,
);
